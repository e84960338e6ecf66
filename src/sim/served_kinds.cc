#include "sim/served_kinds.h"

#include "base/text.h"
#include "controllers/rayservice/gateway_api.h"
#include "ray/crd.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace manta::sim {
Json foreign_crd(const kube::Resource& resource) {
  const auto singular = lower_case(resource.kind);
  const Json schema{{"type", "object"}, {"x-kubernetes-preserve-unknown-fields", true}};
  const Json version{{"name", resource.version},
                     {"served", true},
                     {"storage", true},
                     {"schema", {{"openAPIV3Schema", schema}}},
                     {"subresources", {{"status", JsonObject{}}}}};
  return {{"apiVersion", "apiextensions.k8s.io/v1"},
          {"kind", "CustomResourceDefinition"},
          {"metadata", {{"name", resource.plural + "." + resource.group}}},
          {"spec",
           {{"group", resource.group},
            {"scope", "Namespaced"},
            {"names",
             {{"plural", resource.plural},
              {"singular", singular},
              {"kind", resource.kind},
              {"listKind", resource.kind + "List"}}},
            {"versions", JsonArray{version}}}}};
}

namespace {

std::shared_ptr<const local::SharedTypes> compile(bool gateway_api) {
  std::vector<Json> crds;
  for (auto& crd : ray::ray_crds()) crds.push_back(std::move(crd.object));
  if (gateway_api)
    for (const auto* resource :
         {&controllers::rayservice::kGateways, &controllers::rayservice::kHttpRoutes})
      crds.push_back(foreign_crd(*resource));
  return std::make_shared<const local::SharedTypes>(crds);
}

}  // namespace

std::shared_ptr<const local::SharedTypes> served_kinds(bool gateway_api) {
  static const auto kRay = compile(false);
  static const auto kWithGateways = compile(true);
  return gateway_api ? kWithGateways : kRay;
}

}  // namespace manta::sim
