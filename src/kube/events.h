// Events: recorded in the background, repeated ones aggregated into a series. Never on the critical
// path: a full queue drops the oldest and says so in the log.
#pragma once

#include "base/async.h"
#include "base/random.h"
#include "kube/api.h"
#include "kube/plan.h"

#include <memory>
#include <string>

namespace manta::kube {

/// The object an event is about.
struct ObjectRef {
  Resource resource = {};
  ObjectKey key = {};
  std::string uid = {};
  std::string resource_version = {};
};

/// Writes events.k8s.io/v1 Events. Those of equal type, reason, action and regarding within 6
/// minutes are one Event with a series: of what was created, those of one resourceVersion, with the
/// first one's note, as client-go has it (spec 02 §9); of all else those of one note, so that each
/// cause and each Pod that went is told. Of 25 different warnings on, the last one stands for all.
class EventRecorder {
 public:
  EventRecorder(Loop& loop, Api& api, Random& random, std::string reporting_controller,
                std::string reporting_instance);
  ~EventRecorder();

  void record(std::string_view reporting_controller, const ObjectRef& regarding,
              const EventNote& note);
  /// Writes what is queued until stopped, then what is left, for 2 s at most.
  Task<void> run(std::stop_token stop);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace manta::kube
