#include "ray/builders/auth.h"

#include "ray/builders/cluster_facts.h"
#include "ray/builders/edit.h"
#include "ray/labels.h"

namespace manta::ray {

void add_token_auth(JsonObject& container, const RayCluster& cluster) {
  if (!token_auth_enabled(cluster.spec)) return;
  default_env(container, kEnvAuthMode, "token");
  if (kubernetes_token_auth(cluster.spec)) {
    default_env(container, kEnvK8sTokenAuth, "true");
    if (!mounts_volume(container, kVolumeToken))
      append_mount(container, kVolumeToken, kPathToken, /*read_only=*/true);
    return;
  }
  if (has_env(container, kEnvAuthToken)) return;
  JsonObject secret{{"name", auth_secret_name(cluster)}, {"key", kAuthTokenKey}};
  array_in(container, "env")
      .push_back(JsonObject{{"name", kEnvAuthToken},
                            {"valueFrom", JsonObject{{"secretKeyRef", std::move(secret)}}}});
}

void add_token_volume(JsonObject& pod_spec, const RayCluster& cluster) {
  if (!token_auth_enabled(cluster.spec) || !kubernetes_token_auth(cluster.spec)) return;
  JsonObject source{{"serviceAccountToken", JsonObject{{"path", "token"}}}};
  JsonArray sources;
  sources.push_back(std::move(source));
  default_volume(pod_spec, JsonObject{{"name", kVolumeToken},
                                      {"projected", JsonObject{{"sources", std::move(sources)}}}});
}

void add_token_auth_to_pod(JsonObject& pod_spec, const RayCluster& cluster) {
  if (!token_auth_enabled(cluster.spec)) return;
  add_token_auth(ray_container(pod_spec), cluster);
  if (pod_spec.contains("initContainers"))
    for (Json& init : array_in(pod_spec, "initContainers"))
      if (init.is_object() && text_in(init.get_object(), "name") == kContainerWaitGcs)
        add_token_auth(init.get_object(), cluster);
  add_token_volume(pod_spec, cluster);
}

}  // namespace manta::ray
