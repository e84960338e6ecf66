// What the tests of RayJobs' cases have in common: all are about RayJob j.
#pragma once

#include "base/yaml.h"
#include "manifests.h"
#include "world.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

namespace manta::integration {

/// j on RayCluster c.
inline constexpr const char* kJobOnC = R"(
apiVersion: ray.io/v1
kind: RayJob
metadata: {name: j}
spec: {entrypoint: python a.py, clusterSelector: {ray.io/cluster: c}}
)";

/// kJob with more lines in its spec (two spaces deep).
inline std::string job_with(std::string_view lines) {
  return std::string(kJob) + std::string(lines);
}

/// kJob without shutdownAfterJobFinishes.
inline std::string kept_job() {
  constexpr std::string_view kShutdown = "  shutdownAfterJobFinishes: true\n";
  auto job = std::string(kJob);
  return job.erase(job.find(kShutdown), kShutdown.size());
}

/// A field of j's status.
inline std::string status(const World& world, std::string_view field) {
  return std::string(string_at(world.get("RayJob", "j"), {"status", field}));
}
inline std::string deployment(const World& world) { return status(world, "jobDeploymentStatus"); }

inline bool has_condition(const World& world, std::string_view type) {
  for (const auto& condition : array_at(world.get("RayJob", "j"), {"status", "conditions"}))
    if (string_at(condition, {"type"}) == type) return string_at(condition, {"status"}) == "True";
  return false;
}
inline Until job_has(std::string type) {
  return {"condition " + type, [type](const World& w) { return has_condition(w, type); }};
}

/// How many of these events have that reason.
inline int counted(const std::vector<std::string>& events, std::string_view reason) {
  int count = 0;
  for (const auto& event : events) count += event.starts_with(reason);
  return count;
}

/// Merges YAML into a Pod's status, as its kubelet would.
inline void set_pod_status(World& world, const std::string& pod, std::string_view yaml) {
  const auto done =
      world.loop().run(world.server().call({.verb = kube::Verb::Patch,
                                            .resource = kube::kPods,
                                            .namespace_ = "default",
                                            .name = pod,
                                            .subresource = "status",
                                            .body = JsonObject{{"status", *parse_yaml_one(yaml)}},
                                            .patch_type = kube::PatchType::Merge}));
  EXPECT_TRUE(done) << done.error().message;
}

}  // namespace manta::integration
