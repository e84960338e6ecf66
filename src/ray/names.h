// What the operator calls the objects it makes. Formats are KubeRay's, byte for byte: users,
// dashboards and other tools look objects up by them. Source: spec/03 §2.
#pragma once

#include <string>
#include <string_view>

namespace manta::ray {

/// The last 50 bytes; a leading digit or punctuation becomes 'r'. Accounts, roles, Ingresses,
/// Secrets. An empty name stays empty.
std::string check_name(std::string_view name);
/// As long at most, but two long names that end alike stay two: a digest takes the place of what is
/// cut off.
std::string distinct_name(std::string_view name);
/// The last 63 bytes; leading punctuation becomes 'r'. Label values and Job names.
std::string check_label(std::string_view value);
/// OpenShift Routes: the first bytes that leave a host label room for the namespace (51 in all),
/// then as check_name. A namespace that leaves no room is not counted.
std::string check_route_name(std::string_view name, std::string_view namespace_);

/// "<first 50 bytes of prefix>-head" / "…-worker", in lower case.
std::string head_pod_name(std::string_view cluster);
/// The same with a trailing '-', for metadata.generateName.
std::string head_pod_prefix(std::string_view cluster);
std::string worker_pod_prefix(std::string_view cluster, std::string_view group);

/// For a RayCluster without a name of its own in headService, a RayJob or a RayService.
std::string default_head_service_name(std::string_view owner);
std::string default_serve_service_name(std::string_view owner);
std::string headless_service_name(std::string_view cluster);
std::string head_ingress_name(std::string_view cluster);
std::string head_route_name(std::string_view cluster, std::string_view namespace_);
std::string redis_cleanup_job_name(std::string_view cluster);
std::string gcs_claim_name(std::string_view cluster);
std::string head_network_policy_name(std::string_view cluster);
std::string worker_network_policy_name(std::string_view cluster, std::string_view group);
std::string gateway_name(std::string_view ray_service);
std::string http_route_name(std::string_view ray_service);

std::string self_signed_issuer_name(std::string_view cluster);
std::string ca_issuer_name(std::string_view cluster);
std::string ca_certificate_name(std::string_view cluster);
std::string head_certificate_name(std::string_view cluster);
std::string worker_certificate_name(std::string_view cluster);
/// Carries the first 8 characters of the cluster's uid: a namesake made later must not trust it.
std::string ca_secret_name(std::string_view cluster, std::string_view uid);
std::string head_tls_secret_name(std::string_view cluster);
std::string worker_tls_secret_name(std::string_view cluster);

/// "<service>.<namespace>.svc.<domain>".
std::string service_host(std::string_view service, std::string_view namespace_,
                         std::string_view domain);

}  // namespace manta::ray
