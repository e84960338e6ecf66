// URLs taken apart.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace manta::local {

using QueryMap = std::map<std::string, std::vector<std::string>, std::less<>>;

struct Target {
  std::vector<std::string> segments = {};  // decoded
  bool trailing_slash = false;
  QueryMap query = {};
};

Target split_target(std::string_view target);
/// Encoded again, for a request that is passed on.
std::string raw_query(const QueryMap& query);

}  // namespace manta::local
