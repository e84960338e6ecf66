#include "ray/runtime_env.h"

#include "base/yaml.h"

#include <algorithm>
#include <vector>

namespace manta::ray {
namespace {

Json sorted(const Json& value) {
  if (value.is_array()) {
    JsonArray array;
    for (const Json& item : value.get_array()) array.push_back(sorted(item));
    return array;
  }
  if (!value.is_object()) return value;
  std::vector<std::string_view> keys;
  for (const auto& member : value.get_object()) keys.push_back(member.key());
  std::ranges::sort(keys);
  JsonObject object;
  for (const auto key : keys) object[key] = sorted(value.get_object().at(key));
  return object;
}

}  // namespace

Result<Json> parse_runtime_env(std::string_view yaml) {
  auto documents = parse_yaml(yaml, YamlDuplicates::LastWins, YamlLetters::Booleans);
  if (!documents) return failed(documents.error());
  if (documents->empty()) return Json();
  if (!documents->front().is_object())
    return failed(ErrorCode::Invalid, "must be a mapping of keys to values");
  return std::move(documents->front());
}

Result<std::string> runtime_env_text(std::string_view yaml) {
  const auto env = parse_runtime_env(yaml);
  if (!env) return failed(env.error());
  return dump_json(sorted(*env), JsonEscape::Html);
}

}  // namespace manta::ray
