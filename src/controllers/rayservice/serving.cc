#include "controllers/rayservice/serving.h"

#include "controllers/naming.h"
#include "controllers/rayservice/application_trouble.h"
#include "controllers/rayservice/clusters.h"
#include "controllers/rayservice/conditions.h"
#include "controllers/rayservice/serve.h"
#include "controllers/rayservice/serve_config.h"
#include "controllers/rayservice/services.h"
#include "controllers/rayservice/status.h"
#include "controllers/writes.h"

#include <fmt/format.h>

namespace manta::controllers::rayservice {
namespace {

using Config = ServeGoal::Config;

Share share_of(const ray::ServeClusterStatus& status) {
  return {.capacity = status.targetCapacity,
          .traffic = status.trafficRoutedPercent,
          .moved = status.lastTrafficMigratedTime};
}

void set_share(ray::ServeClusterStatus& status, const Share& share) {
  status.targetCapacity = share.capacity;
  status.trafficRoutedPercent = share.traffic;
  status.lastTrafficMigratedTime = share.moved;
}

Rollout stored_rollout(const Draft& draft) {
  return {.active = !draft.active_name().empty(),
          .pending = !draft.pending_name().empty(),
          .rolling_back = is_marked(draft.status, kRollbackInProgress),
          .shares = {.active = share_of(draft.status.activeServiceStatus),
                     .pending = share_of(draft.status.pendingServiceStatus)}};
}

/// One cluster in this pass.
struct Side {
  const ClusterSeen& seen;
  Fit fit = Fit::Different;
  bool polled = false;
  ServeSeen serve = {};
  ServeGoal goal = {};
  bool serves = false;

  bool exists() const { return seen.exists(); }
  bool fits() const { return exists() && fit != Fit::Different; }
};

struct Sides {
  Side active;
  Side pending;
};

// Whose applications count now. Source: spec/05 §5.5.
void decide_polls(const Draft& draft, const Rollout& rollout, Sides& sides) {
  sides.pending.polled = sides.pending.exists();
  if (!sides.active.exists()) return;
  const bool makes_way = !sides.active.fits() && may_replace(draft.spec(), draft.settings);
  sides.active.polled = rollout.pending ? draft.incremental : !makes_way;
}

void look_at(Draft& draft, Side& side) {
  if (!side.exists()) return;
  ensure_serve_label(draft, side.seen);
  resume_cluster(draft, *side.seen.cluster);
  if (!side.polled) return;
  side.serve = look_at_serve(draft, side.seen);
  // Behind a Gateway nobody is reached without a Service of their own.
  const bool reachable = !draft.incremental || side.seen.serve_service;
  side.serves = reachable && is_serving(side.serve, side.goal, draft.spec());
}

Sides look_at_clusters(Draft& draft, const Rollout& rollout) {
  Sides sides{.active = {draft.seen.active}, .pending = {draft.seen.pending}};
  const bool upgrading = rollout.active && rollout.pending;
  if (sides.active.exists())
    sides.active.fit = fit_of(*draft.seen.active.cluster, draft, !upgrading);
  if (sides.pending.exists()) sides.pending.fit = fit_of(*draft.seen.pending.cluster, draft, false);
  decide_polls(draft, rollout, sides);
  // New config goes to one cluster only: to the one that will stay, as of this very pass.
  if (draft.incremental && upgrading) {
    const bool back = heads_back(rollout, {.active_exists = sides.active.exists(),
                                           .pending_exists = sides.pending.exists(),
                                           .active_fits = sides.active.fit == Fit::Same,
                                           .pending_fits = sides.pending.fits()});
    sides.active.goal.config = back ? Config::Newest : Config::Held;
    sides.pending.goal.config = back ? Config::Held : Config::Newest;
  }
  look_at(draft, sides.active);
  look_at(draft, sides.pending);
  return sides;
}

// What holds up steps, beside the Gateway and unhealthy applications. A part of the traffic needs a
// part of the capacity, so both clusters must be there to be told.
void tell_standstill(Draft& draft, const Sides& sides, const RolloutSeen& seen) {
  for (const auto* side : {&sides.active, &sides.pending}) {
    if (!side->exists()) continue;
    if (!side->serve.asked)
      draft.upgrade_waits.push_back(
          fmt::format("the head of {} is not ready", side->seen.cluster->meta.key.name));
    else if (!side->serve.trouble.empty())
      draft.upgrade_waits.push_back(side->serve.trouble);
  }
  constexpr auto kOption = "spec.upgradeStrategy.clusterUpgradeOptions.{} is 0: no {} moves";
  if (seen.surge == 0)
    draft.upgrade_waits.push_back(fmt::format(kOption, "maxSurgePercent", "capacity"));
  if (seen.step == 0)
    draft.upgrade_waits.push_back(fmt::format(kOption, "stepSizePercent", "traffic"));
}

RolloutSeen see_rollout(Draft& draft, const Rollout& rollout, const Sides& sides) {
  const auto& strategy = draft.spec().upgradeStrategy;
  const auto options = strategy && strategy->clusterUpgradeOptions
                           ? *strategy->clusterUpgradeOptions
                           : ray::ClusterUpgradeOptions{};
  RolloutSeen seen{
      .active_exists = sides.active.exists(),
      .pending_exists = sides.pending.exists(),
      .pending_going = draft.seen.pending.cluster && !sides.pending.exists(),
      .active_serves = sides.active.serves,
      .pending_serves = sides.pending.serves,
      .pending_may_answer =
          sides.pending.serve.asked && (!sides.pending.serve.known || !sides.pending.serve.fresh ||
                                        answers(sides.pending.serve)),
      .pending_head_ready = head_is_ready(draft.seen.pending, draft.settings),
      .active_fits = sides.active.fits(),
      .pending_fits = sides.pending.fits(),
      .traffic_on_pending = selects(draft.seen.serve_service, draft.seen.pending.cluster),
      .may_replace = may_replace(draft.spec(), draft.settings),
      .incremental = draft.incremental,
      .surge = options.maxSurgePercent.value_or(100),
      .step = options.stepSizePercent.value_or(100),
      .interval = std::chrono::seconds{options.intervalSeconds.value_or(0)},
      .now = draft.now()};
  if (draft.settings.service_gates.tell_drift && seen.active_exists && !seen.active_fits &&
      !seen.may_replace)  // RS-23
    draft.upgrade_waits.push_back(fmt::format(
        "the spec asks for another cluster than {}, and upgradeStrategy leaves that as it is",
        draft.active_name()));
  if (!draft.incremental) return seen;
  // Beside a new cluster only the very same spec is the old one's. Source: spec/05 §6.6.
  if (rollout.active && rollout.pending) seen.active_fits = sides.active.fit == Fit::Same;
  const auto trouble = gateway_trouble(draft);
  seen.gateway_ready = !trouble;
  seen.just_told = !sides.active.serve.fresh || !sides.pending.serve.fresh;
  if (!rollout.active || !rollout.pending) return seen;
  if (trouble) draft.upgrade_waits.push_back(*trouble);
  tell_standstill(draft, sides, seen);
  return seen;
}

void plan_clusters(Draft& draft, const Rollout& rollout, const Sides& sides) {
  if (rollout.pending && !draft.seen.pending.cluster) create_pending(draft);
  if (sides.active.exists() && !(rollout.active && rollout.pending))
    update_in_place(draft, *draft.seen.active.cluster, sides.active.fit, "active");
  if (sides.pending.exists())
    update_in_place(draft, *draft.seen.pending.cluster, sides.pending.fit, "pending");
}

void plan_serve(Draft& draft, Side& side, const Share& stored, const Share& wanted) {
  if (!side.polled) return;
  if (draft.incremental) {
    side.goal.capacity = wanted.capacity;
    side.goal.had_capacity = stored.capacity;
  }
  ensure_serve(draft, side.seen, side.serve, side.goal);
}

void plan_routing(Draft& draft, const Rollout& rollout, const RolloutSeen& seen,
                  const Shares& wanted) {
  if (draft.incremental) {
    bool built = true;
    for (const auto* cluster : {&draft.seen.active, &draft.seen.pending})
      if (cluster->exists()) built &= ensure_cluster_serve_service(draft, *cluster);
    ensure_gateway(draft);
    if (built && seen.active_exists && may_take_route(draft, seen.active_serves))
      ensure_route(draft, wanted.active.traffic.value_or(100), wanted.pending.traffic.value_or(0));
  }
  const bool shifting = draft.incremental && rollout.active && rollout.pending;
  const auto* target = seen.pending_serves && !shifting           ? &draft.seen.pending
                       : seen.active_serves && seen.active_exists ? &draft.seen.active
                                                                  : nullptr;
  if (!target) return;
  ensure_services(draft, target->cluster);
  if (!draft.incremental) turn_left_route(draft, target->cluster);
}

// The capacity that Serve on this head was last told.
std::optional<std::int32_t> told_capacity(const Side& side) {
  const auto& told = side.serve.submission;
  if (!told) return std::nullopt;
  if (side.serve.applications.empty() && told->head != head_identity(side.seen))
    return std::nullopt;
  const auto capacity = capacity_of(told->config);
  return capacity ? std::optional(static_cast<std::int32_t>(*capacity)) : std::nullopt;
}

// What Serve was told and what the route says counts, before anything is decided: a step that was
// made but not written down yet is not made twice, and one that failed is made again.
void take_over(const Draft& draft, const Sides& sides, Rollout& rollout) {
  auto& [active, pending] = rollout.shares;
  if (const auto told = told_capacity(sides.active)) active.capacity = told;
  if (const auto told = told_capacity(sides.pending)) pending.capacity = told;
  // A part of the traffic is told first when somebody serves.
  const bool anyone = sides.active.serves || sides.pending.serves;
  const auto traffic = [&](const ClusterSeen& cluster, Share& share) {
    const auto weight = routed(draft, cluster);
    if (!weight || share.traffic == weight || (!share.traffic && !anyone)) return;
    share.traffic = weight;
    share.moved = draft.now();
  };
  traffic(draft.seen.active, active);
  traffic(draft.seen.pending, pending);
}

// What needs nobody to be told.
void settle(const Sides& sides, const RolloutSeen& seen, const Shares& wanted, Shares& shares) {
  // What was lost took its part with it.
  if (seen.active_exists && !seen.pending_exists) shares.pending = wanted.pending;
  if (wanted.active.capacity == 0 && !sides.active.serve.asked) shares.active.capacity = 0;
  if (wanted.pending.capacity == 0 && !sides.pending.serve.asked) shares.pending.capacity = 0;
}

void carry_out(Draft& draft, Move move, const Rollout& rollout, const RolloutSeen& seen) {
  auto& active = draft.status.activeServiceStatus;
  auto& pending = draft.status.pendingServiceStatus;
  switch (move) {
    case Move::None:
      break;
    case Move::Prepare:
      note_dropped(draft);
      pending = {.rayClusterName =
                     fmt::format("{}-{}", draft.seen.key().name,
                                 derived_suffix(draft.service().meta.uid, "cluster", draft.now()))};
      break;
    case Move::Promote:
      active = std::exchange(pending, {});
      break;
    case Move::RollBack:
      mark(draft, kRollbackInProgress, "True", "DesiredClusterSpecChanged",
           seen.active_fits ? "Goal state reverted to original cluster, rolling back."
                            : "Goal state changed mid-upgrade, rolling back to original cluster.");
      break;
    case Move::EndRollback:
      pending = {};
      ray::remove_condition(draft.status.conditions, kRollbackInProgress);
      break;
    case Move::Resume:
    case Move::ForgetRollback:
      ray::remove_condition(draft.status.conditions, kRollbackInProgress);
      break;
  }
  const auto next = after(move, rollout, seen);
  set_share(active, next.shares.active);
  set_share(pending, next.shares.pending);
}

void plan_next_shift(Draft& draft, const Rollout& rollout, const RolloutSeen& seen) {
  if (!draft.incremental || !rollout.active || !rollout.pending) return;
  for (const auto& next : {next_shift(rollout, seen), next_step(rollout)})
    if (next) draft.look_at(*next);
}

}  // namespace

void plan_serving(Draft& draft) {
  auto rollout = stored_rollout(draft);
  const auto remembered = rollout.shares;
  auto sides = look_at_clusters(draft, rollout);
  if (draft.incremental) take_over(draft, sides, rollout);
  const auto seen = see_rollout(draft, rollout, sides);
  if (draft.incremental && rollout.active && rollout.pending && !seen.active_exists)
    draft.plan.events.push_back(warning("RollbackImpossible", "Reconcile",
                                        "Active cluster not found, rollback cannot be initiated"));
  const auto move = decide_move(rollout, seen);
  const auto wanted = want_shares(rollout, seen);

  plan_clusters(draft, rollout, sides);
  plan_serve(draft, sides.pending, remembered.pending, wanted.pending);
  plan_serve(draft, sides.active, remembered.active, wanted.active);
  plan_routing(draft, rollout, seen, wanted);
  plan_next_shift(draft, rollout, seen);

  draft.status.observedGeneration = draft.service().meta.generation;
  tell_clusters(draft, sides.active.serve, sides.pending.serve);
  if (draft.incremental) settle(sides, seen, wanted, rollout.shares);
  const auto endpoints = count_endpoints(draft);
  carry_out(draft, move, rollout, seen);
  draft.status.numServeEndpoints = endpoints;
  tell_trouble(draft);
  update_conditions(draft, endpoints);
  draft.status.serviceStatus = is_marked(draft.status, kReady) ? "Running" : "";
}

}  // namespace manta::controllers::rayservice
