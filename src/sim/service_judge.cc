#include "sim/service_judge.h"

#include "ray/labels.h"

#include <fmt/format.h>

namespace manta::sim {

std::string ServiceJudge::serving(const Json& service) const {
  const auto& front = world_.get("Service", name_of(service) + "-serve-svc");
  return std::string(string_at(front, {"spec", "selector", ray::kLabelCluster}));
}

void ServiceJudge::hear(const kube::Request& request) {
  if (request.verb != kube::Verb::Delete || request.resource.plural != "rayclusters") return;
  const auto* cluster = world_.mirror().find("RayCluster", request.name);
  const auto* owner = cluster ? controller_of(*cluster) : nullptr;
  const auto* service = owner ? world_.mirror().by_uid(string_at(*owner, {"uid"})) : nullptr;
  if (!service || string_at(*service, {"kind"}) != "RayService") return;
  if (is_deleting(*service) || is_deleting(*cluster)) return;
  if (serving(*service) == name_of(*cluster))
    broken_.push_back(fmt::format("the operator deletes RayCluster {}, to which requests for {} go",
                                  name_of(*cluster), name_of(*service)));
}

void ServiceJudge::judge_end(const ServeDouble& serve) {
  for (const auto* service : world_.mirror().list("RayService")) judge_end(*service, serve);
}

void ServiceJudge::judge_end(const Json& service, const ServeDouble& serve) {
  const auto complain = [&](const std::string& what) {
    broken_.push_back(fmt::format("at the end RayService {} {}", name_of(service), what));
  };
  if (is_deleting(service)) return complain("does not go");
  if (!condition_of(service, "Ready").starts_with("True"))
    complain("is not ready: " + condition_of(service, "Ready"));
  const auto active =
      std::string(string_at(service, {"status", "activeServiceStatus", "rayClusterName"}));
  if (serving(service) != active)
    complain(
        fmt::format("sends requests to {} and says that {} is active", serving(service), active));
  std::size_t clusters = 0;
  for (const auto* cluster : world_.mirror().list("RayCluster")) {
    const auto* owner = controller_of(*cluster);
    clusters += owner && string_at(*owner, {"uid"}) == uid_of(service);
  }
  if (clusters != 1) complain(fmt::format("has {} clusters", clusters));
  const auto image = [](const Json& spec) {
    const auto& containers = array_at(spec, {"headGroupSpec", "template", "spec", "containers"});
    return containers.empty() ? std::string()
                              : std::string(string_at(containers.front(), {"image"}));
  };
  const auto& cluster = world_.get("RayCluster", active);
  const auto* have = find(cluster, {"spec"});
  if (!have || image(*have) != image(*find(service, {"spec", "rayClusterConfig"})))
    complain("runs on a cluster of an older spec");
  const auto config = string_at(service, {"spec", "serveConfigV2"});
  const auto version = config.substr(config.find("version: ") + 9, 1);
  std::string sent;
  for (const auto& each : serve.sent())
    if (each.head == uid_of(world_.get("Pod", world_.head(active)))) sent = dump_json(each.config);
  if (sent.find(fmt::format("\"version\":{}", version)) == std::string::npos)
    complain(fmt::format("wants config version {} and sent {}", version, sent));
}

}  // namespace manta::sim
