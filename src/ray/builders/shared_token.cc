#include "ray/builders/shared_token.h"

#include "base/hash.h"
#include "ray/builders/access.h"
#include "ray/builders/cluster_facts.h"
#include "ray/labels.h"

#include <fmt/format.h>

namespace manta::ray {
namespace {

std::string secret_of(const RayCluster& cluster) {
  const auto& auth = cluster.spec.authOptions;
  return auth ? auth->secretName.value_or("") : std::string();
}

}  // namespace

std::string shared_token_name(std::string_view ray_service) {
  return fmt::format("{}-auth-token", ray_service);
}

void share_token(Json& cluster, const RayService& service) {
  const auto& spec = service.spec.rayClusterConfig;
  if (token_auth_enabled(spec) && needs_auth_secret(spec))
    ensure(cluster, {"spec", "authOptions", "secretName"}) =
        shared_token_name(service.meta.key.name);
}

void keep_token(Json& cluster, const RayCluster& live) {
  auto* auth = cluster.as_object()["spec"].as_object().if_contains("authOptions");
  if (!auth || !auth->is_object()) return;
  const auto* owner = live.meta.controller_owner();
  const auto shared = owner ? shared_token_name(owner->name) : std::string();
  if (secret_of(live) == shared)
    auth->get_object()["secretName"] = shared;
  else if (secret_of(live).empty() && string_at(*auth, {"secretName"}) == shared)
    auth->get_object().erase("secretName");
}

const kube::OwnerRef* token_sharer(const RayCluster& cluster) {
  const auto* owner = cluster.meta.controller_owner();
  if (!owner || owner->kind != kKindRayService || !token_auth_enabled(cluster.spec)) return nullptr;
  return secret_of(cluster) == shared_token_name(owner->name) ? owner : nullptr;
}

Json build_shared_token(const RayCluster& cluster, const kube::OwnerRef& sharer,
                        const std::array<std::uint8_t, 32>& random) {
  const std::string bytes(random.begin(), random.end());
  return {{"apiVersion", "v1"},
          {"kind", "Secret"},
          {"metadata",
           {{"name", shared_token_name(sharer.name)},
            {"namespace", cluster.meta.key.namespace_},
            {"labels", {{kLabelOriginCrName, sharer.name}, {kLabelOriginCrd, sharer.kind}}},
            {"ownerReferences", JsonArray{kube::to_json(sharer)}}}},
          {"stringData", {{kAuthTokenKey, base64_encode(bytes)}}}};
}

}  // namespace manta::ray
