// sim/world.h in users' words, with expectations:
//
//   World world;
//   world.apply(kCluster).run_until(cluster_is("c", "ready"));
//   world.kubelet().evict(world.head("c"));
//   world.settle();
//   EXPECT_EQ(world.mirror().created("Pod"), 4);
//
// settle() checks the laws (sim/laws.h).
#pragma once

#include "sim/world.h"

#include <functional>
#include <string>
#include <string_view>
#include <utility>

namespace manta::integration {

using namespace sim;

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

class World : public sim::World {
 public:
  explicit World(WorldOptions options = {}) : sim::World(observed(std::move(options))) {}
  ~World();

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

  /// Ray's job ends: its submitter Pod with it.
  World& end_job(std::string_view job, std::string status);

 private:
  static WorldOptions observed(WorldOptions options);
};

}  // namespace manta::integration
