#include "sim/service_judge.h"

#include "ray/labels.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace manta::sim {
namespace {

using namespace std::chrono_literals;

constexpr Duration kLookEvery = 1s;
// For the operator to see that a cluster no longer serves and another does, and
// to turn requests.
constexpr Duration kTurnWithin = 2min;
// Until the operator has asked Ray once more.
constexpr Duration kBelieved = 5s;
// Stored times are whole seconds.
constexpr Duration kRounding = 1s;

bool is_incremental_service(const Json& service) {
  return string_at(service, {"spec", "upgradeStrategy", "type"}) ==
         "NewClusterWithIncrementalUpgrade";
}

bool is_service(const Json& object) { return string_at(object, {"kind"}) == "RayService"; }

/// The Service in front of one that is not upgraded in steps.
std::string front_of(const Json& service) {
  const auto given = string_at(service, {"spec", "serveService", "metadata", "name"});
  return given.empty() ? name_of(service) + "-serve-svc" : std::string(given);
}

/// It is suspended, or is being so.
bool sleeps(const Json& service) {
  return bool_at(service, {"spec", "suspend"}) ||
         condition_of(service, "Suspending").starts_with("True") ||
         condition_of(service, "Suspended").starts_with("True");
}

std::vector<std::string> backends_of(const Json& route, bool with_weight) {
  std::vector<std::string> clusters;
  for (const auto& rule : array_at(route, {"spec", "rules"}))
    for (const auto& backend : array_at(rule, {"backendRefs"})) {
      std::string name(string_at(backend, {"name"}));
      if (with_weight && int_at(backend, {"weight"}, 1) == 0) continue;
      clusters.push_back(name.substr(0, name.rfind("-serve-svc")));
    }
  return clusters;
}

/// The cluster that a Service selects once this is written; empty: it stays as it is.
std::string selected_by(const Json& body) {
  const Json* service = &body;
  Json replaced;
  if (body.is_array()) {  // a JSON patch, of the whole spec
    for (const auto& part : body.get_array())
      if (string_at(part, {"path"}) == "/spec")
        replaced = JsonObject{{"spec", object_at(part, {"value"})}};
    service = &replaced;
  }
  return std::string(string_at(*service, {"spec", "selector", ray::kLabelCluster}));
}

std::string image_of(const Json& spec) {
  const auto& containers = array_at(spec, {"headGroupSpec", "template", "spec", "containers"});
  return containers.empty() ? std::string() : std::string(string_at(containers.front(), {"image"}));
}

}  // namespace

ServiceJudge::ServiceJudge(World& world, const ServeDouble& serve, Duration slack,
                           std::vector<std::string>& broken)
    : world_(world), serve_(serve), slack_(slack), broken_(broken) {
  world.mirror().listen([this](const Change& change) { at_commit(change); });
  look_around();
}

ServiceJudge::~ServiceJudge() { world_.loop().cancel(timer_); }

void ServiceJudge::complain(const Json& service, const std::string& what) {
  broken_.push_back(fmt::format("RayService {} {}", name_of(service), what));
}

Mirror::Objects ServiceJudge::clusters_of(const Json& service) const {
  Mirror::Objects found;
  for (const auto* cluster : world_.mirror().list("RayCluster")) {
    const auto* owner = controller_of(*cluster);
    if (owner && string_at(*owner, {"uid"}) == uid_of(service)) found.push_back(cluster);
  }
  return found;
}

std::vector<std::string> ServiceJudge::targets_of(const Json& service) const {
  if (is_incremental_service(service))
    return backends_of(world_.get("HTTPRoute", name_of(service) + "-httproute"), true);
  const auto& front = world_.get("Service", front_of(service));
  const auto cluster = string_at(front, {"spec", "selector", ray::kLabelCluster});
  return cluster.empty() ? std::vector<std::string>() : std::vector{std::string(cluster)};
}

bool ServiceJudge::serves(const std::string& cluster) const {
  const auto& head = world_.get("Pod", world_.head(cluster));
  const auto* owner = controller_of(head);
  // What outlives a deleted cluster for a moment is reached through no Service any more.
  if (!owner || !world_.mirror().by_uid(string_at(*owner, {"uid"}))) return false;
  return condition_of(head, "Ready").starts_with("True") && serve_.serves(uid_of(head));
}

bool ServiceJudge::has_served(const std::string& cluster) const {
  if (serves(cluster)) return true;
  const auto found = clusters_.find(cluster);
  return found != clusters_.end() && found->second.served &&
         world_.loop().now() - *found->second.served <= slack_;
}

void ServiceJudge::at_commit(const Change& change) {
  if (change.after.is_null()) return;
  if (is_service(change.after)) see_names(change.after);
  if (string_at(change.after, {"kind"}) == "HTTPRoute") judge_weights(change.after);
}

void ServiceJudge::see_names(const Json& service) {
  const auto active = string_at(service, {"status", "activeServiceStatus", "rayClusterName"});
  const auto pending = string_at(service, {"status", "pendingServiceStatus", "rayClusterName"});
  auto& names = names_[name_of(service)];
  if (auto text = fmt::format("{} {}", active, pending); text != names.text)
    names = {.text = std::move(text), .since = world_.loop().now()};
  for (const auto* object : clusters_of(service)) {
    auto& cluster = clusters_[name_of(*object)];
    if (name_of(*object) == active || name_of(*object) == pending)
      cluster.unnamed.reset();
    else if (!cluster.unnamed)
      cluster.unnamed = world_.loop().now();
  }
}

void ServiceJudge::judge_weights(const Json& route) {
  for (const auto& rule : array_at(route, {"spec", "rules"})) {
    std::int64_t sum = 0;
    for (const auto& backend : array_at(rule, {"backendRefs"}))
      sum += int_at(backend, {"weight"}, 1);
    if (sum != 100)
      broken_.push_back(fmt::format("the weights of HTTPRoute {} sum to {}", name_of(route), sum));
  }
}

void ServiceJudge::look_around() {
  for (const auto* service : world_.mirror().list("RayService")) look_at(*service);
  timer_ = world_.loop().after(kLookEvery, [this] { look_around(); });
}

void ServiceJudge::look_at(const Json& service) {
  const auto now = world_.loop().now();
  const std::chrono::seconds delay{int_at(service, {"spec", "rayClusterDeletionDelaySeconds"})};
  bool any_serves = false;
  Time newest = {};
  for (const auto* object : clusters_of(service))
    newest =
        std::max(newest, *parse_rfc3339(string_at(*object, {"metadata", "creationTimestamp"})));
  const auto targets = targets_of(service);
  for (const auto* object : clusters_of(service)) {
    auto& cluster = clusters_[name_of(*object)];
    if (is_deleting(*object)) continue;
    if (serves(name_of(*object))) {
      cluster.served = now;
      any_serves |= !cluster.unnamed;
    }
    // What is stored tells of the last change and the newest cluster only: with each, the delay may
    // begin anew.
    const auto since =
        std::max({cluster.unnamed.value_or(now), names_[name_of(service)].since, newest});
    if (std::ranges::find(targets, name_of(*object)) != targets.end()) cluster.reached = now;
    if (cluster.outstays || is_deleting(service) || !cluster.unnamed ||
        now - cluster.reached.value_or(Time{}) <= kRounding + slack_ ||
        now - since <= delay + kRounding + slack_)
      continue;
    cluster.outstays = true;
    complain(service, fmt::format("still has RayCluster {}, which nobody needs since {}",
                                  name_of(*object), format_rfc3339(*cluster.unnamed)));
  }
  const bool reached = std::ranges::any_of(targets, [&](const auto& t) { return serves(t); });
  if (reached || !any_serves || sleeps(service) || is_deleting(service)) {
    lost_.erase(name_of(service));
  } else if (now - lost_.try_emplace(name_of(service), now).first->second > kTurnWithin + slack_) {
    complain(service, fmt::format("sends requests to {}, which does not serve, and another does",
                                  fmt::join(targets, ", ")));
    lost_.erase(name_of(service));
  }
}

void ServiceJudge::hear(const kube::Request& request) {
  const auto& plural = request.resource.plural;
  if (request.verb == kube::Verb::Delete && plural == "rayclusters")
    return judge_deletion(request.name);
  const bool changes = request.verb == kube::Verb::Update || request.verb == kube::Verb::Patch;
  if (!changes || !request.subresource.empty()) return;
  const auto* object = plural == "httproutes" ? world_.mirror().find("HTTPRoute", request.name)
                       : plural == "services" ? world_.mirror().find("Service", request.name)
                                              : nullptr;
  const auto* owner = object ? controller_of(*object) : nullptr;
  const auto* service = owner ? world_.mirror().by_uid(string_at(*owner, {"uid"})) : nullptr;
  if (!service || !is_service(*service)) return;
  if (plural == "httproutes") return judge_turn(*service, backends_of(request.body, true));
  if (auto cluster = selected_by(request.body);
      request.name == front_of(*service) && !cluster.empty())
    judge_turn(*service, {std::move(cluster)});
}

void ServiceJudge::judge_turn(const Json& service, const std::vector<std::string>& targets) {
  if (world_.loop().now() - lied_ <= kBelieved) return;
  const auto before = targets_of(service);
  if (std::ranges::none_of(before, [&](const auto& cluster) { return serves(cluster); })) return;
  if (std::ranges::any_of(targets, [&](const auto& cluster) { return has_served(cluster); }))
    return;
  complain(service, fmt::format("turns requests from {}, which serves, to {}, which does not",
                                fmt::join(before, ", "), fmt::join(targets, ", ")));
}

void ServiceJudge::judge_deletion(const std::string& name) {
  const auto* cluster = world_.mirror().find("RayCluster", name);
  const auto* owner = cluster ? controller_of(*cluster) : nullptr;
  const auto* service = owner ? world_.mirror().by_uid(string_at(*owner, {"uid"})) : nullptr;
  if (!service || !is_service(*service) || is_deleting(*service) || is_deleting(*cluster)) return;
  if (condition_of(*service, "Suspending").starts_with("True")) return;
  const auto targets = targets_of(*service);
  if (std::ranges::find(targets, name) != targets.end())
    complain(*service, fmt::format("deletes RayCluster {}, to which requests go", name));
  const auto& unnamed = clusters_[name].unnamed;
  const std::chrono::seconds delay{int_at(*service, {"spec", "rayClusterDeletionDelaySeconds"})};
  if (!unnamed)
    complain(*service, fmt::format("deletes RayCluster {}, which its status names", name));
  else if (world_.loop().now() - *unnamed < delay - kRounding)
    complain(*service, fmt::format("deletes RayCluster {}, which was needed until {}", name,
                                   format_rfc3339(*unnamed)));
}

void ServiceJudge::judge_end() {
  for (const auto* service : world_.mirror().list("RayService")) judge_end(*service);
}

void ServiceJudge::judge_end(const Json& service) {
  if (is_deleting(service)) return complain(service, "does not go");
  if (bool_at(service, {"spec", "suspend"})) return judge_nothing_left(service);
  judge_serving(service);
}

void ServiceJudge::judge_nothing_left(const Json& service) {
  if (!condition_of(service, "Suspended").starts_with("True"))
    complain(service, "should be suspended at the end");
  for (const auto* object : world_.mirror().all()) {
    const auto* owner = controller_of(*object);
    if (owner && string_at(*owner, {"uid"}) == uid_of(service))
      complain(service, fmt::format("is suspended and has {} {}", string_at(*object, {"kind"}),
                                    name_of(*object)));
  }
}

void ServiceJudge::judge_serving(const Json& service) {
  if (!condition_of(service, "Ready").starts_with("True"))
    complain(service, "is not ready at the end: " + condition_of(service, "Ready"));
  const std::string active(string_at(service, {"status", "activeServiceStatus", "rayClusterName"}));
  if (const auto targets = targets_of(service); targets != std::vector{active})
    complain(service, fmt::format("sends requests to {} and says that {} is active",
                                  fmt::join(targets, ", "), active));
  if (const auto count = clusters_of(service).size(); count != 1)
    complain(service, fmt::format("has {} clusters at the end", count));
  if (label_of(world_.get("Pod", world_.head(active)), ray::kLabelServe) != "true")
    complain(service, "does not send requests to the head, whose proxy is well, at the end");
  const auto& cluster = world_.get("RayCluster", active);
  const auto* have = find(cluster, {"spec"});
  const bool stays = string_at(service, {"spec", "upgradeStrategy", "type"}) == "None";
  const auto* wanted = find(service, {"spec", "rayClusterConfig"});
  const auto groups = [](const Json& spec) { return array_at(spec, {"workerGroupSpecs"}).size(); };
  if (!have ||
      (!stays && (image_of(*have) != image_of(*wanted) || groups(*have) != groups(*wanted))))
    complain(service, "runs on a cluster of an older spec at the end");
  const auto config = string_at(service, {"spec", "serveConfigV2"});
  const auto version = config.substr(config.find("version: ") + 9, 1);
  std::string sent;
  for (const auto& each : serve_.sent())
    if (each.head == uid_of(world_.get("Pod", world_.head(active)))) sent = dump_json(each.config);
  if (sent.find(fmt::format("\"version\":{}", version)) == std::string::npos)
    complain(service, fmt::format("wants config version {} and sent {}", version, sent));
}

}  // namespace manta::sim
