// What a state's handler fills in: writes, facts, when to look again, and the status as it should
// be.
#pragma once

#include "controllers/rayjob/seen.h"
#include "controllers/settings.h"
#include "controllers/writes.h"
#include "kube/plan.h"

namespace manta::controllers::rayjob {

struct Draft {
  const RayJobSeen& seen;
  const Settings& settings;
  const kube::PlanContext& context;
  kube::Plan plan = {};
  ray::RayJobStatus status = {};  // starts as the stored one

  const ray::RayJob& job() const { return *seen.job; }
  const ray::RayJobSpec& spec() const { return seen.job->spec; }
  Time now() const { return context.now; }
  /// The last failed write of that lane, until one succeeds; null: none.
  const kube::Failure* failure_of(std::string_view lane) const {
    const auto found = context.failures.find(lane);
    return found == context.failures.end() ? nullptr : &found->second;
  }

  /// Plans again at `instant` at the latest, unless it has come.
  void look_at(Time instant) { look_again_within(plan, instant - now()); }
  /// True when `instant` has come; otherwise arranges to be asked again then.
  bool has_come(Time instant) {
    if (now() >= instant) return true;
    look_at(instant);
    return false;
  }
  void move_to(std::string_view deployment_status) {
    status.jobDeploymentStatus = deployment_status;
  }
  void fail(std::string_view reason, std::string message) {
    move_to("Failed");
    status.reason = reason;
    status.message = std::move(message);
  }
};

/// Whether a retry stays on the cluster of the last attempt. RJ-41
inline bool reuses_cluster(const Draft& draft) {
  return draft.settings.job_gates.reuse_cluster && draft.spec().retryStrategy == "ReuseRayCluster";
}

}  // namespace manta::controllers::rayjob
