// Token authentication: what tells a container that Ray asks for a token, and where that is.
// spec/03 §3.11
#pragma once

#include "base/json.h"
#include "ray/types.h"

namespace manta::ray {

/// Env and mount for one container; nothing when the cluster has no token authentication.
void add_token_auth(JsonObject& container, const RayCluster& cluster);
/// The volume behind that mount, where the token is the Pod's own (Kubernetes token review).
void add_token_volume(JsonObject& pod_spec, const RayCluster& cluster);
/// Both, for a Ray Pod: its Ray container and its wait-gcs-ready init containers.
void add_token_auth_to_pod(JsonObject& pod_spec, const RayCluster& cluster);

}  // namespace manta::ray
