// A whole cluster in one process, on virtual time: the embedded API server with its Job controller
// and garbage collector, a scripted node, a scripted Ray, and one or several processes of the
// operator, which can die and be started again.
//
//   World world({.seed = 7});
//   world.put(cluster);
//   world.run([&] { return !world.head("c").empty(); }, 1min);
//   if (!world.settle()) …
//   world.laws().broken()
//
// Faults enter where the operator calls Kubernetes (kube/fault_api.h); whoever else calls the
// server here never meets them.
#pragma once

#include "base/random.h"
#include "base/virtual_loop.h"
#include "kube/fault_api.h"
#include "local/apiserver/api_server.h"
#include "local/controllers/local_controllers.h"
#include "sim/gateway_double.h"
#include "sim/kubelet.h"
#include "sim/laws.h"
#include "sim/mirror.h"
#include "sim/operator_life.h"
#include "sim/ray_dashboard_double.h"
#include "sim/server_door.h"

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace manta::sim {

struct WorldOptions {
  std::uint64_t seed = 1;
  std::map<std::string, std::string, std::less<>> environment = {};  // of the operator
  std::string feature_gates = {};
  std::string batch_scheduler = {};
  bool cert_manager = false;  // its types are served
  bool start_operator = true;
  /// Every submitted job ends SUCCEEDED by itself after this.
  std::optional<Duration> jobs_take = {};
  /// EndpointSlices behind Services, as RayServices wait for them.
  bool endpoints = false;
  /// Gateways and HTTPRoutes are served, and something makes them work.
  bool gateway_api = false;
  /// The custom kinds that are served; null: served_kinds(gateway_api).
  std::shared_ptr<const local::SharedTypes> kinds = {};
  /// Of every process.
  kube::RuntimeObserver* observer = nullptr;
  /// Processes of the operator; several take turns by a Lease.
  int processes = 1;
  /// Nobody is told of everything: events may be lost with what goes wrong.
  bool events_may_be_lost = false;
  /// Stands between each process and the faults; nothing: the process calls on directly.
  std::function<std::unique_ptr<kube::Api>(kube::Api& wire)> tamper = {};
  /// Stands between the operator and Ray; nothing: it calls Ray directly.
  std::function<std::unique_ptr<kube::Outside>(kube::Outside& ray)> tamper_ray = {};
};

/// What goes wrong, as a test or a seed says it.
class FaultScript final : public kube::Faults {
 public:
  /// Asked for each write but those of Events and Leases; numbered from 0.
  std::function<kube::CallFault(std::size_t number, const kube::Request&)> on_write = {};
  /// Asked for each other call.
  std::function<kube::CallFault(const kube::Request&)> on_other_call = {};
  /// Asked for each watch event, numbered from 0.
  std::function<kube::EventFault(std::uint64_t number, const kube::WatchRequest&,
                                 const kube::WatchEvent&)>
      on_event = {};
  std::vector<std::string> writes = {};  // what was asked, in words

  kube::CallFault call(std::uint64_t number, const kube::Request& request) override;
  kube::EventFault event(std::uint64_t number, const kube::WatchRequest& request,
                         const kube::WatchEvent& event) override;

 private:
  std::uint64_t events_ = 0;
};

class World {
 public:
  explicit World(WorldOptions options = {});
  ~World();
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  // What users do. Objects without a namespace are in "default".
  Result<Json> put(Json object);  // creates, or merges into what is there
  Result<Json> merge(std::string_view kind, std::string_view name, Json patch);
  Result<Json> erase(std::string_view kind, std::string_view name,
                     kube::Propagation propagation = kube::Propagation::Background);

  // Time.
  void pass(Duration span);
  /// Until `done`, which is asked whenever the store has changed. False: not within `limit`.
  bool run(const std::function<bool()>& done, Duration limit);
  /// Until nothing has changed for half a minute and nobody has anything to do at once; then checks
  /// the laws of a settled world. False: it did not come to rest.
  bool settle(Duration limit = std::chrono::hours{2});
  /// Stops everything that runs. No call of the operator follows.
  void finish();

  // The operator's processes.
  void crash();  // all of them, which start again at once
  /// The one that acts, if any; another takes its place by and by.
  void crash_leader();
  void stop_operator();
  void start_operator();
  int lives() const { return lives_; }
  int processes() const { return options_.processes; }
  /// Of the process that holds the Lease, when there are several.
  std::string identity_of_leader() const;
  /// The operator has something to do later.
  bool operator_waits() const;

  // Faults: none once the script's functions are empty.
  FaultScript& faults() { return script_; }
  std::vector<std::string> injected() const;
  ServerDoor& door() { return door_; }

  // Looking.
  const Mirror& mirror() const { return mirror_; }
  Mirror& mirror() { return mirror_; }
  Laws& laws() { return laws_; }
  Kubelet& kubelet() { return kubelet_; }
  GatewayDouble* gateways() { return gateways_ ? &*gateways_ : nullptr; }
  RayDashboardDouble& ray() { return ray_; }
  const RayDashboardDouble& ray() const { return ray_; }
  const WriteLog& writes() const { return writes_; }
  VirtualLoop& loop() { return loop_; }
  kube::Api& server() { return server_; }
  const Json& get(std::string_view kind, std::string_view name) const;
  std::string head(std::string_view cluster) const;  // the live head Pod; empty: none
  /// Live ones only.
  std::vector<std::string> workers(std::string_view cluster, std::string_view group = {}) const;
  /// "Reason message" of the events about an object, oldest first.
  std::vector<std::string> events(std::string_view name) const;
  std::string cluster_of(std::string_view job) const;
  std::string id_of(std::string_view job) const;  // status.jobId
  std::string submitter_pod(std::string_view job) const;
  /// A submitted job ends: its submitter Pod with it.
  void end_submitted(const std::string& job_id, std::string status);
  /// The head that took it lives; else its submitter has lost it.
  bool ray_has(const std::string& job_id) const;
  /// Of a job that Ray has lost: it fails, as it fails that cannot submit.
  void lose_submitted(const std::string& job_id);
  /// Each write of the operator before it is sent, with the sender's identity (when there are
  /// several processes).
  std::function<void(const std::string& sender, const kube::Request&)> before_write = {};

  /// All objects but Events, without what differs from run to run: random names, uids, times,
  /// addresses, versions. Sorted. Only those that `of` picks, if
  /// given; it may take more away.
  std::vector<std::string> picture(const std::function<bool(Json&)>& of = {}) const;
  /// For people: every object's status, the last faults, the last writes.
  std::string describe() const;

 private:
  struct Process;
  void start_process(int slot);
  void end_process(int slot);
  bool a_process_has_ended() const;
  void revive();
  bool calm() const;
  void follow_submitter(const Json& pod);
  void lose_submitter(const std::string& pod);
  void end_submitter(const Json& pod, int exit_code);
  std::string job_behind(const Json& head) const;
  std::string head_of_job(std::string_view job) const;  // its uid
  std::string ready_head_behind(std::string_view service) const;

  WorldOptions options_;
  VirtualLoop loop_;
  SeededRandom random_;
  SeededRandom operator_random_;
  std::unique_ptr<local::Store> store_;
  WriteLog writes_ = {};
  Mirror mirror_;
  Laws laws_;
  local::ApiServer server_;
  ServerDoor door_;
  Kubelet kubelet_;
  RayDashboardDouble ray_;
  std::unique_ptr<kube::Outside> tampered_ray_ = {};
  local::LocalControllers controllers_;
  std::optional<GatewayDouble> gateways_ = {};
  Scope scope_;
  controllers::Settings settings_;
  FaultScript script_ = {};
  std::vector<std::unique_ptr<Process>> processes_ = {};  // by slot; empty while not running
  std::vector<std::string> injected_ = {};                // into processes that have ended
  std::map<std::string, std::string> submitters_ = {};    // job id to Pod
  int lives_ = 0;
};

/// The resource of a kind by which users call it: "RayCluster", "Pod", …
kube::Resource resource_of(std::string_view kind);

/// Where two pictures differ, for people; empty when they are equal.
std::string difference(const std::vector<std::string>& wanted,
                       const std::vector<std::string>& found);

}  // namespace manta::sim
