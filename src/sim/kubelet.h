// A scripted node: binds Pods, runs them, lets them end, and loses them as a test says.
//
//   kubelet.hold({{"ray.io/group", "g"}});   // such Pods stay Pending from now on
//   kubelet.fail("c-head-abcde");            // OOM, a crash: phase Failed
//   kubelet.hang("c-g-worker-x");            // its node is lost: deletion never ends
//
// Without a script every Pod is Running and Ready a second after it was made, and gone a second
// after it was deleted.
#pragma once

#include "base/async.h"
#include "kube/api.h"
#include "sim/mirror.h"

#include <functional>
#include <set>
#include <string>
#include <vector>

namespace manta::sim {

class Kubelet {
 public:
  Kubelet(Loop& loop, kube::Api& api, Mirror& mirror);

  /// Pods with all these labels are not started until release().
  void hold(kube::StringMap labels);
  /// Starts everything that was held.
  void release();

  // One Pod, by name. All take effect at once.
  void fail(const std::string& pod, std::string reason = {});
  void evict(const std::string& pod) { fail(pod, "Evicted"); }
  void finish(const std::string& pod, int exit_code);
  void unready(const std::string& pod) { set_ready(pod, false); }
  void ready(const std::string& pod) { set_ready(pod, true); }
  /// The Ray container has ended but the Pod's phase stays Running.
  void end_container(const std::string& pod, const std::string& container, std::string reason,
                     int exit_code = 137);
  /// Likewise, and the node starts it again after this.
  void restart_container(const std::string& pod, const std::string& container, std::string reason,
                         Duration takes);
  void hang(const std::string& pod) { hung_.insert(pod); }
  void unhang(const std::string& pod);
  void unhang_all();

  /// How long a Pod takes to start; nothing: a second.
  std::function<Duration(const Json& pod)> start_takes = {};
  /// Called when a Pod has become Running.
  std::function<void(const Json& pod)> on_running = {};
  /// Called when a container of a Pod has started anew.
  std::function<void(const Json& pod)> on_restarted = {};

  void stop() { scope_.request_stop(); }
  bool stopped() const { return scope_.running() == 0; }

 private:
  void set_ready(const std::string& pod, bool ready);
  void see(const Change& change);
  bool is_held(const Json& pod) const;
  Task<void> start(Json pod);
  Task<void> terminate(Json pod);
  Task<void> restart(std::string pod, std::string uid, std::string container, std::string reason,
                     Duration takes);
  Task<void> set_status(std::string pod, std::string uid, Json status);
  Json running_status(const Json& pod);

  Loop& loop_;
  kube::Api& api_;
  Mirror& mirror_;
  Scope scope_;
  std::vector<kube::StringMap> held_ = {};
  std::set<std::string> hung_ = {};
  int next_address_ = 1;
};

}  // namespace manta::sim
