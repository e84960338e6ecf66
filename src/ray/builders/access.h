// What a cluster needs besides Pods and Services: rights for its autoscaler, its token, its disk.
// Source: spec/03 §9.1–9.3.
#pragma once

#include "base/json.h"
#include "ray/builders/options.h"
#include "ray/types.h"

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace manta::ray {

/// Made only where the head template names no account of its own.
Json build_autoscaler_service_account(const RayCluster& cluster);
Json build_autoscaler_role(const RayCluster& cluster, const BuildOptions& options = {});
Json build_autoscaler_role_binding(const RayCluster& cluster);

/// True when the operator makes the token itself. spec/03 §9.2
bool needs_auth_secret(const RayClusterSpec& spec);
/// `random` from a cryptographic source. Contains the token: not for logs.
Json build_auth_secret(const RayCluster& cluster, const std::array<std::uint8_t, 32>& random);

/// True when the GCS store is on a disk that the operator makes.
bool needs_gcs_claim(const RayCluster& cluster);
Json build_gcs_claim(const RayCluster& cluster);
/// How the claim that is there differs from the one wanted, for a warning; empty when it does not.
std::string gcs_claim_drift(const RayCluster& cluster, const Json& live);

}  // namespace manta::ray
