// Complete and Failed: deletion rules, the older onSuccess/onFailure policies, shutdown after a
// time.
#include "controllers/rayjob/children.h"
#include "controllers/rayjob/notices.h"
#include "controllers/rayjob/states.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

namespace manta::controllers::rayjob {
namespace {

// From the mildest to the one that makes all others needless.
constexpr std::array<std::string_view, 4> kByImpact = {"DeleteNone", "DeleteWorkers",
                                                       "DeleteCluster", "DeleteSelf"};

std::size_t impact(std::string_view policy) {
  return static_cast<std::size_t>(std::ranges::find(kByImpact, policy) - kByImpact.begin());
}

// Read off the world, not off the status, so that a crash between the two loses nothing.
bool is_carried_out(const Draft& draft, std::string_view policy) {
  if (policy == "DeleteNone") return true;
  if (policy == "DeleteSelf") return false;
  const auto& cluster = draft.seen.cluster;
  if (!cluster || cluster->meta.deleting || is_anothers(draft, *cluster)) return true;
  return policy == "DeleteWorkers" &&
         std::ranges::all_of(cluster->spec.workerGroupSpecs,
                             [](const auto& group) { return ray::is_true(group.suspend); });
}

void carry_out(Draft& draft, std::string_view policy) {
  if (policy == "DeleteSelf")
    delete_self(draft);
  else if (policy == "DeleteCluster")
    cluster_gone(draft);
  else if (policy == "DeleteWorkers" && !is_carried_out(draft, policy))
    suspend_workers(draft);
}

bool applies(const ray::DeletionCondition& condition, const ray::RayJobStatus& status) {
  return condition.jobStatus ? *condition.jobStatus == status.jobStatus
                             : condition.jobDeploymentStatus == status.jobDeploymentStatus;
}

// Nobody will ever delete the cluster, though the user wrote rules for that: unless the
// administrator did. RJ-12
void follow_default(Draft& draft, Time ended) {
  const auto& status = draft.status;
  const auto& rule = draft.settings.job_default_deletion;
  give_notice(
      draft, kCleanupNotApplicable,
      fmt::format("spec.deletionStrategy says nothing of a job that ended with jobStatus '{}' and "
                  "jobDeploymentStatus '{}': RayCluster {} is kept{}",
                  status.jobStatus, status.jobDeploymentStatus, status.rayClusterName,
                  rule ? fmt::format(" for {} s; then the operator's rule {} applies",
                                     rule->after_end.count(), rule->policy)
                       : ""));
  if (rule && draft.has_come(ended + rule->after_end)) carry_out(draft, rule->policy);
}

void follow_rules(Draft& draft, const std::vector<ray::DeletionRule>& rules, Time ended) {
  if (std::ranges::none_of(rules,
                           [&](const auto& rule) { return applies(rule.condition, draft.status); }))
    return follow_default(draft, ended);
  take_notice_back(draft, kCleanupNotApplicable);
  const ray::DeletionRule* due = nullptr;
  for (const auto& rule : rules) {
    if (!applies(rule.condition, draft.status)) continue;
    if (!draft.has_come(ended + std::chrono::seconds{rule.condition.ttlSeconds})) continue;
    if (is_carried_out(draft, rule.policy)) continue;
    if (!due || impact(rule.policy) > impact(due->policy)) due = &rule;
  }
  if (due) carry_out(draft, due->policy);
}

void follow_policies(Draft& draft, const ray::DeletionStrategy& strategy, Time ended) {
  const auto& chosen = draft.status.jobStatus == "SUCCEEDED" ? strategy.onSuccess
                       : draft.status.jobStatus == "FAILED"  ? strategy.onFailure
                                                             : ray::Opt<ray::DeletionPolicy>();
  if (!chosen || !chosen->policy) return follow_default(draft, ended);
  take_notice_back(draft, kCleanupNotApplicable);
  if (draft.has_come(ended + std::chrono::seconds{draft.spec().ttlSecondsAfterFinished}))
    carry_out(draft, *chosen->policy);
}

}  // namespace

void plan_cleanup(Draft& draft) {
  const auto& spec = draft.spec();
  if (selects_cluster(spec)) return;  // nothing there is ours
  if (!draft.status.endTime) return;  // edited by hand: no clock to go by
  const auto ended = *draft.status.endTime;
  if (draft.settings.job_deletion_policy && spec.deletionStrategy) {
    if (!spec.deletionStrategy->deletionRules.empty())
      return follow_rules(draft, spec.deletionStrategy->deletionRules, ended);
    return follow_policies(draft, *spec.deletionStrategy, ended);
  }
  if (!spec.shutdownAfterJobFinishes) return;
  if (!draft.has_come(ended + std::chrono::seconds{spec.ttlSecondsAfterFinished})) return;
  if (draft.settings.delete_rayjob_cr)
    delete_self(draft);
  else
    cluster_gone(draft);
}

}  // namespace manta::controllers::rayjob
