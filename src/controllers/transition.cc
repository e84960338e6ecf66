#include "controllers/transition.h"

#include <fmt/format.h>

#include <map>

namespace manta::controllers {
namespace {

// Those fields of a RayCluster, RayJob, RayService or RayCronJob that name a state.
constexpr std::string_view kStates[] = {"state", "jobDeploymentStatus", "jobStatus",
                                        "serviceStatus"};

std::string_view shown(std::string_view state) { return state.empty() ? "(none)" : state; }

void add(std::string& text, std::string_view name, std::string_view before,
         std::string_view after) {
  if (before == after) return;
  fmt::format_to(std::back_inserter(text), "{}{}: {} -> {}", text.empty() ? "" : "; ", name,
                 shown(before), shown(after));
}

std::map<std::string_view, std::string_view> conditions_of(const Json& status,
                                                           std::string_view field) {
  std::map<std::string_view, std::string_view> conditions;
  for (const auto& condition : array_at(status, {"conditions"}))
    conditions.emplace(string_at(condition, {"type"}), string_at(condition, {field}));
  return conditions;
}

}  // namespace

std::string transition(const Json& before, const Json& after) {
  std::string text;
  for (const auto state : kStates)
    add(text, state, string_at(before, {state}), string_at(after, {state}));
  for (const std::string_view which : {"activeServiceStatus", "pendingServiceStatus"})
    add(text, which, string_at(before, {which, "rayClusterName"}),
        string_at(after, {which, "rayClusterName"}));
  const auto old = conditions_of(before, "status");
  const auto reasons = conditions_of(after, "reason");
  auto now = conditions_of(after, "status");
  for (const auto& [type, status] : old) now.try_emplace(type);  // one that went
  for (const auto& [type, status] : now) {
    const auto was = old.find(type);
    const auto length = text.size();
    add(text, type, was == old.end() ? std::string_view() : was->second, status);
    const auto reason = reasons.find(type);
    if (text.size() > length && reason != reasons.end() && !reason->second.empty())
      text += fmt::format(" ({})", reason->second);
  }
  return text;
}

}  // namespace manta::controllers
