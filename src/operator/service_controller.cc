#include "operator/service_controller.h"

#include "controllers/rayservice/plan.h"
#include "operator/concerned.h"
#include "operator/seen.h"
#include "ray/labels.h"

namespace manta::operator_ {
namespace {

bool is_head(const kube::ObjectMeta* before, const kube::ObjectMeta* after) {
  return (after ? after : before)->label(ray::kLabelNodeType) == ray::kNodeTypeHead;
}

}  // namespace

kube::ControllerSpec service_controller(World& world, const controllers::Settings& settings) {
  const auto of_dependent = [&world](const kube::ObjectMeta& meta) {
    return services_of_dependent(world, meta);
  };
  const auto by_name = [&world](const kube::ObjectMeta& meta) {
    return services_by_name(world, meta);
  };
  const auto of_secret = [&world](const kube::ObjectMeta& meta) {
    return services_of_secret(world, meta);
  };
  kube::ControllerSpec spec{
      .name = "rayservice",
      .primary = ray::kRayServices,
      .plan = [&world, &settings](const kube::ObjectKey& key,
                                  const kube::PlanContext& context) -> std::optional<kube::Plan> {
        const auto seen = see_ray_service(world, key);
        if (!seen) return std::nullopt;
        if (!knows_secrets(world, *seen)) return kube::Plan();  // planned again when it does
        return controllers::rayservice::plan(*seen, settings, context);
      },
      .watches = {{.cache = &world.ray_services, .affected = kube::itself},
                  {.cache = &world.clusters, .affected = services_of_cluster},
                  {.cache = &world.services, .affected = by_name},
                  {.cache = &world.secrets.labelled, .affected = of_secret},
                  {.cache = &world.secrets.named, .affected = of_secret},
                  {.cache = &world.pods, .affected = of_dependent, .matters = is_head},
                  {.cache = &world.endpoint_slices,
                   .affected =
                       [&world](const kube::ObjectMeta& meta) {
                         return services_of_slice(world, meta);
                       }}},
  };
  if (world.gateways) spec.watches.push_back({.cache = &*world.gateways, .affected = by_name});
  if (world.http_routes)
    spec.watches.push_back({.cache = &*world.http_routes, .affected = by_name});
  return spec;
}

}  // namespace manta::operator_
