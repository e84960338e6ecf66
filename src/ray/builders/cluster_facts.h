// What a RayCluster's spec, labels and annotations say, as the builders ask it.
#pragma once

#include "base/json.h"
#include "ray/builders/options.h"
#include "ray/types.h"

#include <string>
#include <string_view>

namespace manta::ray {

/// The name in headService, else "<cluster>-head-svc".
std::string head_service_name(const RayCluster& cluster);
/// Where the head is found in DNS, before and after its Pod is replaced.
std::string head_host(const RayCluster& cluster, const BuildOptions& options);
/// "<head_host>:<head's port>".
std::string gcs_address(const RayCluster& cluster, const BuildOptions& options);

/// RayCluster, RayJob or RayService: whose the cluster is, by label.
std::string_view creator_kind(const RayCluster& cluster);
bool made_by_ray_service(const RayCluster& cluster);

bool autoscaling_enabled(const RayClusterSpec& spec);

enum class GcsStore { None, Redis, RocksDb };
/// Where GCS keeps its state across head restarts. By options, or by annotation.
GcsStore gcs_store(const RayCluster& cluster);
/// The PersistentVolumeClaim of the RocksDb store: the user's, or the one the operator makes.
std::string gcs_claim_name(const RayCluster& cluster);

/// Only the mode "token" turns authentication on.
bool token_auth_enabled(const RayClusterSpec& spec);
bool kubernetes_token_auth(const RayClusterSpec& spec);
/// What the operator calls the ServiceAccount, Role, RoleBinding and token Secret that it makes.
std::string access_name(const RayCluster& cluster);
/// The Secret with the token: the user's, or the one the operator makes.
std::string auth_secret_name(const RayCluster& cluster);

bool mtls_enabled(const RayClusterSpec& spec, const BuildOptions& options);
/// The history collector to run beside Ray, or null.
const CollectorOptions* collector_options(const RayClusterSpec& spec, const BuildOptions& options);

/// The group's parameters; none reads as empty.
const StringMap& start_params(const HeadGroupSpec& group);
const StringMap& start_params(const WorkerGroupSpec& group);

/// A controller reference: one owner, which waits for its dependents when deleted in foreground.
Json owner_json(const kube::ObjectMeta& owner, std::string_view kind);
/// app.kubernetes.io/name and /created-by, ray.io/cluster.
StringMap cluster_labels(const RayCluster& cluster);

/// Text equals "true", whatever the case of its letters.
bool is_true_text(std::string_view text);

}  // namespace manta::ray
