// What the node reads from a Pod, with the API's defaults filled in. The document itself is kept:
// env and volumes are read from it where they are used.
#pragma once

#include "base/json.h"
#include "base/result.h"
#include "base/time.h"
#include "kube/object.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace manta::local {

enum class RestartPolicy { Always, OnFailure, Never };
/// Sidecar: an init container with restartPolicy Always.
enum class ContainerKind { Init, Sidecar, Main };

/// What a probe or a lifecycle hook does.
struct Handler {
  enum class Kind { None, Exec, Http, Tcp, Grpc, Sleep };
  Kind kind = Kind::None;
  std::vector<std::string> command = {};
  std::string host = {};  // empty: the Pod's address
  int port = 0;
  std::string path = "/";
  bool https = false;
  std::vector<std::pair<std::string, std::string>> headers = {};
  std::int64_t sleep_seconds = 0;
};

struct ProbeSpec {
  Handler handler = {};
  Duration initial_delay = {};
  Duration timeout = std::chrono::seconds{1};
  Duration period = std::chrono::seconds{10};
  int success_threshold = 1;
  int failure_threshold = 3;
  std::optional<std::int64_t> termination_grace_seconds = {};
};

struct Resources {
  std::optional<std::int64_t> cpu_request_milli = {}, cpu_limit_milli = {};
  std::optional<std::int64_t> memory_request = {}, memory_limit = {};  // bytes
};

struct ContainerSpec {
  std::string name = {};
  std::string image = {};
  ContainerKind kind = ContainerKind::Main;
  std::vector<std::string> command = {};
  std::vector<std::string> args = {};
  std::string working_dir = {};
  std::string pull_policy = {};
  Resources resources = {};
  std::optional<ProbeSpec> startup = {}, liveness = {}, readiness = {};
  Handler post_start = {};
  Handler pre_stop = {};
  std::string termination_path = "/dev/termination-log";
  bool message_from_logs = false;  // terminationMessagePolicy: FallbackToLogsOnError
  bool tty = false;
  const Json* document = nullptr;  // the container in the Pod's document
};

struct PodSpec {
  std::shared_ptr<const Json> document = {};
  kube::ObjectMeta meta = {};
  RestartPolicy restart_policy = RestartPolicy::Always;
  std::vector<ContainerSpec> containers = {};  // init containers (and sidecars) first, in order
  std::int64_t grace_seconds = 30;
  std::optional<std::int64_t> active_deadline_seconds = {};
  bool host_network = false;
  bool host_pid = false;
  std::string hostname = {};
  std::string subdomain = {};
  std::string service_account = "default";
  std::string node_name = {};

  const ContainerSpec* container(std::string_view name) const;
};

/// Fails on a Pod that no node could run, naming the field.
Result<PodSpec> parse_pod(std::shared_ptr<const Json> document);

/// Guaranteed, Burstable or BestEffort. Source: Kubernetes, "Pod Quality of Service Classes".
std::string_view qos_class(const PodSpec& pod);
/// As the kubelet sets it: Guaranteed -997, BestEffort 1000, else by the share of memory asked for.
int oom_score_adj(const PodSpec& pod, const ContainerSpec& container, std::int64_t node_memory);
/// Whether a container that ended with this code is started again, by the Pod's policy and its
/// kind.
bool restarts_after(const PodSpec& pod, const ContainerSpec& container, int exit_code);

}  // namespace manta::local
