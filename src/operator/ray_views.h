// What is held of RayClusters, and of the Pods and Services of Ray.
#pragma once

#include "kube/views.h"
#include "ray/types.h"

namespace manta::operator_ {

Result<ray::RayCluster> project_cluster(const Json& object);
Result<ray::RayJob> project_job(const Json& object);
/// Of a RayCluster, who else applies `replicas`. AS-01
Result<ray::RayCluster> project_cluster_with_owner(const Json& object);

/// Head Services whole, which are held to later edits. RC-23, RS-27
Result<kube::ServiceView> project_whole_service(const Json& object);

/// Of a Pod's labels and annotations only Ray's own decide anything; thousands of Pods are held.
Result<kube::PodView> project_ray_pod(const Json& object);
/// A Pod that an admission controller such as Kueue holds back has nobody's complaint. AS-07, BS-08
Result<kube::PodView> project_gated_pod(const Json& object);

}  // namespace manta::operator_
