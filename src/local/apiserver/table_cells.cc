#include "local/apiserver/table_cells.h"

#include "fmt/format.h"
#include "kube/object.h"
#include "local/apiserver/table.h"

#include <algorithm>

namespace manta::local {

std::string text(const Json& object, std::initializer_list<std::string_view> path,
                 std::string_view none) {
  const auto value = string_at(object, path);
  return std::string(value.empty() ? none : value);
}

std::string age_of(std::string_view stamp, Time now) {
  auto time = parse_rfc3339(stamp);
  return time ? human_duration(now - *time) : "<unknown>";
}
std::string age(const Json& object, Time now) {
  return age_of(string_at(object, {"metadata", "creationTimestamp"}), now);
}

std::string join(const std::vector<std::string>& texts) {
  std::string joined;
  for (const auto& one : texts) joined += (joined.empty() ? "" : ",") + one;
  return joined;
}

std::string selector(const Json& object, std::initializer_list<std::string_view> path) {
  const auto* value = find(object, path);
  if (!value) return "<none>";
  if (find(*value, {"matchLabels"}) || find(*value, {"matchExpressions"})) {
    auto parsed = kube::LabelSelector::from_json(*value);
    if (!parsed || parsed->empty()) return "<none>";
    return parsed->to_string();
  }
  std::vector<std::string> terms;
  if (value->is_object())
    for (const auto& [key, member] : value->get_object())
      if (member.is_string())
        terms.push_back(
            fmt::format("{}={}", std::string_view(key), std::string_view(member.get_string())));
  std::ranges::sort(terms);
  return terms.empty() ? "<none>" : join(terms);
}

std::pair<std::string, std::string> containers(const Json& object,
                                               std::initializer_list<std::string_view> path) {
  std::vector<std::string> names, images;
  for (const auto& container : array_at(object, path)) {
    names.emplace_back(string_at(container, {"name"}));
    images.emplace_back(string_at(container, {"image"}));
  }
  return {join(names), join(images)};
}

Json name_of(const Json& object) { return Json(string_at(object, {"metadata", "name"})); }

bool has_condition(const Json& object, std::string_view type) {
  return std::ranges::any_of(
      array_at(object, {"status", "conditions"}), [&](const Json& condition) {
        return string_at(condition, {"type"}) == type && string_at(condition, {"status"}) == "True";
      });
}

}  // namespace manta::local
