// The same object in another served version. Custom resources use strategy None (only apiVersion
// differs); both views of Events share one stored form, core/v1's.
#pragma once

#include "base/json.h"
#include "local/apiserver/kinds.h"

namespace manta::local {

/// From the stored form to the kind's version.
Json from_storage(const Kind& kind, Json object);
/// From the kind's version to the stored form.
Json to_storage(const Kind& kind, Json object);
/// True when both are the same text.
bool stored_as_is(const Kind& kind);

}  // namespace manta::local
