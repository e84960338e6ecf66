// Mutual TLS between a cluster's Pods: certificates in a Secret, and an init container that waits
// until the certificate names the Pod's address. spec/03 §3.12
#pragma once

#include "base/json.h"
#include "ray/builders/start_params.h"
#include "ray/types.h"

namespace manta::ray {

/// Env and mount for one container.
void add_tls(JsonObject& container);
/// The volume, the waiting init container, and add_tls for the Ray and wait-gcs-ready containers.
void add_tls_to_pod(JsonObject& pod_spec, const RayCluster& cluster, RayNode node);

}  // namespace manta::ray
