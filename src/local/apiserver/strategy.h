// What single kinds do differently from the rest: their defaults, checks, and rules about updates
// and deletion. Everything common is in rest_*.cc.
#pragma once

#include "base/json.h"
#include "local/apiserver/field_errors.h"

#include <string_view>

namespace manta::local {

class Rest;
struct Kind;

struct Strategy {
  std::string_view group = {};
  std::string_view plural = {};
  bool generation = false;           // metadata.generation counts changes of the spec
  bool unconditional_update = true;  // an update without resourceVersion is let through
  bool create_on_update = false;     // PUT of a missing object makes it
  bool returns_deleted = false;      // DELETE answers with the object, not a Status
  bool name_is_label = false;        // names are DNS labels (else subdomains, or see free_name)
  bool free_name = false;            // RBAC: names may be nearly anything
  /// Fills in what the user left out; also on updates, before the checks.
  void (*defaults)(Json& object) = nullptr;
  /// Values that depend on the cluster's state (cluster IPs, priorities). May refuse.
  Result<void> (*prepare_create)(Rest& rest, const Kind& kind, Json& object) = nullptr;
  void (*prepare_update)(Rest& rest, Json& object, const Json& old) = nullptr;
  void (*validate)(const Json& object, FieldErrors& errors) = nullptr;
  void (*validate_update)(const Json& object, const Json& old, FieldErrors& errors) = nullptr;
};

/// The strategy of a built-in resource, and the one for custom resources.
const Strategy* find_strategy(std::string_view group, std::string_view plural);
const Strategy* custom_strategy();

// By area, in strategy_*.cc.
void default_pod(Json& pod);
void default_pod_template(Json& template_);
void validate_pod(const Json& pod, FieldErrors& errors);
void validate_pod_spec(const Json& spec, std::string path, FieldErrors& errors);
void validate_pod_update(const Json& pod, const Json& old, FieldErrors& errors);
Result<void> prepare_pod(Rest& rest, const Kind& kind, Json& pod);
void prepare_pod_update(Rest& rest, Json& pod, const Json& old);

void default_service(Json& service);
Result<void> prepare_service(Rest& rest, const Kind& kind, Json& service);
void prepare_service_update(Rest& rest, Json& service, const Json& old);
void validate_service(const Json& service, FieldErrors& errors);
void validate_service_update(const Json& service, const Json& old, FieldErrors& errors);

void default_job(Json& job);
Result<void> prepare_job(Rest& rest, const Kind& kind, Json& job);
void validate_job(const Json& job, FieldErrors& errors);
void validate_job_update(const Json& job, const Json& old, FieldErrors& errors);
void default_cron_job(Json& job);
void default_deployment(Json& deployment);
void default_replica_set(Json& set);
void default_stateful_set(Json& set);
void default_daemon_set(Json& set);
void validate_workload(const Json& workload, FieldErrors& errors);
void validate_selector_update(const Json& workload, const Json& old, FieldErrors& errors);

void default_secret(Json& secret);
void validate_secret(const Json& secret, FieldErrors& errors);
void validate_secret_update(const Json& secret, const Json& old, FieldErrors& errors);
void validate_config_map(const Json& map, FieldErrors& errors);
void validate_config_map_update(const Json& map, const Json& old, FieldErrors& errors);
void default_claim(Json& claim);
/// Keeps a claim while a Pod uses it.
inline constexpr std::string_view kClaimProtection = "kubernetes.io/pvc-protection";
Result<void> prepare_claim(Rest& rest, const Kind& kind, Json& claim);
void validate_claim(const Json& claim, FieldErrors& errors);
Result<void> prepare_namespace(Rest& rest, const Kind& kind, Json& namespace_);
void default_network_policy(Json& policy);
void default_ingress(Json& ingress);
void validate_ingress(const Json& ingress, FieldErrors& errors);
void default_role_binding(Json& binding);
void validate_role_binding(const Json& binding, FieldErrors& errors);
void validate_role_binding_update(const Json& binding, const Json& old, FieldErrors& errors);
void default_endpoints(Json& endpoints);
void default_endpoint_slice(Json& slice);
void validate_endpoint_slice(const Json& slice, FieldErrors& errors);
void default_priority_class(Json& priority_class);
void default_storage_class(Json& storage_class);
void default_node(Json& node);
void default_autoscaler(Json& scaler);
void default_disruption_budget(Json& budget);
void default_resource_quota(Json& quota);
void default_limit_range(Json& range);
void validate_new_event(const Json& event, FieldErrors& errors);
/// Refuses what a LimitRange of the Pod's namespace forbids, after filling in its defaults.
Result<void> apply_limit_ranges(Rest& rest, const Kind& kind, Json& pod);
/// Gives the Pod its ServiceAccount and the token of it, where the server's options say so.
Result<void> apply_service_account(Rest& rest, Json& pod);
void default_crd(Json& crd);
Result<void> prepare_crd(Rest& rest, const Kind& kind, Json& crd);
void prepare_crd_update(Rest& rest, Json& crd, const Json& old);
void validate_crd(const Json& crd, FieldErrors& errors);
void validate_crd_update(const Json& crd, const Json& old, FieldErrors& errors);

}  // namespace manta::local
