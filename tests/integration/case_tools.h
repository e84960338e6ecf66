// What the tests of users' cases have in common.
#pragma once

#include "manifests.h"
#include "sim/relay.h"
#include "world.h"

#include <fmt/format.h>

#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>

namespace manta::integration {

/// Group g of kCluster with this many replicas; `more` goes into the group ("numOfHosts: 2").
inline std::string group_of(int replicas, std::string_view more = {}) {
  auto text = fmt::format(fmt::runtime(kGroup), replicas);
  if (!more.empty()) text.insert(text.find("groupName"), fmt::format("{}, ", more));
  return text;
}

/// The operator sees nothing of this resource until its watch is let go, by a restart of the
/// stream.
inline void lag(World& world, kube::Resource resource) {
  world.faults().on_event = [resource](std::uint64_t, const kube::WatchRequest& request,
                                       const kube::WatchEvent&) {
    return request.resource == resource ? kube::EventFault::Break : kube::EventFault::None;
  };
}
inline void unlag(World& world) { world.faults().on_event = {}; }

/// The first write of which `matches` is true goes wrong.
inline void fault_once(World& world, kube::CallFault fault,
                       std::function<bool(const kube::Request&)> matches) {
  world.faults().on_write = [fault, matches = std::move(matches), done = false](
                                std::size_t, const kube::Request& request) mutable {
    if (done || !matches(request)) return kube::CallFault::None;
    done = true;
    return fault;
  };
}

inline bool creates(const kube::Request& request, const kube::Resource& resource) {
  return request.verb == kube::Verb::Create && request.resource == resource;
}

/// Lets everything through but creations of one resource; behind WorldOptions::tamper.
class Refuses : public sim::Relay {
 public:
  Refuses(
      kube::Api& api, kube::Resource resource, std::string why,
      std::function<bool()> when = [] { return true; })
      : Relay(api), resource_(std::move(resource)), why_(std::move(why)), when_(std::move(when)) {}

  Task<Result<kube::Response>> call(kube::Request request) override {
    if (creates(request, resource_) && when_())
      co_return failed({.code = ErrorCode::Forbidden, .message = why_, .http_status = 403});
    co_return co_await inner().call(std::move(request));
  }

 private:
  kube::Resource resource_;
  std::string why_;
  std::function<bool()> when_;
};

/// A quota that has room for so many more Pods.
inline std::function<std::unique_ptr<kube::Api>(kube::Api&)> quota(int& room) {
  return [&room](kube::Api& wire) {
    return std::make_unique<Refuses>(wire, kube::kPods, "pods is forbidden: exceeded quota: small",
                                     [&room] { return room-- <= 0; });
  };
}

/// "True Reason" of a RayCluster's condition; "absent" without it.
inline std::string condition_of(const World& world, std::string_view cluster,
                                std::string_view type) {
  for (const auto& item : array_at(world.get("RayCluster", cluster), {"status", "conditions"}))
    if (string_at(item, {"type"}) == type)
      return fmt::format("{} {}", string_at(item, {"status"}), string_at(item, {"reason"}));
  return "absent";
}

/// Its message; empty without it.
inline std::string message_of(const World& world, std::string_view cluster, std::string_view type) {
  for (const auto& item : array_at(world.get("RayCluster", cluster), {"status", "conditions"}))
    if (string_at(item, {"type"}) == type) return std::string(string_at(item, {"message"}));
  return {};
}

inline Until cluster_says(std::string cluster, std::string type, std::string want) {
  return {fmt::format("{} of {} is {}", type, cluster, want),
          [cluster, type, want](const World& world) {
            return world.mirror().find("RayCluster", cluster) &&
                   condition_of(world, cluster, type) == want;
          }};
}

/// The Ray container of a Pod (or of a Job's template).
inline const Json& ray_container(const Json& object) {
  const auto* spec = find(object, {"spec", "template", "spec"});
  return array_at(spec ? *spec : *find(object, {"spec"}), {"containers"}).at(0);
}

/// The last entry of that name in its env; "(absent)".
inline std::string env_of(const Json& object, std::string_view name) {
  std::string value = "(absent)";
  for (const auto& entry : array_at(ray_container(object), {"env"}))
    if (string_at(entry, {"name"}) == name) value = string_at(entry, {"value"});
  return value;
}

/// The text that starts Ray in a Pod.
inline std::string ray_start(const Json& pod) { return env_of(pod, "KUBERAY_GEN_RAY_START_CMD"); }

}  // namespace manta::integration
