// RayCronJob. spec/01 §6.5
#include "base/excerpt.h"
#include "ray/cron.h"
#include "ray/labels.h"
#include "ray/validation.h"
#include "ray/validation_pod.h"

#include <fmt/format.h>

namespace manta::ray {
namespace {

constexpr std::size_t kLongestSchedule = 256;  // in an error

Fault check_time_zone(const Opt<std::string>& zone,
                      const std::function<bool(std::string_view)>& zone_exists) {
  if (!zone) return {};
  if (zone->empty())
    return "timeZone must not be empty string, omit the field to use the local time zone of the "
           "KubeRay operator";
  if (*zone == "UTC" || *zone == "Local") return {};
  // Names go into file paths; these would leave the database's folder.
  if (zone->find("..") != std::string::npos || zone->starts_with('/') || zone->starts_with('\\'))
    return "invalid time zone: time: invalid location name";
  if (zone_exists(*zone)) return {};
  return "invalid time zone: unknown time zone " + *zone;
}

Fault check(std::string_view name, const RayCronJobSpec& spec, const ValidationGates& gates,
            const std::function<bool(std::string_view)>& zone_exists) {
  if (name.size() > kMaxRayCronJobName)
    return fmt::format("RayCronJob name should be no more than {} characters: got {}",
                       kMaxRayCronJobName, name.size());
  if (spec.schedule.find("TZ") != std::string::npos)
    return fmt::format("cannot use TZ or CRON_TZ in schedule, use timeZone field instead: got {:?}",
                       excerpt(spec.schedule, kLongestSchedule));
  if (const auto schedule = CronSchedule::parse(spec.schedule); !schedule)
    return "invalid cron schedule: " + schedule.error().message;
  if (auto fault = check_time_zone(spec.timeZone, zone_exists)) return fault;
  if (auto ok = validate_job_spec(spec.jobTemplate, {}, gates); !ok)
    return "invalid RayJob template: " + ok.error().message;
  return {};
}

}  // namespace

Result<void> validate_cron_job(std::string_view name, const RayCronJobSpec& spec,
                               const ValidationGates& gates,
                               const std::function<bool(std::string_view)>& zone_exists) {
  return to_result(check(name, spec, gates, zone_exists));
}

}  // namespace manta::ray
