// PF-06: how much the operator logs in an hour, and that every change of a state is among it.
//
// The reference logs in every pass over an object, and passes over a Running RayJob every 3 s
// (spec/04), over a RayService every 2 s (spec/05): "several lines for every pass of every object".
// Three lines of 200 bytes a pass, and no line for what else happens, are less than it writes: its
// JSON lines alone have 190 bytes of level, time, logger, the object's name and namespace, and the
// reconcileID.
#include "case_tools.h"
#include "kept_log.h"
#include "manifests.h"
#include "world.h"

#include <gtest/gtest.h>

namespace manta::integration {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kPassesOfAJob = 3600 / 3;
constexpr std::size_t kLeastBytesAPass = 3 * 200;

TEST(LogVolume, PF_06_AnHourIsATwentiethAndShowsEveryTransition) {
  World world;
  const KeptLog log(world.loop(), log::Level::Info);
  world.apply(kCluster).run_until(cluster_is("c", "ready"));
  world.apply(kJob).run_until(job_is("j", "Running"));
  world.pass(1h);
  world.kubelet().evict(world.head("c"));
  world.run_until({"the head is lost", [](const World& w) { return w.head("c").empty(); }}, 1min);
  world.run_until(cluster_is("c", "ready"));
  world.end_job("j", "SUCCEEDED").run_until(job_is("j", "Complete"));
  world.settle();

  for (const auto* told :
       {"state: (none) -> ready", "HeadPodReady: (none) -> ", "HeadPodReady: False -> True",
        "HeadPodReady: True -> False", "jobDeploymentStatus: (none) -> Initializing",
        "jobDeploymentStatus: Initializing -> Running",
        "jobDeploymentStatus: Running -> Complete; jobStatus: "})
    EXPECT_NE(log.text().find(told), std::string::npos) << told << "\n" << log.text();
  EXPECT_EQ(log.text().find(R"(:"")"), std::string::npos) << "fields that say nothing";
  EXPECT_LT(log.text().size() * 20, kPassesOfAJob * kLeastBytesAPass) << log.text();
  EXPECT_GT(log.count(), 10u);
}

// docs/troubleshooting.md says to look for these.
TEST(LogLevel, WhatIsRefusedTwiceIsAnError) {
  for (const int times : {1, 2}) {
    int left = times;
    World world({.tamper = [&left](kube::Api& wire) {
      return std::make_unique<Refuses>(wire, kube::kServices, "services is forbidden: no",
                                       [&left] { return left-- > 0; });
    }});
    const KeptLog log(world.loop(), log::Level::Error);
    world.apply(kCluster).run_until(cluster_is("c", "ready"));
    EXPECT_EQ(log.count(), times - 1) << log.text();
  }
}

TEST(LogLevel, WhatStandsInTheWayForGoodIsAnError) {
  World world({.start_operator = false});
  world.apply(
      "{apiVersion: v1, kind: Service, metadata: {name: c-headless}, spec: {ports: [{port: 1}]}}");
  world.apply(kCluster).patch("RayCluster", "c", R"({spec: {workerGroupSpecs: [
      {groupName: g, replicas: 1, maxReplicas: 1, numOfHosts: 2,
       template: {spec: {containers: [{name: w, image: ray}]}}}]}})");
  const KeptLog log(world.loop(), log::Level::Error);
  world.start_operator().pass(10s);
  EXPECT_NE(log.text().find(R"(c-headless)"), std::string::npos) << log.text();
}

}  // namespace
}  // namespace manta::integration
