// A World in which RayServices live: a scripted Ray Serve, endpoints behind Services, and a
// Gateway.
//
//   ServiceWorld world;
//   world.apply(kService).run_until(service_serves("s"));
//   world.set_image("two").run_until(upgraded("s"));
#pragma once

#include "sim/serve_double.h"
#include "world.h"

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace manta::integration {

/// RayService s with one application, on a cluster with one worker.
extern const char* const kService;
/// The same, in steps of 50 % through a Gateway.
extern const char* const kIncrementalService;

class ServiceWorld : public World {
 public:
  explicit ServiceWorld(WorldOptions options = {});
  ~ServiceWorld();

  ServeDouble& serve() { return *serve_; }

  ServiceWorld& deploy(std::string_view yaml);  // and waits until it serves
  /// Another spec for the cluster: a new image of the head.
  ServiceWorld& set_image(std::string_view image);
  ServiceWorld& set_config(std::string_view yaml);
  /// Upgrades in steps to that image, as far as the cluster that served has lost some traffic.
  ServiceWorld& begin_upgrade(std::string_view image);

  const Json& service() const { return get("RayService", "s"); }
  std::string active() const;
  std::string pending() const;
  /// "True NonZeroServeEndpoints", say.
  std::string condition(std::string_view type) const;
  std::string message(std::string_view type) const;
  std::vector<std::string> clusters() const;  // that are not being deleted
  /// The cluster that a Service selects.
  std::string behind(std::string_view service) const;
  /// Of the HTTPRoute, by cluster.
  std::map<std::string, std::int64_t> weights() const;
  int capacity(std::string_view side) const;  // "active", "pending"; -1: not set

  /// Both are made for incremental upgrades.
  ServiceWorld& serve_gateway_api();
  ServiceWorld& set_gateway(bool programmed);
  /// Of Services that are gone.
  ServiceWorld& forget_endpoints();

 private:
  ServiceWorld(WorldOptions options, const std::shared_ptr<ServeDouble*>& serve);
  Task<void> follow();
  Task<void> publish_endpoints(Json service);
  Task<void> publish_gateway();

  ServeDouble* serve_ = nullptr;
  Scope scope_;
  bool gateway_served_ = false;
  bool gateway_programmed_ = true;
  std::map<std::string, std::string> published_ = {};  // by name, as written last
};

Until service_serves(std::string name);  // Ready
Until upgraded(std::string name);        // UpgradeInProgress False, one cluster named
Until has_condition(std::string name, std::string type, std::string wanted);

}  // namespace manta::integration
