// A whole cluster in the test's process, on virtual time: the embedded API server with its Job
// controller and garbage collector, a scripted node, a scripted Ray, and the operator, which can
// die and be started again. Users' words on top:
//
//   World world;
//   world.apply(kCluster).run_until(cluster_is("c", "ready"));
//   world.kubelet().evict(world.head("c"));
//   world.settle();
//   EXPECT_EQ(world.mirror().created("Pod"), 4);
//
// settle() checks the laws (laws.h). Faults enter where the operator calls Kubernetes, through
// kube/fault_api.h; the test itself, the node and the Job controller never meet them.
#pragma once

#include "base/random.h"
#include "base/virtual_loop.h"
#include "kube/fault_api.h"
#include "kubelet.h"
#include "laws.h"
#include "local/apiserver/api_server.h"
#include "local/controllers/local_controllers.h"
#include "mirror.h"
#include "operator_life.h"
#include "ray_dashboard_double.h"

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace manta::integration {

class World;

/// A condition to wait for, and how a failure calls it.
struct Until {
  std::string text = {};
  std::function<bool(const World&)> holds = {};
};
Until cluster_is(std::string name, std::string state);   // status.state
Until job_is(std::string name, std::string deployment);  // status.jobDeploymentStatus
Until ray_job_is(std::string name, std::string status);  // status.jobStatus
Until exists(std::string kind, std::string name);
Until is_gone(std::string kind, std::string name);
Until has_workers(std::string cluster, std::size_t ready);  // that are Running

struct WorldOptions {
  std::uint64_t seed = 1;
  std::map<std::string, std::string, std::less<>> environment = {};  // of the operator
  std::string feature_gates = {};
  bool start_operator = true;
  /// Every submitted job ends SUCCEEDED by itself after this.
  std::optional<Duration> jobs_take = {};
};

/// What goes wrong, as a test says it.
class FaultScript final : public kube::Faults {
 public:
  /// Asked for each write but those of Events; numbered from 0.
  std::function<kube::CallFault(std::size_t number, const kube::Request&)> on_write = {};
  /// Asked for each watch event, numbered from 0.
  std::function<kube::EventFault(std::uint64_t number, const kube::WatchRequest&,
                                 const kube::WatchEvent&)>
      on_event = {};
  std::vector<std::string> writes = {};  // what was asked, in words

  kube::CallFault call(std::uint64_t number, const kube::Request& request) override;
  kube::EventFault event(std::uint64_t number, const kube::WatchRequest& request,
                         const kube::WatchEvent& event) override;
};

class World {
 public:
  explicit World(WorldOptions options = {});
  ~World();
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  // What users do. Text is YAML; objects without a namespace are in "default".
  World& apply(std::string_view yaml);
  World& patch(std::string_view kind, std::string_view name, std::string_view merge);
  World& remove(std::string_view kind, std::string_view name,
                kube::Propagation propagation = kube::Propagation::Background);

  // Time.
  World& pass(Duration span);
  /// Fails the test when it does not come true within `limit`.
  World& run_until(const Until& condition, Duration limit = std::chrono::minutes{10});
  /// Until nothing has changed for a while and nobody has anything to do; then checks the laws.
  World& settle();
  /// No write at all in ten minutes. Call it when settled.
  World& expect_rest();

  // The operator's process.
  World& crash();  // and start again at once
  World& stop_operator();
  World& start_operator();
  int lives() const { return lives_; }

  // Faults: none once the script's functions are empty.
  FaultScript& faults() { return script_; }
  const std::vector<std::string>& injected() const { return wire_.history(); }

  // Looking.
  const Mirror& mirror() const { return mirror_; }
  Kubelet& kubelet() { return kubelet_; }
  RayDashboardDouble& ray() { return ray_; }
  const WriteLog& writes() const { return writes_; }
  VirtualLoop& loop() { return loop_; }
  kube::Api& server() { return server_; }
  const Json& get(std::string_view kind, std::string_view name) const;
  std::string head(std::string_view cluster) const;  // the live head Pod; empty: none
  std::vector<std::string> workers(std::string_view cluster, std::string_view group = {}) const;
  /// Live ones only.
  /// "Reason message" of the events about an object, oldest first.
  std::vector<std::string> events(std::string_view name) const;
  std::string cluster_of(std::string_view job) const;
  std::string id_of(std::string_view job) const;  // status.jobId
  /// Ray's job ends: its submitter Pod with it.
  World& end_job(std::string_view job, std::string status);
  std::string submitter_pod(std::string_view job) const;

  /// All objects but Events, without what differs from run to run: random names, uids, times,
  /// addresses, versions. Sorted.
  std::vector<std::string> picture() const;

 private:
  bool run(const std::function<bool()>& done, Duration limit);
  void revive();
  bool calm() const;
  void follow_submitter(const Json& pod);
  void end_submitter(std::string job_id, std::string status);
  std::string head_of_job(std::string_view job) const;  // its uid
  std::string ready_head_behind(std::string_view service) const;
  std::string describe() const;

  WorldOptions options_;
  VirtualLoop loop_;
  SeededRandom random_;
  SeededRandom operator_random_;
  std::unique_ptr<local::Store> store_;
  WriteLog writes_ = {};
  Mirror mirror_;
  Laws laws_;
  local::ApiServer server_;
  Kubelet kubelet_;
  RayDashboardDouble ray_;
  local::LocalControllers controllers_;
  Scope scope_;
  controllers::Settings settings_;
  FaultScript script_ = {};
  kube::FaultApi wire_;
  std::unique_ptr<OperatorLife> life_ = {};
  std::map<std::string, std::string> submitters_ = {};  // job id to Pod
  bool crashed_ = false;
  int lives_ = 0;
};

/// Where two pictures differ, for people; empty when they are equal.
std::string difference(const std::vector<std::string>& wanted,
                       const std::vector<std::string>& found);

}  // namespace manta::integration
