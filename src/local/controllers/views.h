// What the local controllers keep of each object: small projections for kube::Cache.
#pragma once

#include "base/json.h"
#include "base/quantity.h"
#include "base/result.h"
#include "base/time.h"
#include "kube/object.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace manta::local {

/// By resource name: cpu, memory, nvidia.com/gpu, …
using Resources = std::map<std::string, Quantity, std::less<>>;

/// One container's end, as its status tells it.
struct ContainerEnd {
  std::string name = {};
  std::int64_t exit_code = 0;
  std::optional<Time> finished_at = {};
};

struct PodView {
  kube::ObjectMeta meta = {};
  std::string phase = {};  // empty reads as Pending
  std::string node_name = {};
  std::string scheduler_name = {};
  std::string pod_ip = {};
  std::string hostname = {};
  std::string subdomain = {};
  bool ready = false;                  // condition Ready
  bool gated = false;                  // spec.schedulingGates is not empty
  std::string scheduled_reason = {};   // condition PodScheduled
  std::string scheduled_message = {};  // condition PodScheduled
  std::int64_t priority = 0;
  std::int64_t restarts = 0;         // init and main containers together
  bool restarts_on_failure = false;  // restartPolicy OnFailure
  Resources requests = {};
  kube::StringMap node_selector = {};
  JsonArray node_terms = {};  // required node affinity's nodeSelectorTerms
  JsonArray tolerations = {};
  std::map<std::string, std::int64_t, std::less<>> named_ports = {};
  std::vector<ContainerEnd> ends = {};
  std::vector<std::pair<std::string, std::string>> conditions = {};  // type, status

  bool deleting() const { return meta.deleting.has_value(); }
  bool succeeded() const { return phase == "Succeeded"; }
  bool failed() const { return phase == "Failed"; }
  bool finished() const { return succeeded() || failed(); }
};

struct NodeView {
  kube::ObjectMeta meta = {};
  Resources allocatable = {};
  JsonArray taints = {};
  bool unschedulable = false;
  bool ready = false;
};

struct JobView {
  kube::ObjectMeta meta = {};
  Json spec = {};
  Json status = {};
};

struct ServiceView {
  kube::ObjectMeta meta = {};
  Json spec = {};
};

/// Endpoints and EndpointSlices: compared whole with what they should be.
struct EndpointsView {
  kube::ObjectMeta meta = {};
  Json object = {};
};

struct NamespaceView {
  kube::ObjectMeta meta = {};
};

/// Only that it is there, and for a ConfigMap what it says.
struct PlainView {
  kube::ObjectMeta meta = {};
  Json data = {};
};

Result<PodView> project_pod(const Json& object);
Result<NodeView> project_node(const Json& object);
Result<JobView> project_job(const Json& object);
Result<ServiceView> project_service(const Json& object);
Result<EndpointsView> project_endpoints(const Json& object);
Result<NamespaceView> project_namespace(const Json& object);
Result<PlainView> project_plain(const Json& object);

/// What a Pod asks of a node: its containers together, or its largest init step if that is more.
/// Source: Kubernetes, "Pod Quality of Service", effective requests with sidecars.
Resources pod_requests(const Json& pod_spec);

/// True when everything in `wanted` is in `have`, recursively; arrays must match in length. The
/// server may add defaults, which is no difference.
bool covers(const Json& have, const Json& wanted);

}  // namespace manta::local
