// Bodies in Kubernetes' protobuf form, as Go's typed clients send them (kubectl create token, auth
// can-i, controllers): read into the same JSON that the text form has. Answers are always JSON,
// which those clients accept.
#pragma once

#include "base/json.h"
#include "base/result.h"
#include "local/apiserver/schema.h"

#include <string_view>

namespace manta::local {

/// What such a body starts with.
inline constexpr std::string_view kProtobufMagic{"k8s\0", 4};

/// The object in its envelope (runtime.Unknown). Fails on types that are not built in and on bytes
/// that are no protobuf.
Result<Json> decode_protobuf(std::string_view body, BuiltinTypes& types);

}  // namespace manta::local
