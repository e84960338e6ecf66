#include "controllers/raycronjob/plan.h"

#include "controllers/raycronjob/history.h"
#include "controllers/raycronjob/ticks.h"
#include "controllers/writes.h"
#include "ray/builders/children.h"
#include "ray/cron.h"
#include "ray/labels.h"
#include "ray/validation.h"

#include <fmt/format.h>

namespace manta::controllers::raycronjob {
namespace {

// Conditions; upstream has none.
constexpr std::string_view kInvalid = "Invalid";            // CJ-11
constexpr std::string_view kNeverFires = "NeverFires";      // CJ-04
constexpr std::string_view kManyRayJobs = "ManyRayJobs";    // CJ-08
constexpr std::string_view kScheduleSeen = "ScheduleSeen";  // CJ-13: this generation, since when
constexpr std::size_t kManyChildren = 100;

struct Draft {
  const RayCronJobSeen& seen;
  const Settings& settings;
  const kube::PlanContext& context;
  kube::Plan plan = {};
  ray::RayCronJobStatus status = {};

  const ray::RayCronJob& cron_job() const { return *seen.cron_job; }
  const ray::RayCronJobSpec& spec() const { return seen.cron_job->spec; }
  Time now() const { return context.now; }
};

void give_notice(Draft& draft, std::string_view type, std::string_view reason,
                 std::string message) {
  ray::set_condition(draft.status.conditions,
                     {.type = std::string(type),
                      .status = "True",
                      .observedGeneration = draft.cron_job().meta.generation,
                      .reason = std::string(reason),
                      .message = std::move(message)},
                     draft.now());
}

// The same with a Warning event, the first time.
void warn_once(Draft& draft, std::string_view type, std::string message) {
  if (!ray::condition_is_true(draft.cron_job().status.conditions, type))
    draft.plan.events.push_back(warning(type, "Reconcile", message));
  give_notice(draft, type, type, std::move(message));
}

Result<void> validate(const Draft& draft) {
  return ray::validate_cron_job(draft.cron_job().meta.key.name, draft.spec(),
                                validation_gates(draft.settings), [&](std::string_view name) {
                                  return draft.settings.zones &&
                                         draft.settings.zones(name).has_value();
                                });
}

std::optional<ray::ZoneOffset> zone_of(const Draft& draft) {
  return draft.settings.zones ? draft.settings.zones(draft.spec().timeZone.value_or("Local"))
                              : std::nullopt;
}

// From when on ticks count. Nothing: an edit was noticed just now and is to be written first.
std::optional<Time> base_of(Draft& draft) {
  const auto& meta = draft.cron_job().meta;
  auto base = draft.status.lastScheduleTime.value_or(meta.created);
  const auto& gates = draft.settings.job_gates;
  if (gates.cron_policies && draft.spec().startingDeadlineSeconds)
    base =
        std::max(base, draft.now() - std::chrono::seconds{*draft.spec().startingDeadlineSeconds} -
                           std::chrono::seconds{1});
  if (!gates.count_from_edit || meta.generation <= 1) return base;
  const auto* seen = ray::find_condition(draft.status.conditions, kScheduleSeen);
  if (!seen || seen->observedGeneration != meta.generation) {
    ray::remove_condition(draft.status.conditions, kScheduleSeen);
    give_notice(draft, kScheduleSeen, kScheduleSeen, "ticks count from here");
    return std::nullopt;
  }
  return std::max(base, seen->lastTransitionTime.value_or(base));
}

bool only_latest_counts(const Draft& draft) {
  const auto& gates = draft.settings.job_gates;
  const auto& policy = draft.spec().concurrencyPolicy;
  return gates.latest_tick || (gates.cron_policies && (policy == "Forbid" || policy == "Replace"));
}

// True when the tick's RayJob may be made now. CJ-07
bool may_start(Draft& draft) {
  if (!draft.settings.job_gates.cron_policies) return true;
  const auto active = active_children(draft.seen.children);
  if (active.empty()) return true;
  const auto& policy = draft.spec().concurrencyPolicy;
  if (policy == "Forbid") return false;  // its end brings us back
  if (policy != "Replace") return true;
  for (const auto& child : active)
    draft.plan.stage().push_back(delete_child(*child, "the next one's tick has come"));
  return true;
}

void start(Draft& draft, Due due) {
  auto job = ray::build_job_for_cron_job(draft.cron_job(), due.tick);
  if (!draft.seen.has_job(kube::key_of(job))) {
    if (!may_start(draft)) return;
    auto write = create(ray::kRayJobs, std::move(job), "job");
    write.tolerate = {ErrorCode::AlreadyExists};
    write.why = "its tick has come";
    draft.plan.stage().push_back(std::move(write));
  }
  if (due.missed > 0)
    draft.plan.events.push_back(
        warning("MissedTicks", "Reconcile",
                fmt::format("{} ticks were missed; only the latest has its RayJob", due.missed)));
  draft.status.lastScheduleTime = due.tick;
}

// RayJobs are named by the minute, so of a minute's ticks (`@every 1s`) the first makes the only
// one: the others are passed over, and cost no write of the status.
std::optional<Time> next_tick(const ray::CronSchedule& schedule, const ray::ZoneOffset& zone,
                              Time base, const std::optional<Time>& last) {
  const auto minute_of = [](Time t) { return std::chrono::floor<std::chrono::minutes>(t); };
  auto tick = schedule.next(base, zone);
  while (tick && last && minute_of(*tick) == minute_of(*last)) tick = schedule.next(*tick, zone);
  return tick;
}

void plan_ticks(Draft& draft) {
  const auto schedule = ray::CronSchedule::parse(draft.spec().schedule);
  const auto zone = zone_of(draft);
  if (!schedule || !zone) return;  // validation has said so
  const auto base = base_of(draft);
  if (!base) return;
  const auto tick = next_tick(*schedule, *zone, *base, draft.status.lastScheduleTime);
  if (!tick)
    return warn_once(
        draft, kNeverFires,
        fmt::format("schedule '{}' has no tick in the next five years", draft.spec().schedule));
  ray::remove_condition(draft.status.conditions, kNeverFires);
  if (*tick > draft.now()) return look_again_within(draft.plan, *tick - draft.now());
  const Due first{.tick = *tick};
  start(draft, only_latest_counts(draft)
                   ? latest_tick(*schedule, *zone, *base, draft.now()).value_or(first)
                   : first);
}

void plan_history(Draft& draft) {
  if (draft.settings.job_gates.cron_policies)
    for (const auto& child : beyond_limits(draft.seen.children, draft.spec())) {
      if (draft.plan.stages.empty()) draft.plan.stage();
      draft.plan.stages.front().push_back(delete_child(*child, "the history limit is reached"));
    }
  if (ended_children(draft.seen.children) > kManyChildren)
    warn_once(draft, kManyRayJobs,
              fmt::format("more than {} ended RayJobs are kept; let them delete themselves, or set "
                          "history limits (gate RayCronJobPolicies)",
                          kManyChildren));
  else
    ray::remove_condition(draft.status.conditions, kManyRayJobs);
}

void plan_all(Draft& draft) {
  const auto key = draft.cron_job().meta.key.to_string();
  if (const auto valid = validate(draft); !valid) {
    draft.plan.events.push_back(warning("InvalidRayCronJobSpec", "Validate",
                                        fmt::format("{}: {}", key, valid.error().message)));
    return give_notice(draft, kInvalid, "InvalidRayCronJobSpec", valid.error().message);
  }
  ray::remove_condition(draft.status.conditions, kInvalid);
  plan_history(draft);
  if (!ray::is_true(draft.spec().suspend)) return plan_ticks(draft);
  draft.plan.events.push_back(normal("SuspendedRayCronJob", "Suspend",
                                     "RayCronJob suspended, no new RayJobs will be created"));
}

}  // namespace

kube::Plan plan(const RayCronJobSeen& seen, const Settings& settings,
                const kube::PlanContext& context) {
  const auto& cron_job = *seen.cron_job;
  Draft draft{.seen = seen, .settings = settings, .context = context, .status = cron_job.status};
  if (cron_job.meta.deleting) return {};
  plan_all(draft);
  if (draft.status != cron_job.status)
    draft.plan.status =
        update_status(ray::kRayCronJobs, cron_job.meta, ray::part_to_json(cron_job.status),
                      ray::part_to_json(draft.status));
  return std::move(draft.plan);
}

}  // namespace manta::controllers::raycronjob
