// What the caches show of one RayService and of everything that belongs to it.
#pragma once

#include "controllers/raycluster/seen.h"
#include "controllers/settings.h"
#include "kube/endpoint_slice_view.h"
#include "kube/views.h"
#include "ray/types.h"

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace manta::controllers::rayservice {

/// One of the two clusters that the status names.
struct ClusterSeen {
  std::shared_ptr<const ray::RayCluster> cluster = {};          // null: not there
  raycluster::Pods heads = {};                                  // those being deleted too
  std::shared_ptr<const kube::ServiceView> head_service = {};   // where its dashboard listens
  std::shared_ptr<const kube::ServiceView> serve_service = {};  // <cluster>-serve-svc
  std::shared_ptr<const kube::SecretView> auth_secret = {};     // of a cluster with a token

  /// There to stay: one that is being deleted serves nobody any more.
  bool exists() const { return cluster && !cluster->meta.deleting; }
};

struct RayServiceSeen {
  std::shared_ptr<const ray::RayService> service = {};
  ClusterSeen active = {};
  ClusterSeen pending = {};
  /// By label, whatever the status names. Source: spec/05 §2, "Association selector".
  std::vector<std::shared_ptr<const ray::RayCluster>> clusters = {};
  std::vector<std::shared_ptr<const kube::ServiceView>> services = {};
  /// Of clusters that the status does not name (any more).
  std::map<std::string, raycluster::Pods, std::less<>> dropped_pods = {};

  std::shared_ptr<const kube::ServiceView> head_service = {};   // <rayservice>-head-svc
  std::shared_ptr<const kube::ServiceView> serve_service = {};  // of the name that the spec gives
  std::shared_ptr<const kube::SpecView> gateway = {};
  std::shared_ptr<const kube::SpecView> route = {};
  /// Of every Service that may stand before the applications.
  std::vector<std::shared_ptr<const kube::EndpointSliceView>> slices = {};

  const kube::ObjectKey& key() const { return service->meta.key; }
};

inline constexpr std::string_view kIncremental = "NewClusterWithIncrementalUpgrade";
/// Traffic and capacity move in steps, through a Gateway.
bool is_incremental(const ray::RayServiceSpec& spec, const Settings& settings);
/// Whether a changed cluster spec may have a new cluster. Source: spec/05 §4.5.
bool may_replace(const ray::RayServiceSpec& spec, const Settings& settings);

/// The Serve Service of a RayService that is not incremental.
std::string serve_service_name(const ray::RayService& service);

inline constexpr std::string_view kDashboardTarget = "ray-dashboard";

}  // namespace manta::controllers::rayservice
