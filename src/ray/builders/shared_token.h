// One token for all clusters of a RayService: with its gate. Without it each cluster has a token of
// its own, unless the spec names a Secret, so a client's token ends with an upgrade. SEC-08
//
// The Secret belongs to the RayService and is the clusters' by authOptions.secretName, as one that
// a user made. A token is changed by deleting it and starting an upgrade: the old cluster's Pods
// keep what they were started with.
#pragma once

#include "base/json.h"
#include "ray/types.h"

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace manta::ray {

std::string shared_token_name(std::string_view ray_service);

/// Makes a new cluster of this RayService one that shares its token. Nothing where the spec asks
/// for no token, or names the Secret.
void share_token(Json& cluster, const RayService& service);
/// A cluster that is there keeps the token that its Pods have, whatever the gate says by now.
void keep_token(Json& cluster, const RayCluster& live);

/// The RayService whose token this cluster shares, or null.
const kube::OwnerRef* token_sharer(const RayCluster& cluster);
Json build_shared_token(const RayCluster& cluster, const kube::OwnerRef& sharer,
                        const std::array<std::uint8_t, 32>& random);

}  // namespace manta::ray
