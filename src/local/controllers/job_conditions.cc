#include "local/controllers/job_pass.h"

namespace manta::local {

const Json* find_condition(const Json& status, std::string_view type) {
  for (const auto& condition : array_at(status, {"conditions"}))
    if (string_at(condition, {"type"}) == type) return &condition;
  return nullptr;
}

bool condition_true(const Json& status, std::string_view type) {
  const auto* condition = find_condition(status, type);
  return condition != nullptr && string_at(*condition, {"status"}) == "True";
}

Reason reason_of(const Json& status, std::string_view type) {
  const auto* condition = find_condition(status, type);
  if (condition == nullptr) return {};
  return {std::string(string_at(*condition, {"reason"})),
          std::string(string_at(*condition, {"message"}))};
}

void set_condition(Json& status, std::string_view type, bool value, const Reason& why, Time now) {
  const JsonObject wanted{{"type", type},
                          {"status", value ? "True" : "False"},
                          {"lastProbeTime", format_rfc3339(now)},
                          {"lastTransitionTime", format_rfc3339(now)},
                          {"reason", why.reason},
                          {"message", why.message}};
  auto& fields = status.as_object();
  if (!fields.contains("conditions")) fields["conditions"] = JsonArray{};
  for (auto& condition : fields["conditions"].as_array()) {
    if (string_at(condition, {"type"}) != type) continue;
    if (string_at(condition, {"status"}) != string_at(wanted, {"status"})) condition = wanted;
    return;
  }
  fields["conditions"].as_array().emplace_back(wanted);
}

}  // namespace manta::local
