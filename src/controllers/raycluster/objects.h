// The objects beside the Pods: each is made once and, but for the Ingress and the GCS claim, never
// compared again. Source: spec/02 §2.1.
#pragma once

#include "controllers/raycluster/seen.h"
#include "controllers/settings.h"
#include "kube/plan.h"

#include <string>
#include <utility>
#include <vector>

namespace manta::controllers::raycluster {

inline const kube::Resource kRoutes = {"route.openshift.io", "v1", "routes", "Route", true};

/// What is missing, in upstream's order: what cannot be made holds up all that comes after it.
struct ObjectsDecision {
  std::vector<kube::Stage> stages = {};
  /// What has changed since, and holds nothing up.
  kube::Stage edits = {};
  std::vector<kube::EventNote> events = {};
  /// Nothing else may be made until this has been put right.
  std::string blocked = {};

  void add(kube::Write write) { stages.push_back({std::move(write)}); }
};

ObjectsDecision decide_objects(const RayClusterSeen& seen, const Settings& settings,
                               const kube::PlanContext& context);

// The parts, in upstream's order. Each adds to `out`.
void plan_autoscaler_account(const RayClusterSeen& seen, const Settings& settings,
                             const kube::Failures& failures, ObjectsDecision& out);
void plan_ingress(const RayClusterSeen& seen, const Settings& settings, ObjectsDecision& out);
void plan_auth_secret(const RayClusterSeen& seen, const Settings& settings, Time now,
                      ObjectsDecision& out);
void plan_services(const RayClusterSeen& seen, const Settings& settings, ObjectsDecision& out);
void plan_gcs_claim(const RayClusterSeen& seen, ObjectsDecision& out);

/// The head Service as it would be made now.
Json wanted_head_service(const RayClusterSeen& seen, const Settings& settings);

/// A write that creates, with "Created <what> <ns>/<name>" or "Failed creating <what> …" as events.
kube::Write create_with_events(const kube::Resource& resource, Json body, std::string_view lane,
                               std::string_view kind_in_reason, std::string_view what);

}  // namespace manta::controllers::raycluster
