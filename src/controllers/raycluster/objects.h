// The objects beside the Pods: each is made once and, but for the Ingress and the GCS claim, never
// compared again. Source: spec/02 §2.1.
#pragma once

#include "controllers/raycluster/seen.h"
#include "controllers/settings.h"
#include "kube/plan.h"

#include <string>

namespace manta::controllers::raycluster {

/// What is missing, as writes that may run side by side, with their events.
struct ObjectsDecision {
  kube::Stage writes = {};
  /// After them: who may not do everything may bind to a Role only once Kubernetes knows the Role.
  kube::Stage binding = {};
  std::vector<kube::EventNote> events = {};
  /// Nothing else may be made until this has been put right.
  std::string blocked = {};
};

ObjectsDecision decide_objects(const RayClusterSeen& seen, const Settings& settings, Time now);

// The parts, in upstream's order. Each adds to `out`.
void plan_autoscaler_account(const RayClusterSeen& seen, const Settings& settings,
                             ObjectsDecision& out);
void plan_ingress(const RayClusterSeen& seen, const Settings& settings, ObjectsDecision& out);
void plan_auth_secret(const RayClusterSeen& seen, const Settings& settings, Time now,
                      ObjectsDecision& out);
void plan_services(const RayClusterSeen& seen, const Settings& settings, ObjectsDecision& out);
void plan_gcs_claim(const RayClusterSeen& seen, ObjectsDecision& out);

/// A write that creates, with "Created <what> <ns>/<name>" or "Failed creating <what> …" as events.
kube::Write create_with_events(const kube::Resource& resource, Json body, std::string_view lane,
                               std::string_view kind_in_reason, std::string_view what);

}  // namespace manta::controllers::raycluster
