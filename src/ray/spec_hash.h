// The text that spec hashes are taken over, and the hash that tells a RayCluster spec's versions
// apart. Source: spec/01 §0.1, spec/03 §8.1.
//
//   annotations[kAnnotationSpecHash] = service_hash(spec);
#pragma once

#include "ray/types.h"

#include <string>

namespace manta::ray {

/// A part as upstream's serializer writes it: declaration order, Go's escaping, canonical
/// quantities. For the same structs as part_to_json.
template <class T>
std::string canonical_text(const T& part);

/// The spec without what may change on a running cluster: upgradeStrategy, tolerations and
/// scheduling gates of the templates, replicas and their limits, workersToDelete.
RayClusterSpec without_mutable_fields(RayClusterSpec spec);

/// SHA-1 of the canonical text of without_mutable_fields(spec), 32 characters 0-9A-V.
std::string spec_hash(const RayClusterSpec& spec);

/// What the RayCluster controller stores on the head Pod: absent rayStartParams count as {}.
std::string recreate_hash(RayClusterSpec spec);

/// What RayService stores on its clusters: suspend does not count.
std::string service_hash(RayClusterSpec spec);

/// Whether the goal differs from the stored hash in nothing but worker groups added at the end.
/// `num_worker_groups`: the stored annotation; one that is no number reads as "no difference".
bool only_adds_worker_groups(std::string_view stored_hash, std::string_view num_worker_groups,
                             RayClusterSpec goal);

}  // namespace manta::ray
