// One Pod's life on this node: acts on lifecycle.h's decisions, keeps the API's status true, and
// ends with the Pod's last DELETE.
//
//   PodWorker worker(context, pod);
//   co_await worker.run(stop);   // ends when the Pod is gone, or the node stops
//
// pod_worker.cc: the loop, status and deletion. pod_sandbox.cc: network and volumes.
// pod_container.cc: containers from preparation to end. pod_probes.cc: probes and hooks.
#pragma once

#include "base/asio_loop.h"
#include "base/async.h"
#include "base/random.h"
#include "kube/api.h"
#include "kube/events.h"
#include "local/node/cgroups.h"
#include "local/node/commands.h"
#include "local/node/image_root.h"
#include "local/node/lifecycle.h"
#include "local/node/network.h"
#include "local/node/node_options.h"
#include "local/node/oom_watch.h"
#include "local/node/probe_state.h"
#include "local/node/services.h"
#include "local/node/status.h"
#include "local/node/volumes.h"

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace manta::local {

/// What the workers of a node share; outlives them.
struct NodeContext {
  AsioLoop& loop;
  kube::Api& api;
  ImageStore& images;
  kube::EventRecorder& events;
  Random& random;
  NodeOptions options;
  Helpers helpers;
  Cgroups cgroups;
  std::optional<PodNetwork> network = {};
  NodeFacts facts = {};
  std::string host_network_ip = {};
  std::string name_server = {};  // of Pods; empty: names outside do not resolve
  std::function<std::vector<ServiceEnv>(std::string_view)> services = {};
  std::function<std::vector<HostsEntry>(std::string_view)> hosts = {};

  std::string pod_folder(const std::string& uid) const {
    return options.state_folder + "/pods/" + uid;
  }
};

/// One run of a container.
struct ContainerInstance {
  std::shared_ptr<HelperProcess> helper = {};
  std::shared_ptr<ContainerLog> log = {};
  ContainerEntry entry = {};
  Cgroup cgroup = {};
  std::unique_ptr<OomWatch> oom = {};
  std::string folder = {};
  std::string message_file = {};
  std::stop_source probes = {};
  bool live = true;
};

class PodWorker {
 public:
  PodWorker(NodeContext& node, std::shared_ptr<const PodSpec> spec);
  PodWorker(const PodWorker&) = delete;
  PodWorker& operator=(const PodWorker&) = delete;

  /// `stop`: the node stops; containers are ended, the API's Pod stays.
  Task<void> run(std::stop_token stop);
  /// A newer version of the same Pod (labels, deletion, others' conditions).
  void update(std::shared_ptr<const PodSpec> spec);
  /// The Pod has vanished from the API: end everything soon.
  void gone();
  /// Services have changed.
  void refresh_hosts();

  const PodSpec& spec() const { return *spec_; }
  bool ended() const { return ended_; }

  // For PodBackend.
  Result<ContainerEntry> entry(const std::string& container) const;
  struct LogPlace {
    std::string path = {};
    std::shared_ptr<ContainerLog> live = {};
  };
  Result<LogPlace> log_place(const std::string& container, bool previous) const;
  /// 0 under hostNetwork. Unavailable while there is no sandbox.
  Result<std::int64_t> sandbox_pid() const;

 private:
  /// Why a container cannot be started now: shown as its waiting state, tried again later.
  struct Problem {
    std::string reason = {};
    std::string message = {};
    Duration retry = std::chrono::seconds{2};
  };
  using Spec = std::shared_ptr<const PodSpec>;

  // pod_worker.cc
  void step(Time now);
  void poke();
  void check_deadline(Time now);
  void publish();
  Task<void> publish_loop();
  Task<Result<void>> patch_status(Json status);
  Task<void> end_in_api();
  void event(kube::EventType type, std::string_view reason, std::string note);
  bool stopping() const {
    return spec_->meta.deleting || gone_ || node_stops_ || !facts_.reason.empty();
  }
  Duration stop_grace() const;

  // pod_sandbox.cc
  Task<void> set_up_sandbox();
  Task<std::optional<Problem>> try_sandbox();
  Task<std::optional<Problem>> prepare_volumes(Spec spec);
  Task<std::optional<Problem>> write_files_volumes(Spec spec);
  Task<Result<void>> fetch_objects(PodObjects& objects);
  Task<Result<void>> fetch_tokens(Spec spec);
  Task<void> refresh_volumes();
  Task<void> tear_down_sandbox();
  std::string volume_path(std::string_view name) const;
  std::vector<std::string> own_names() const;
  std::string resolver_file() const;
  void write_resolver_file() const;

  // pod_container.cc
  Task<void> run_container(std::size_t index);
  Task<std::optional<Problem>> prepare(Spec spec, std::size_t index,
                                       std::shared_ptr<ContainerInstance> instance,
                                       HelperSpec& helper);
  Task<void> watch(Spec spec, std::size_t index, std::shared_ptr<ContainerInstance> instance);
  void began(const PodSpec& spec, std::size_t index, ContainerInstance& instance);
  void ended_with(const PodSpec& spec, std::size_t index, ContainerInstance& instance,
                  const HelperNews& end);
  std::string termination_message(const ContainerSpec& spec, const ContainerInstance& instance,
                                  int exit_code) const;
  void wait_with(std::size_t index, const Problem& problem);
  Task<void> stop_container(std::size_t index, std::string why, std::optional<Duration> grace);

  // pod_probes.cc
  Task<void> run_post_start(Spec spec, std::size_t index,
                            std::shared_ptr<ContainerInstance> instance);
  void start_probes(const Spec& spec, std::size_t index,
                    const std::shared_ptr<ContainerInstance>& instance);
  Task<void> probe(Spec spec, std::size_t index, std::shared_ptr<ContainerInstance> instance,
                   ProbeKind kind, ProbeSpec probe);

  NodeContext& node_;
  Spec spec_;
  Scope scope_;
  Channel<bool> wake_;
  std::vector<ContainerState> states_;
  std::vector<std::shared_ptr<ContainerInstance>> instances_;
  PodFacts facts_ = {};
  PodObjects objects_ = {};
  std::map<std::string, std::string> tokens_ = {};
  std::optional<Time> tokens_fresh_until_ = {};
  std::map<std::string, std::string, std::less<>> volume_paths_ = {};
  std::shared_ptr<HelperProcess> sandbox_ = {};
  std::uint32_t address_ = 0;
  std::stop_source volumes_stop_ = {};
  std::optional<Time> kill_by_ = {};
  std::optional<Time> sandbox_retry_ = {};
  std::optional<Time> deadline_ = {};
  bool sandbox_starting_ = false;
  bool torn_down_ = false;
  bool gone_ = false;
  bool node_stops_ = false;
  bool publishing_ = false;
  bool dirty_ = false;
  bool ended_ = false;
  std::string published_ = {};
  std::string last_problem_ = {};
};

}  // namespace manta::local
