#include "sim/actors.h"

#include "ray/labels.h"
#include "sim/script_objects.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
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

std::string add_group(World& world, const Step& step) {
  const auto* found = world.mirror().find(step.object_kind, step.name);
  if (!found) return "not there";
  auto groups = array_at(*found, {"spec", "rayClusterConfig", "workerGroupSpecs"});
  if (groups.empty()) return "there is none to copy";
  Json group = groups.front();
  group.as_object()["groupName"] = fmt::format("x{}", groups.size());
  groups.push_back(std::move(group));
  const Json spec{{"rayClusterConfig", {{"workerGroupSpecs", std::move(groups)}}}};
  return outcome(world.merge(step.object_kind, step.name, JsonObject{{"spec", spec}}));
}

std::string drop_cluster(World& world, const Step& step) {
  std::vector<std::string> named;
  for (const auto* side : {"activeServiceStatus", "pendingServiceStatus"})
    if (const auto name =
            string_at(world.get("RayService", step.name), {"status", side, "rayClusterName"});
        world.mirror().find("RayCluster", name))
      named.emplace_back(name);
  if (named.empty()) return "it has none";
  const auto& name = named[step.pick % named.size()];
  return name + " " + outcome(world.erase("RayCluster", name));
}

/// As a user does who has waited for it: a job is submitted to Ray, and the
/// RayJob told of it.
std::string submit_by_hand(World& world, const std::string& name) {
  const auto& job = world.get("RayJob", name);
  if (string_at(job, {"status", "jobDeploymentStatus"}) != "Waiting") return "it does not wait";
  if (!string_at(job, {"spec", "jobId"}).empty()) return "it was told";
  const auto head = world.head(world.cluster_of(name));
  if (head.empty()) return "there is no head";
  const auto id = fmt::format("{}-by-hand-{}", name, world.ray().submissions().size());
  world.ray().submit(id, uid_of(world.get("Pod", head)));
  return outcome(world.merge("RayJob", name, JsonObject{{"spec", JsonObject{{"jobId", id}}}}));
}

std::string some_pod(const World& world, std::uint64_t pick, std::string_view node_type = {}) {
  std::vector<std::string> live;
  for (const auto* pod : world.mirror().list("Pod")) {
    const auto type = label_of(*pod, ray::kLabelNodeType);
    if (is_live(*pod) && phase_of(*pod) == "Running" && !type.empty() &&
        (node_type.empty() || type == node_type))
      live.push_back(name_of(*pod));
  }
  return live.empty() ? std::string() : live[pick % live.size()];
}

void end_ray_container(World& world, const std::string& pod, std::uint64_t pick) {
  const auto& object = world.get("Pod", pod);
  const std::string container(string_at(array_at(object, {"spec", "containers"}).at(0), {"name"}));
  if (string_at(object, {"spec", "restartPolicy"}) == "Never")
    world.kubelet().end_container(pod, container, "OOMKilled");
  else
    world.kubelet().restart_container(pod, container, "OOMKilled",
                                      std::chrono::seconds{1 + pick / 1000 % 30});
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
  if (step.kind == EndContainer) end_ray_container(world, pod, step.pick);
  return pod;
}

std::string forget(World& world, const Step& step) {
  const auto& jobs = world.ray().submissions();
  if (jobs.empty()) return "it knows none";
  const auto& id = jobs[step.pick % jobs.size()];
  world.ray().forget(id);
  return id;
}

std::string serve_forgets(World& world, ServeDouble& serve, const Step& step) {
  const auto head = some_pod(world, step.pick, ray::kNodeTypeHead);
  if (head.empty()) return "no head is there";
  serve.forget(uid_of(world.get("Pod", head)));
  return head;
}

std::string applications_fail(World& world, ServeDouble& serve, const Step& step) {
  const auto how = std::array{"UNHEALTHY", "DEPLOY_FAILED", "DEPLOYING", ""}[step.pick % 4];
  serve.says["a"] = how;
  world.loop().after(std::chrono::seconds{step.amount}, [&serve] { serve.says.clear(); });
  return how;
}

std::string proxy_fails(World& world, ServeDouble& serve, const Step& step) {
  const auto head = some_pod(world, step.pick, ray::kNodeTypeHead);
  if (head.empty()) return "no head is there";
  serve.unhealthy.insert(head);
  world.loop().after(std::chrono::seconds{step.amount},
                     [&serve, head] { serve.unhealthy.erase(head); });
  return head;
}

std::string gateways_fail(World& world, const Step& step) {
  if (!world.gateways()) return "there are none";
  world.gateways()->set_up(false);
  world.loop().after(std::chrono::seconds{step.amount},
                     [&world] { world.gateways()->set_up(true); });
  return "done";
}

}  // namespace

std::string carry_out(World& world, ServeDouble& serve, const Step& step) {
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
    case AddGroup:
      return add_group(world, step);
    case DropCluster:
      return drop_cluster(world, step);
    case SubmitByHand:
      return submit_by_hand(world, step.name);
    case ServeForget:
      return serve_forgets(world, serve, step);
    case ServeSick:
      return applications_fail(world, serve, step);
    case ProxySick:
      return proxy_fails(world, serve, step);
    case GatewayDown:
      return gateways_fail(world, step);
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

bool users_are_content(World& world) {
  std::vector<std::string> waiting;
  for (const auto* job : world.mirror().list("RayJob"))
    if (string_at(*job, {"status", "jobDeploymentStatus"}) == "Waiting" &&
        string_at(*job, {"spec", "jobId"}).empty())
      waiting.push_back(name_of(*job));
  for (const auto& name : waiting) submit_by_hand(world, name);
  return waiting.empty();
}

void come_to_an_end(World& world, ServeDouble& serve) {
  serve.says.clear();
  serve.unhealthy.clear();
  if (world.gateways()) world.gateways()->set_up(true);
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
