#include "controllers/raycronjob/plan.h"

#include "controllers/writes.h"
#include "ray/builders/children.h"
#include "ray/cron.h"
#include "ray/validation.h"

#include <fmt/format.h>

namespace manta::controllers::raycronjob {
namespace {

std::optional<ray::ZoneOffset> zone_of(const ray::RayCronJobSpec& spec, const Settings& settings) {
  return settings.zones ? settings.zones(spec.timeZone.value_or("Local")) : std::nullopt;
}

}  // namespace

kube::Plan plan(const RayCronJobSeen& seen, const Settings& settings,
                const kube::PlanContext& context) {
  kube::Plan plan;
  const auto& cron_job = *seen.cron_job;
  const auto& key = cron_job.meta.key;
  if (cron_job.meta.deleting) return plan;
  const auto valid = ray::validate_cron_job(
      key.name, cron_job.spec, validation_gates(settings),
      [&](std::string_view name) { return settings.zones && settings.zones(name).has_value(); });
  if (!valid) {
    plan.events.push_back(warning("InvalidRayCronJobSpec", "Validate",
                                  fmt::format("{}: {}", key.to_string(), valid.error().message)));
    return plan;
  }
  if (ray::is_true(cron_job.spec.suspend)) {
    plan.events.push_back(normal("SuspendedRayCronJob", "Suspend",
                                 "RayCronJob suspended, no new RayJobs will be created"));
    return plan;
  }
  const auto schedule = ray::CronSchedule::parse(cron_job.spec.schedule);
  const auto zone = zone_of(cron_job.spec, settings);
  if (!schedule || !zone) return plan;  // validation has said so
  const auto tick =
      schedule->next(cron_job.status.lastScheduleTime.value_or(cron_job.meta.created), *zone);
  if (!tick) return plan;  // never: CJ-04
  if (*tick > context.now) {
    plan.look_again = *tick - context.now;
    return plan;
  }
  auto job = ray::build_job_for_cron_job(cron_job, *tick);
  if (!seen.has_job(kube::key_of(job))) {
    auto write = create(ray::kRayJobs, std::move(job), "job");
    write.tolerate = {ErrorCode::AlreadyExists};
    write.why = "its tick has come";
    plan.stage().push_back(std::move(write));
  }
  auto status = cron_job.status;
  status.lastScheduleTime = *tick;
  plan.status = update_status(ray::kRayCronJobs, cron_job.meta, ray::part_to_json(status));
  return plan;
}

}  // namespace manta::controllers::raycronjob
