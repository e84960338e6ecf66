// Ray Serve, scripted: it runs on a head what was last sent there, and a new head has forgotten it.
// Everything that is no question about Serve goes on to the double of Ray's job API.
#pragma once

#include "base/async.h"
#include "kube/runtime.h"

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace manta::sim {

class ServeDouble final : public kube::Outside {
 public:
  struct Sent {
    Time at = {};
    std::string service = {};  // the cluster's head Service
    std::string head = {};     // uid of its Pod
    Json config = {};
  };

  explicit ServeDouble(kube::Outside& rest) : rest_(rest) {}
  /// Before the first question.
  void attach(Loop& loop) { loop_ = &loop; }

  /// uid of the ready head Pod behind a head Service; empty: nobody answers.
  std::function<std::string(std::string_view service)> head_of = {};
  /// An application is DEPLOYING for so long.
  Duration deploy_takes = std::chrono::seconds{5};
  /// What is said of an application whatever it does; "" leaves it out.
  std::map<std::string, std::string> says = {};
  /// An application's message.
  std::map<std::string, std::string> explains = {};
  /// Head Services whose dashboard answers 503, and which refuse configs.
  std::set<std::string> down = {};
  std::set<std::string> refusing = {};
  /// Of the Serve proxies; by Pod name.
  bool proxies_healthy = true;
  std::set<std::string> unhealthy = {};
  /// Requests that proxies have not answered yet, as their metrics say; absent: they do not.
  std::optional<int> ongoing = {};
  /// Forgets what runs, as a cluster does whose GCS starts anew.
  void forget(const std::string& head) { running_.erase(head); }
  /// Every application on a head is RUNNING, and there is one.
  bool serves(const std::string& head) const;
  /// With fault tolerance a new head still knows it.
  bool fault_tolerant = false;

  const std::vector<Sent>& sent() const { return sent_; }
  /// How often a config went to a cluster, by its head Service.
  int sent_to(std::string_view service) const;
  std::uint64_t questions() const { return questions_; }

  Task<Result<Json>> call(std::string target, Json request) override;

 private:
  struct Running {
    Json config = {};
    Time since = {};
  };
  Json details(const std::string& head, const std::string& service) const;

  Loop* loop_ = nullptr;
  kube::Outside& rest_;
  std::map<std::string, Running> running_ = {};  // by head, or by Service when fault tolerant
  std::vector<Sent> sent_ = {};
  std::uint64_t questions_ = 0;
};

}  // namespace manta::sim
