// Table output: the columns that `kubectl get` shows. Source: Kubernetes pkg/printers, and the
// printer columns of CRDs.
#pragma once

#include "base/json.h"
#include "base/time.h"
#include "local/apiserver/kinds.h"

namespace manta::local {

/// meta.k8s.io/v1 Table of these objects; `list_metadata` goes into the Table's metadata.
Json make_table(const Kind& kind, const std::vector<Json>& objects, JsonObject list_metadata,
                Time now, bool with_columns, std::string_view include_object);

/// "45s", "3m20s", "5h", "2d4h": how kubectl shows a span. Source: apimachinery
/// duration.HumanDuration.
std::string human_duration(Duration span);

}  // namespace manta::local
