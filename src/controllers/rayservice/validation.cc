#include "controllers/rayservice/validation.h"

#include "controllers/rayservice/queueing.h"
#include "ray/validation.h"

#include <fmt/format.h>

namespace manta::controllers::rayservice {
namespace {

// What upstream takes, and what then never works. SEEN-04, SEEN-28, SEEN-30.
std::optional<std::string> hopeless(const ray::RayService& service) {
  const auto& cluster = service.spec.rayClusterConfig;
  if (const auto twice = ray::duplicate_worker_group(cluster))
    return fmt::format(
        "spec.rayClusterConfig.workerGroupSpecs[{}].groupName {} is used by an earlier group; "
        "names "
        "must be unique",
        *twice, cluster.workerGroupSpecs[*twice].groupName);
  if (auto fault = ray::worker_group_name_fault(cluster, "spec.rayClusterConfig")) return fault;
  if (cluster.upgradeStrategy && cluster.upgradeStrategy->type)
    return fmt::format(
        "spec.rayClusterConfig.upgradeStrategy.type {} must not be set; spec.upgradeStrategy says "
        "how "
        "a RayService is upgraded",
        *cluster.upgradeStrategy->type);
  if (ray::is_true(cluster.suspend) && !is_queued(service.meta))
    return "spec.rayClusterConfig.suspend must not be true; spec.suspend suspends a RayService";
  return std::nullopt;
}

}  // namespace

std::optional<Problem> validate(const ray::RayService& service, const Settings& settings) {
  if (auto ok = ray::validate_service_metadata(service.meta); !ok)
    return Problem{"InvalidRayServiceMetadata", ok.error().message};
  if (auto ok = ray::validate_service_spec(service.spec, service.meta.annotations,
                                           validation_gates(settings));
      !ok)
    return Problem{"InvalidRayServiceSpec", ok.error().message};
  if (auto why = hopeless(service))
    return Problem{"InvalidRayServiceSpec", "The RayService spec is invalid: " + *why};
  return std::nullopt;
}

}  // namespace manta::controllers::rayservice
