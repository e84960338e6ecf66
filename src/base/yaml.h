// YAML in, JSON documents out (YAML 1.1 scalars as Kubernetes' parsers resolve them).
#pragma once

#include "base/json.h"

#include <string>
#include <string_view>
#include <vector>

namespace manta {

/// LastWins is for text that another program will judge, where only its shape matters here.
enum class YamlDuplicates { Refuse, LastWins };
/// Whether plain y, Y, n, N are strings, or booleans as in YAML 1.1 itself (and in what KubeRay
/// does with Serve configs).
enum class YamlLetters { Strings, Booleans };
/// Every non-empty document of a stream. Fails with "line L, column C: …". Refuses aliases that
/// expand to more than 10 MiB, duplicate keys, and non-string keys other than scalars.
Result<std::vector<Json>> parse_yaml(std::string_view text,
                                     YamlDuplicates duplicates = YamlDuplicates::Refuse,
                                     YamlLetters letters = YamlLetters::Strings);
/// Exactly one document.
Result<Json> parse_yaml_one(std::string_view text);
/// Block style, strings quoted where plain text would read back as another type.
std::string dump_yaml(const Json& value);

}  // namespace manta
