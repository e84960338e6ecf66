// Projections: what decisions need of the built-in objects, a few hundred bytes each. A
// Cache<PodView> holds these instead of whole objects (ARCHITECTURE.md, decision 3).
//
//   Cache<PodView> pods(kPods, project_pod, {.label_selector = "ray.io/node-type=head"});
//
// A projection fails only on an object that no Kubernetes API server would serve (no name); fields
// of a wrong type read as absent.
#pragma once

#include "base/json.h"
#include "kube/object.h"

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace manta::kube {

enum class PodPhase { None, Pending, Running, Succeeded, Failed, Unknown };  // None: not set yet
std::string_view to_string(PodPhase phase);  // as on the wire; None is ""

enum class RestartPolicy { Always, OnFailure, Never };
std::string_view to_string(RestartPolicy policy);

struct TerminatedState {
  std::int32_t exitCode = 0;
  std::int32_t signal = 0;
  std::string reason = {};
  std::string message = {};
  std::string startedAt = {};  // as sent, RFC 3339
  std::string finishedAt = {};
  std::string containerID = {};
  bool operator==(const TerminatedState&) const = default;
};

struct WaitingState {
  std::string reason = {};
  std::string message = {};
  bool operator==(const WaitingState&) const = default;
};

struct ContainerStatusView {
  std::string name = {};
  std::int32_t restartCount = 0;
  // Pointers: most containers simply run, and a cache holds many Pods.
  std::shared_ptr<const WaitingState> waiting = {};
  std::shared_ptr<const TerminatedState> terminated = {};
  std::shared_ptr<const TerminatedState> last_terminated = {};  // lastState.terminated
};

struct ConditionView {
  std::string type = {};
  std::string status = {};  // True, False, Unknown
  std::string reason = {};
  std::string message = {};
  std::optional<Time> lastTransitionTime = {};
};

struct PodView {
  ObjectMeta meta = {};  // with annotations
  PodPhase phase = PodPhase::None;
  RestartPolicy restartPolicy = RestartPolicy::Always;
  std::string podIP = {};
  std::string nodeName = {};
  std::string first_container = {};                         // spec.containers[0].name
  std::optional<ConditionView> ready = {};                  // condition Ready
  std::vector<ContainerStatusView> containerStatuses = {};  // in the order sent
  /// Why it does not run, in the scheduler's or the node's words, at most 512 bytes; null: nobody
  /// has complained. Of a Pod that is only being started there is nothing to say.
  std::shared_ptr<const std::string> trouble = {};

  bool is_ready() const { return ready && ready->status == "True"; }
  const ContainerStatusView* container(std::string_view name) const;
};
Result<PodView> project_pod(const Json& object);

struct ServicePortView {
  std::string name = {};
  std::int32_t port = 0;
  std::int32_t nodePort = 0;
  std::string targetPort = {};  // number or name; empty when absent
};

struct JobView {
  ObjectMeta meta = {};
  std::vector<ConditionView> conditions = {};

  /// A condition of this type with status True, or null.
  const ConditionView* true_condition(std::string_view type) const;
};
Result<JobView> project_job(const Json& object);

/// Which keys a Secret has; of its data only Ray's token is kept.
struct SecretView {
  ObjectMeta meta = {};
  std::vector<std::string> keys = {};
  std::optional<std::string> auth_token = {};  // data.auth_token, decoded

  bool has(std::string_view key) const;
};
Result<SecretView> project_secret(const Json& object);

/// Objects of which only existence, labels and owners count.
struct MetaView {
  ObjectMeta meta = {};
};
Result<MetaView> project_meta(const Json& object);

/// Objects that are compared as a whole: Ingresses, claims, NetworkPolicies, PodGroups.
struct SpecView {
  ObjectMeta meta = {};  // with annotations
  Json spec = {};
  Json status = {};
};
Result<SpecView> project_spec(const Json& object);

struct ServiceView {
  ObjectMeta meta = {};
  std::string type = {};
  std::string clusterIP = {};  // "None" when headless
  std::string loadBalancerClass = {};
  StringMap selector = {};
  std::vector<ServicePortView> ports = {};
  /// All of it, for who has to compare it; null: this projection keeps none.
  std::shared_ptr<const SpecView> whole = {};
};
Result<ServiceView> project_service(const Json& object);

/// The conditions of a status object, in the order sent.
std::vector<ConditionView> parse_conditions(const Json& status);

}  // namespace manta::kube
