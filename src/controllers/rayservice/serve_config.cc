#include "controllers/rayservice/serve_config.h"

#include "base/yaml.h"
#include "ray/labels.h"

#include <cmath>
#include <limits>

namespace manta::controllers::rayservice {
namespace {

constexpr std::string_view kCapacity = "target_capacity";

// 1.0 is sent as 1, as Go's encoder does, so that both compare equal.
void settle_numbers(Json& value) {
  if (value.is_object()) {
    for (auto& entry : value.get_object()) settle_numbers(entry.value());
  } else if (value.is_array()) {
    for (auto& item : value.get_array()) settle_numbers(item);
  } else if (value.is_double()) {
    const double number = value.get_double();
    constexpr double kExact = 9007199254740992.0;  // 2^53: every whole number up to it is exact
    if (std::trunc(number) == number && std::abs(number) <= kExact)
      value = static_cast<std::int64_t>(number);
  }
}

}  // namespace

Result<JsonObject> parse_serve_config(std::string_view text) {
  auto documents = parse_yaml(text, YamlDuplicates::LastWins, YamlLetters::Booleans);
  if (!documents) return std::unexpected(documents.error().in("reading spec.serveConfigV2"));
  if (documents->empty() || documents->front().is_null()) return JsonObject{};
  auto& config = documents->front();  // Ray has no use for a second one
  if (!config.is_object())
    return failed(ErrorCode::Invalid,
                  "reading spec.serveConfigV2: line 1: it must be a mapping with the key "
                  "applications, not a list or a single value");
  settle_numbers(config);
  return std::move(config.get_object());
}

bool is_blank_config(std::string_view text) {
  const auto config = parse_serve_config(text);
  return config && config->empty();
}

JsonObject with_capacity(JsonObject config, std::optional<std::int32_t> capacity) {
  if (capacity)
    config[kCapacity] = *capacity;
  else
    config.erase(kCapacity);
  return config;
}

std::optional<std::int64_t> capacity_of(const JsonObject& config) {
  const auto* found = config.if_contains(kCapacity);
  if (!found || !found->is_int64()) return std::nullopt;
  return found->get_int64();
}

bool same_config(const JsonObject& left, const JsonObject& right) {
  return canonical_json(left) == canonical_json(right);
}

std::set<std::string> application_names(const JsonObject& config) {
  std::set<std::string> names;
  for (const auto& application : array_at(config, {"applications"})) {
    const auto name = string_at(application, {"name"});
    names.emplace(name.empty() ? ray::kDefaultServeApplication : name);
  }
  return names;
}

}  // namespace manta::controllers::rayservice
