#include "local/controllers/job_policy.h"

#include <fmt/format.h>

#include <algorithm>

namespace manta::local {
namespace {

bool listed(const JsonArray& values, std::int64_t code) {
  return std::ranges::any_of(
      values, [&](const Json& value) { return value.is_int64() && value.as_int64() == code; });
}

/// The container whose exit code the rule names, or null.
const ContainerEnd* match_exit_code(const Json& rule, const PodView& pod) {
  const auto container = string_at(rule, {"containerName"});
  const bool in = string_at(rule, {"operator"}) == "In";
  for (const auto& end : pod.ends) {
    // Success is never a failure to be matched, not even by NotIn.
    if (end.exit_code == 0 || (!container.empty() && container != end.name)) continue;
    if (listed(array_at(rule, {"values"}), end.exit_code) == in) return &end;
  }
  return nullptr;
}

const std::pair<std::string, std::string>* match_condition(const JsonArray& patterns,
                                                           const PodView& pod) {
  for (const auto& pattern : patterns)
    for (const auto& condition : pod.conditions)
      if (condition.first == string_at(pattern, {"type"}) &&
          condition.second == string_at(pattern, {"status"}, "True"))
        return &condition;
  return nullptr;
}

}  // namespace

FailureVerdict judge_failed_pod(const Json& job_spec, const PodView& pod) {
  using Action = FailureVerdict::Action;
  int index = -1;
  for (const auto& rule : array_at(job_spec, {"podFailurePolicy", "rules"})) {
    ++index;
    const auto action = string_at(rule, {"action"});
    std::string matched;
    if (const auto* codes = find(rule, {"onExitCodes"})) {
      if (const auto* end = match_exit_code(*codes, pod))
        matched = fmt::format("Container {} for pod {} failed with exit code {}", end->name,
                              pod.meta.key.to_string(), end->exit_code);
    } else if (const auto* condition = match_condition(array_at(rule, {"onPodConditions"}), pod)) {
      matched = fmt::format("Pod {} has condition {}", pod.meta.key.to_string(), condition->first);
    }
    if (matched.empty()) continue;
    if (action == "Ignore") return {Action::Ignore, {}};
    if (action == "FailJob")
      return {Action::FailJob, fmt::format("{} matching FailJob rule at index {}", matched, index)};
    return {Action::Count, {}};
  }
  return {};
}

}  // namespace manta::local
