#include "controllers/raycluster/plan.h"

#include "controllers/raycluster/adoption.h"
#include "controllers/raycluster/head_pod.h"
#include "controllers/raycluster/lost_head.h"
#include "controllers/raycluster/notes.h"
#include "controllers/raycluster/objects.h"
#include "controllers/raycluster/pods.h"
#include "controllers/raycluster/redis_cleanup.h"
#include "controllers/raycluster/status.h"
#include "controllers/raycluster/validation.h"
#include "controllers/raycluster/whole_cluster.h"
#include "controllers/writes.h"
#include "kube/quota.h"
#include "ray/builders/cluster_facts.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

namespace manta::controllers::raycluster {
namespace {

using kube::Plan;
using kube::Stage;

// True when the head may run, and so the workers may be planned.
bool plan_head(const RayClusterSeen& seen, const Settings& settings, Plan& plan) {
  const auto head = decide_head(see_head(seen));
  plan.stages.push_back(head_writes(seen, head, settings));
  return head.step == HeadStep::Create || head.step == HeadStep::Keep;
}

// False when the batch scheduler's objects are not as Pods need them, and only a change that is
// not ours to make can put that right.
bool plan_gang(const RayClusterSeen& seen, const Settings& settings, Plan& plan) {
  auto gang = batchscheduler::decide_gang(*seen.cluster, seen.gang, settings.build);
  for (auto& stage : gang.stages) plan.stages.push_back(std::move(stage));
  for (auto& event : gang.events) plan.events.push_back(std::move(event));
  return gang.blocked.empty();
}

// Without certificates no Pod may be made; that which is to go goes. True: some have to wait.
bool hold_new_pods(const RayClusterSeen& seen, const Settings& settings, Plan& plan) {
  if (!ray::mtls_enabled(seen.spec(), settings.build) ||
      mtls::why_not_ready(*seen.cluster, seen.certificates).empty())
    return false;
  std::size_t held = 0;
  for (auto& stage : plan.stages)
    held += std::erase_if(stage, [](const kube::Write& write) {
      return write.kind == kube::WriteKind::Create && write.resource == kube::kPods;
    });
  return held > 0;
}

// False when some of it cannot be done until something else has changed.
bool plan_pods(const RayClusterSeen& seen, const Settings& settings, UpgradeStep upgrade, Time now,
               Plan& plan) {
  switch (decide_suspension(seen, settings)) {
    case SuspendStep::Wait:
      return true;
    case SuspendStep::Delete:
      plan.stages.push_back(suspension_writes(seen));
      return true;
    case SuspendStep::None:
      break;
  }
  if (upgrade == UpgradeStep::Recreate) {
    plan.stages.push_back(upgrade_writes(seen, upgrade, settings));
    return true;
  }
  if (!plan_gang(seen, settings, plan)) return false;
  // A head that is refused holds the workers back: they could only wait for it.
  if (plan_head(seen, settings, plan)) {
    std::optional<Time> next_attempt;
    plan.stages.push_back(group_writes(seen, settings, now, next_attempt));
    if (next_attempt) look_again_within(plan, *next_attempt - now);
  } else {
    plan.stages.push_back(sleeping_group_writes(seen));
  }
  return !hold_new_pods(seen, settings, plan);
}

// Of what this plan still wants; those of what nobody wants any more say nothing.
kube::Failures failures_of(const Plan& plan, const kube::Failures& failures) {
  kube::Failures out;
  for (const auto& stage : plan.stages)
    for (const auto& write : stage)
      if (const auto found = failures.find(write.lane); found != failures.end()) out.insert(*found);
  return out;
}

void look_for_trouble(const Plan& plan, const kube::Failures& failures, Trouble& trouble) {
  for (const auto& stage : plan.stages)
    for (const auto& write : stage) {
      const auto found = failures.find(write.lane);
      if (found == failures.end()) continue;
      trouble.any = true;
      if (trouble.marker || found->second.marker.empty()) continue;
      trouble.marker = found->second.marker;
      // RC-11: a word for those who would rather not search the sentence.
      trouble.message = kube::refused_by_quota(found->second.error)
                            ? "QuotaExceeded: " + found->second.error.message
                            : found->second.error.message;
    }
}

void plan_status(const RayClusterSeen& seen, StatusDecision status, Time now, Plan& plan) {
  if (status.write)
    plan.status = update_status(ray::kRayClusters, seen.cluster->meta,
                                ray::part_to_json(seen.cluster->status), std::move(*status.write));
  for (const auto& wait : {until_head_is_overdue(seen, now), status.look_again})
    if (wait) look_again_within(plan, *wait);
}

Plan plan_deleted(const RayClusterSeen& seen, const Settings& settings,
                  const kube::PlanContext& context) {
  // Without our finalizer everything goes by owner references.
  if (!has_cleanup_finalizer(seen)) return {};
  return plan_redis_cleanup(seen, settings, context);
}

// Side by side with the last of the rest, or with the first that fails, which nothing gets past: it
// holds nothing up, and waits for nothing that fails.
void add_edits(Stage edits, const kube::Failures& failures, Plan& plan) {
  if (edits.empty()) return;
  Stage* beside = nullptr;
  for (auto& stage : plan.stages) {
    if (stage.empty()) continue;
    beside = &stage;
    if (std::ranges::any_of(
            stage, [&](const kube::Write& write) { return failures.contains(write.lane); }))
      break;
  }
  std::ranges::move(edits, std::back_inserter(beside ? *beside : plan.stage()));
}

// What is changed before the head has its hash is lost to it.
void plan_stamp(const RayClusterSeen& seen, const Settings& settings, UpgradeStep upgrade,
                const kube::Failures& failures, Plan& plan) {
  if (upgrade == UpgradeStep::Stamp && decide_suspension(seen, settings) == SuspendStep::None)
    add_edits(upgrade_writes(seen, upgrade, settings), failures, plan);
}

// AS-01: once, however often the autoscaler changes the spec.
void tell_contested_replicas(const RayClusterSeen& seen, Plan& plan) {
  const auto& cluster = *seen.cluster;
  if (cluster.replicas_owner.empty() ||
      ray::condition_is_true(cluster.status.conditions, kReplicasContested))
    return;
  plan.events.push_back(warning("ReplicasInManifest", "Validate", cluster.replicas_owner));
}

void tell_heads(const RayClusterSeen& seen, Plan& plan) {
  auto heads = several_heads(seen);
  if (heads.empty() || ray::condition_is_true(seen.cluster->status.conditions, kMultipleHeads))
    return;
  plan.events.push_back(warning("MultipleHeads", "Reconcile", std::move(heads)));
}

// As when the API server refuses it.
void tell_named_in_vain(const RayClusterSeen& seen, Plan& plan) {
  for (const auto& [group, pod] : seen.named_in_vain)
    plan.events.push_back(
        warning("FailedToDeleteWorkerPod", "Delete",
                fmt::format("Failed deleting pod {}/{}, workersToDelete of group {} names it, but "
                            "it is none of its Pods",
                            seen.key().namespace_, pod, group)));
}

Plan plan_live(const RayClusterSeen& seen, const Settings& settings,
               const kube::PlanContext& context) {
  Plan plan;
  if (wants_redis_cleanup(seen, settings) && !has_cleanup_finalizer(seen)) {
    // Nothing that the finalizer guards exists before it.
    plan.stage().push_back(add_cleanup_finalizer(seen));
    return plan;
  }
  auto objects = decide_objects(seen, settings, context);
  plan.events = std::move(objects.events);
  plan.stages = std::move(objects.stages);
  tell_contested_replicas(seen, plan);
  tell_heads(seen, plan);
  tell_named_in_vain(seen, plan);
  Trouble trouble{.any = !objects.blocked.empty()};
  const auto upgrade = decide_upgrade(seen, settings);
  if (objects.blocked.empty() && !plan_pods(seen, settings, upgrade, context.now, plan))
    trouble.any = true;
  plan_stamp(seen, settings, upgrade, context.failures, plan);
  add_edits(std::move(objects.edits), context.failures, plan);
  add_edits(adoption_writes(seen), context.failures, plan);
  plan_lost_head(seen, settings, context, plan);
  const auto failures = failures_of(plan, context.failures);
  look_for_trouble(plan, failures, trouble);
  const auto notes = notes_about(
      seen, settings, {.now = context.now, .facts = context.facts, .failures = failures});
  auto status = decide_status(seen, trouble, notes, settings, context.now);
  plan_status(seen, std::move(status), context.now, plan);
  return plan;
}

Plan plan_refused(const RayClusterSeen& seen, Validity validity, const Settings& settings,
                  const kube::PlanContext& context) {
  Plan plan{.events = std::move(validity.events)};
  if (!validity.note) return plan;
  auto notes =
      notes_about(seen, settings, {.now = context.now, .facts = context.facts, .failures = {}});
  notes.push_back(std::move(*validity.note));
  plan_status(seen, decide_status_of_refused(seen, notes, settings, context.now), context.now,
              plan);
  return plan;
}

}  // namespace

Plan plan(const RayClusterSeen& seen, const Settings& settings, const kube::PlanContext& context) {
  if (!ray::is_managed_by_us(seen.spec().managedBy)) return {};
  if (seen.cluster->meta.deleting) return plan_deleted(seen, settings, context);
  auto validity = validate(seen, settings);
  if (!validity.valid) return plan_refused(seen, std::move(validity), settings, context);
  auto plan = plan_live(seen, settings, context);
  for (auto& event : validity.events) plan.events.push_back(std::move(event));
  return plan;
}

}  // namespace manta::controllers::raycluster
