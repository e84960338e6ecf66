// Carries the scheduler's decisions out: binds Pods, or says in their condition PodScheduled and in
// an event why none can be bound.
#pragma once

#include "base/async.h"
#include "kube/api.h"
#include "kube/cache.h"
#include "kube/events.h"
#include "local/controllers/scheduler.h"

namespace manta::local {

class Scheduling {
 public:
  /// The caches are kept current by somebody else, and outlive this.
  Scheduling(Loop& loop, kube::Api& api, kube::Cache<PodView>& pods, kube::Cache<NodeView>& nodes,
             kube::EventRecorder& events, SchedulerOptions options);

  /// Until stopped.
  Task<void> run(std::stop_token stop);
  bool idle() const { return !working_; }

 private:
  Task<bool> act(Placement placement);
  Task<Result<Json>> bind(const Placement& placement);
  Task<Result<Json>> explain(const Placement& placement);
  void record(const PodView& pod, kube::EventType type, std::string reason, std::string note);

  Loop& loop_;
  kube::Api& api_;
  kube::Cache<PodView>& pods_;
  kube::Cache<NodeView>& nodes_;
  kube::EventRecorder& events_;
  SchedulerOptions options_;
  OneShot<bool> wake_;
  bool changed_ = true;
  bool working_ = false;
};

}  // namespace manta::local
