#include "sim/actors.h"

#include "ray/labels.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace manta::sim {
namespace {

using enum StepKind;

std::string outcome(const Result<Json>& answer) {
  return answer ? std::string("done") : "refused: " + answer.error().message;
}

JsonArray groups_of(const World& world, const std::string& cluster) {
  return array_at(world.get("RayCluster", cluster), {"spec", "workerGroupSpecs"});
}

std::string change_groups(World& world, const std::string& cluster, JsonArray groups) {
  return outcome(
      world.merge("RayCluster", cluster,
                  JsonObject{{"spec", JsonObject{{"workerGroupSpecs", std::move(groups)}}}}));
}

std::string change_group(World& world, const Step& step, std::string_view field, Json value) {
  auto groups = groups_of(world, step.name);
  if (step.pick >= groups.size()) return "not there";
  groups[step.pick].as_object()[field] = std::move(value);
  return change_groups(world, step.name, std::move(groups));
}

/// As Ray's autoscaler does: what it named and is gone it names no longer; scaling down names the
/// Pods in the same write that lowers `replicas`.
void autoscale(World& world, const std::string& cluster, JsonObject& group, std::int64_t wanted) {
  const auto live = world.workers(cluster, string_at(group, {"groupName"}));
  std::vector<std::string> named;
  for (const auto& name : array_at(group, {"scaleStrategy", "workersToDelete"}))
    if (std::ranges::find(live, std::string_view(name.as_string())) != live.end())
      named.emplace_back(name.as_string());
  const auto hosts = std::max<std::int64_t>(1, int_at(group, {"numOfHosts"}));
  auto replicas =
      (static_cast<std::int64_t>(live.size()) - static_cast<std::int64_t>(named.size())) / hosts;
  for (const auto& name : live) {
    if (replicas <= wanted) break;
    if (std::ranges::find(named, name) != named.end()) continue;
    named.push_back(name);
    --replicas;
  }
  if (int_at(group, {"replicas"}) != wanted) group["replicas"] = wanted;
  if (named.empty() && !group.contains("scaleStrategy")) return;
  group["scaleStrategy"] = JsonObject{{"workersToDelete", JsonArray(named.begin(), named.end())}};
}

std::string autoscale(World& world, const Step& step) {
  auto groups = groups_of(world, step.name);
  if (step.pick >= groups.size()) return "not there";
  autoscale(world, step.name, groups[step.pick].as_object(), step.amount);
  return change_groups(world, step.name, std::move(groups));
}

std::string edit(World& world, const Step& step) {
  const auto* found = world.mirror().find(step.object_kind, step.name);
  if (!found) return "not there";
  auto spec = *find(*found, {"spec"});
  auto& cluster = step.object_kind == "RayService" ? ensure(spec, {"rayClusterConfig"}) : spec;
  auto& pod = ensure(cluster, {"headGroupSpec", "template", "spec"}).as_object();
  pod["containers"].as_array().at(0).as_object()["image"] =
      fmt::format("ray:{}", step.pick % 3 + 1);
  return outcome(world.merge(step.object_kind, step.name, JsonObject{{"spec", std::move(spec)}}));
}

std::string reconfigure(World& world, const Step& step) {
  if (!world.mirror().find(step.object_kind, step.name)) return "not there";
  return outcome(world.merge(
      step.object_kind, step.name,
      JsonObject{{"spec", JsonObject{{"serveConfigV2", serve_config(step.pick % 3 + 1)}}}}));
}

std::string set_suspend(World& world, const Step& step, bool suspend) {
  if (!world.mirror().find(step.object_kind, step.name)) return "not there";
  return outcome(world.merge(step.object_kind, step.name,
                             JsonObject{{"spec", JsonObject{{"suspend", suspend}}}}));
}

std::string erase(World& world, const Step& step) {
  if (!world.mirror().find(step.object_kind, step.name)) return "not there";
  return outcome(world.erase(step.object_kind, step.name));
}

std::string some_pod(const World& world, std::uint64_t pick) {
  std::vector<std::string> live;
  for (const auto* pod : world.mirror().list("Pod"))
    if (is_live(*pod) && phase_of(*pod) == "Running" &&
        !label_of(*pod, ray::kLabelNodeType).empty())
      live.push_back(name_of(*pod));
  return live.empty() ? std::string() : live[pick % live.size()];
}

std::string node_step(World& world, const Step& step) {
  const auto pod = some_pod(world, step.pick);
  if (pod.empty()) return "no Pod is there";
  auto& kubelet = world.kubelet();
  if (step.kind == DeletePod) return pod + " " + outcome(world.erase("Pod", pod));
  if (step.kind == FailPod) kubelet.fail(pod);
  if (step.kind == EvictPod) kubelet.evict(pod);
  if (step.kind == UnreadyPod) {
    kubelet.unready(pod);
    world.loop().after(std::chrono::seconds{20}, [&world, pod] {
      const auto* found = world.mirror().find("Pod", pod);
      if (found && is_live(*found)) world.kubelet().ready(pod);
    });
  }
  if (step.kind == HangPod) kubelet.hang(pod);
  if (step.kind == EndContainer) {
    const auto& containers = array_at(world.get("Pod", pod), {"spec", "containers"});
    kubelet.end_container(pod, std::string(string_at(containers.at(0), {"name"})), "OOMKilled");
  }
  return pod;
}

std::string forget(World& world, const Step& step) {
  const auto& jobs = world.ray().submissions();
  if (jobs.empty()) return "it knows none";
  const auto& id = jobs[step.pick % jobs.size()];
  world.ray().forget(id);
  return id;
}

}  // namespace

std::string carry_out(World& world, const Step& step) {
  switch (step.kind) {
    case Create:
      return world.mirror().find(string_at(step.body, {"kind"}),
                                 string_at(step.body, {"metadata", "name"}))
                 ? "it is there"
                 : outcome(world.put(step.body));
    case Scale:
      return change_group(world, step, "replicas", step.amount);
    case Autoscale:
      return autoscale(world, step);
    case Suspend:
      return set_suspend(world, step, true);
    case Resume:
      return set_suspend(world, step, false);
    case SuspendGroup:
      return change_group(world, step, "suspend", step.amount == 1);
    case Edit:
      return edit(world, step);
    case Reconfigure:
      return reconfigure(world, step);
    case Delete:
      return erase(world, step);
    case DeletePod:
    case FailPod:
    case EvictPod:
    case EndContainer:
    case UnreadyPod:
    case HangPod:
      return node_step(world, step);
    case Outage:
      world.door().shut(std::chrono::seconds{step.amount});
      return "done";
    case Crash:
      world.crash_leader();
      return "done";
    case LoseLeader:
      // Its renewals fail until it has to let go.
      world.door().shut("leases", std::chrono::seconds{step.amount});
      return "done";
    case RayMood:
      world.ray().mood = static_cast<RayDashboardDouble::Mood>(step.amount);
      return "done";
    case RayForget:
      return forget(world, step);
  }
  return "unknown";
}

bool autoscaler_is_content(World& world) {
  bool content = true;
  for (const auto* cluster : world.mirror().list("RayCluster")) {
    if (!bool_at(*cluster, {"spec", "enableInTreeAutoscaling"}) || is_deleting(*cluster)) continue;
    if (bool_at(*cluster, {"spec", "suspend"})) continue;
    const auto name = name_of(*cluster);
    auto groups = array_at(*cluster, {"spec", "workerGroupSpecs"});
    const auto before = groups;
    for (auto& group : groups)
      autoscale(world, name, group.as_object(), int_at(group, {"replicas"}));
    if (groups == before) continue;
    content = false;
    change_groups(world, name, std::move(groups));
  }
  return content;
}

void come_to_an_end(World& world) {
  world.ray().mood = RayDashboardDouble::Mood::Answers;
  world.kubelet().unhang_all();
  std::vector<std::string> cron_jobs;
  for (const auto* cron_job : world.mirror().list("RayCronJob"))
    cron_jobs.push_back(name_of(*cron_job));
  for (const auto& name : cron_jobs)
    MANTA_CHECK(world.merge("RayCronJob", name, JsonObject{{"spec", JsonObject{{"suspend", true}}}})
                    .has_value());
}

}  // namespace manta::sim
