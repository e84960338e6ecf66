#include "controllers/rayservice/seen.h"

#include "ray/names.h"

namespace manta::controllers::rayservice {

bool is_incremental(const ray::RayServiceSpec& spec, const Settings& settings) {
  return settings.incremental_upgrade && spec.upgradeStrategy &&
         spec.upgradeStrategy->type == kIncremental;
}

bool may_replace(const ray::RayServiceSpec& spec, const Settings& settings) {
  // Chosen by the user, the environment has no say.
  if (spec.upgradeStrategy && spec.upgradeStrategy->type) {
    const auto& type = *spec.upgradeStrategy->type;
    return type == "NewCluster" || (type == kIncremental && settings.incremental_upgrade);
  }
  return settings.zero_downtime;
}

std::string serve_service_name(const ray::RayService& service) {
  const auto named = string_at(service.spec.serveService, {"metadata", "name"});
  return named.empty() ? ray::default_serve_service_name(service.meta.key.name)
                       : std::string(named);
}

}  // namespace manta::controllers::rayservice
