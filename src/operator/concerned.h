// Which objects a change of another concerns: whom to plan again.
#pragma once

#include "operator/world.h"

#include <vector>

namespace manta::operator_ {

/// Whether a RayService made it, by its labels.
bool made_for_service(const kube::ObjectMeta& meta);

/// Which RayServices a changed object concerns: one of their clusters; what they or their clusters
/// own; the endpoints of one of their Services.
std::vector<kube::ObjectKey> services_of_cluster(const kube::ObjectMeta& cluster);
std::vector<kube::ObjectKey> services_of_dependent(const World& world,
                                                   const kube::ObjectMeta& dependent);
/// The same, and whose object is to stand where this one does, whoever made it: when it goes or
/// becomes what is waited for, nobody else would say so.
std::vector<kube::ObjectKey> services_by_name(const World& world,
                                              const kube::ObjectMeta& dependent);
std::vector<kube::ObjectKey> services_of_slice(const World& world, const kube::ObjectMeta& slice);

/// Which RayClusters and RayJobs a changed object concerns.
std::vector<kube::ObjectKey> clusters_of(const kube::ObjectMeta& dependent);
/// The same, and whose object is to stand where this one does. RC-26
std::vector<kube::ObjectKey> clusters_by_name(const World& world,
                                              const kube::ObjectMeta& dependent);
std::vector<kube::ObjectKey> clusters_using_account(const World& world,
                                                    const kube::ObjectMeta& account);
std::vector<kube::ObjectKey> jobs_of_cluster(const World& world, const kube::ObjectMeta& cluster);
/// By owner, or by the name that a PodGroup or Workload not ours keeps from them.
std::vector<kube::ObjectKey> owners_of_gang(const World& world, const kube::Resource& owner,
                                            const kube::ObjectMeta& pod_group);
/// Of a Pod or Service of a RayCluster.
std::vector<kube::ObjectKey> jobs_of_dependent(const World& world,
                                               const kube::ObjectMeta& dependent);
/// The RayJob that made the Pod's cluster, while it is Initializing. Every Pod's every change asks
/// this, so it looks at nothing but owners.
std::vector<kube::ObjectKey> jobs_waiting_for(const World& world, const kube::ObjectMeta& pod);
/// Whose clusters want a Secret.
std::vector<kube::ObjectKey> clusters_of_secret(const World& world, const kube::ObjectMeta& secret);
std::vector<kube::ObjectKey> jobs_of_secret(const World& world, const kube::ObjectMeta& secret);
std::vector<kube::ObjectKey> services_of_secret(const World& world, const kube::ObjectMeta& secret);
/// Of a submitter Pod.
std::vector<kube::ObjectKey> job_of_submitter(const kube::ObjectMeta& pod);

}  // namespace manta::operator_
