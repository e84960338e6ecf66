// Ways to say what a gang's owner and its objects look like, and what a decision is.
#pragma once

#include "controllers/batchscheduler/gang.h"
#include "controllers/raycluster/testing.h"
#include "ray/labels.h"

#include <fmt/format.h>

namespace manta::controllers::batchscheduler {

using enum ray::BatchScheduler;
using raycluster::testing::kNow;
using raycluster::testing::pod_template;

inline ray::RayCluster labelled(std::initializer_list<std::pair<const char*, const char*>> labels,
                                std::int32_t replicas = 2, std::int32_t hosts = 1) {
  auto cluster = raycluster::testing::cluster(replicas, hosts);
  for (const auto& [key, value] : labels) cluster.meta.labels[key] = value;
  return cluster;
}
inline ray::RayCluster gang_cluster(std::int32_t replicas = 2) {
  return labelled({{"ray.io/gang-scheduling-enabled", "true"}}, replicas);
}
inline ray::RayJob job(std::string_view mode = "K8sJobMode") {
  ray::RayJob out;
  out.meta = {.key = {"ns", "j"}, .uid = "j-uid", .resource_version = 1};
  out.spec.submissionMode = mode;
  out.spec.rayClusterSpec = raycluster::testing::cluster().spec;
  out.status.rayClusterName = "j-x";
  return out;
}

inline ray::BuildOptions under(ray::BatchScheduler scheduler) {
  ray::BuildOptions options;
  options.scheduler = scheduler;
  return options;
}
inline GangDecision decide_gang(const auto& owner, const GangSeen& seen,
                                ray::BatchScheduler scheduler) {
  return decide_gang(owner, seen, under(scheduler));
}
inline GangDecision release_gang(const ray::RayJob& job, const ray::RayCluster* cluster,
                                 const GangSeen& seen, ray::BatchScheduler scheduler) {
  return release_gang(job, cluster, seen, under(scheduler));
}

// "stage; stage | events | blocked", a write as "verb Kind".
inline std::string outline(const GangDecision& gang) {
  std::string text;
  for (const auto& stage : gang.stages)
    for (const auto& write : stage)
      text += fmt::format("{}{} {}", text.empty() ? "" : "; ", to_string(write.kind),
                          write.resource.kind);
  for (const auto& event : gang.events) text += " ! " + event.reason;
  if (!gang.blocked.empty()) text += " blocked";
  return text;
}

// What the first write leaves, as the cache would show it.
inline std::shared_ptr<const kube::SpecView> made(const GangDecision& gang, std::size_t stage = 0) {
  auto view = kube::project_spec(gang.stages.at(stage).at(0).body).value();
  view.meta.uid = "g-uid";
  view.meta.resource_version = 3;
  return std::make_shared<const kube::SpecView>(std::move(view));
}
inline std::shared_ptr<const kube::SpecView> edited(std::shared_ptr<const kube::SpecView> from,
                                                    auto edit) {
  auto copy = *from;
  edit(copy);
  return std::make_shared<const kube::SpecView>(std::move(copy));
}
inline void owned_by(kube::SpecView& view, std::string kind, std::string name, std::string uid) {
  view.meta.owners = {{"ray.io/v1", std::move(kind), std::move(name), std::move(uid), true, true}};
}
inline void terminating(kube::SpecView& view) { view.meta.deleting = kNow; }

inline std::string spec_of(const GangDecision& gang) {
  return dump_json(*find(gang.stages.at(0).at(0).body, {"spec"}));
}

}  // namespace manta::controllers::batchscheduler
