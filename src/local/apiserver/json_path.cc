#include "local/apiserver/json_path.h"

#include "base/text.h"

#include <algorithm>
#include <cstdlib>
#include <string>

namespace manta::local {
namespace {

const Json* member(const Json& value, std::string_view name) {
  return value.is_object() ? value.get_object().if_contains(name) : nullptr;
}

/// ?(@.FIELD=="VALUE"): the first item that has it.
const Json* first_where(const Json& value, std::string_view condition) {
  const auto equal = condition.find("==");
  if (equal == condition.npos || !value.is_array()) return nullptr;
  constexpr std::string_view kStart = "?(@.";
  const auto field = trim(condition.substr(kStart.size(), equal - kStart.size()), " ");
  auto wanted = condition.substr(equal + 2);
  if (wanted.ends_with(')')) wanted.remove_suffix(1);
  wanted = trim(wanted, "\"' ");
  const auto& items = value.get_array();
  const auto found = std::ranges::find_if(
      items, [&](const Json& item) { return string_at(item, {field}) == wanted; });
  return found == items.end() ? nullptr : &*found;
}

const Json* in_brackets(const Json& value, std::string_view inside) {
  if (inside.starts_with("?(@.")) return first_where(value, inside);
  if (inside.starts_with('\'') || inside.starts_with('"'))
    return member(value, inside.substr(1, inside.size() - 2));
  const auto index = static_cast<std::size_t>(std::atoi(std::string(inside).c_str()));
  if (!value.is_array() || index >= value.get_array().size()) return nullptr;
  return &value.get_array()[index];
}

/// The name at the front of the path, which loses it. A dot in a key is written \. there.
std::string take_name(std::string_view& path) {
  std::string name;
  while (!path.empty() && path.front() != '.' && path.front() != '[') {
    if (path.starts_with("\\.")) path.remove_prefix(1);
    name += path.front();
    path.remove_prefix(1);
  }
  return name;
}

}  // namespace

const Json* json_path(const Json& object, std::string_view path) {
  const Json* at = &object;
  while (at && !path.empty()) {
    if (path.front() == '.') {
      path.remove_prefix(1);
    } else if (path.front() == '[') {
      const auto end = path.find(']');
      if (end == path.npos) return nullptr;
      at = in_brackets(*at, path.substr(1, end - 1));
      path.remove_prefix(end + 1);
    } else {
      at = member(*at, take_name(path));
    }
  }
  return at;
}

}  // namespace manta::local
