// Which type a plain YAML scalar has. Internal to yaml_parse.cc and yaml_dump.cc.
#pragma once

#include "base/json.h"

#include <string_view>

namespace manta::yaml_detail {

/// As Kubernetes' parser resolves it (YAML 1.1 without sexagesimals; y and n stay strings):
/// null, bool, integer (0x, 0o, 0b, leading-zero octal, _ between digits), float, else string.
/// Fails on .inf and .nan, which JSON cannot hold.
Result<Json> resolve_plain(std::string_view text);

}  // namespace manta::yaml_detail
