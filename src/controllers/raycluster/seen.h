// What the caches show of one RayCluster and of everything that belongs to it.
#pragma once

#include "controllers/batchscheduler/gang.h"
#include "controllers/mtls/readiness.h"
#include "controllers/settings.h"
#include "kube/plan.h"
#include "kube/views.h"
#include "ray/types.h"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace manta::controllers::raycluster {

using PodPtr = std::shared_ptr<const kube::PodView>;
using Pods = std::vector<PodPtr>;

struct RayClusterSeen {
  std::shared_ptr<const ray::RayCluster> cluster = {};
  /// Label ray.io/cluster; every node type, those being deleted too; by name. Its own, and those
  /// without an owner that a cluster of its name has left behind (adoption.h).
  Pods pods = {};
  /// Pods with such labels that the cluster does not own: somebody made them by hand.
  std::vector<std::string> foreign_pods = {};
  /// Of a group's workersToDelete: Ray's Pods that live, and are none of the group's. SEC-02
  struct NamedInVain {
    std::string group = {};
    std::string pod = {};
  };
  std::vector<NamedInVain> named_in_vain = {};

  std::vector<std::shared_ptr<const kube::ServiceView>> head_services =
      {};                                // by selector, spec/02 §1
  bool head_service_name_taken = false;  // by a Service that the selector does not find
  bool headless_service = false;
  bool serve_service = false;
  std::shared_ptr<const kube::SecretView> auth_secret = {};  // of the name that we would use
  bool service_account = false;
  bool role = false;
  bool role_binding = false;
  std::shared_ptr<const kube::SpecView> ingress = {};              // of our name, whoever owns it
  std::vector<std::shared_ptr<const kube::MetaView>> routes = {};  // any with our label
  bool route_name_taken = false;                                   // by one without it
  std::shared_ptr<const kube::SpecView> gcs_claim = {};            // the user's or ours
  std::vector<std::shared_ptr<const kube::JobView>> cleanup_jobs = {};
  batchscheduler::GangSeen gang = {};
  mtls::LeavesSeen certificates = {};  // of a cluster with mTLS

  const ray::RayClusterSpec& spec() const { return cluster->spec; }
  const kube::ObjectKey& key() const { return cluster->meta.key; }
};

/// Pods of this node type (spec/02 §1, association selectors).
Pods pods_of_type(const Pods& pods, std::string_view node_type);
/// Pods of this worker group: ray.io/group alone, as upstream selects them.
Pods pods_of_group(const Pods& pods, std::string_view group);
bool is_deleting(const kube::PodView& pod);
/// Those that are not being deleted.
Pods living(const Pods& pods);
/// The whole number that a label says; -1 when it says none.
std::int32_t label_number(const kube::PodView& pod, std::string_view key);

/// The head template's account, else the cluster's name.
std::string service_account_name(const ray::RayCluster& cluster);

}  // namespace manta::controllers::raycluster
