// When a probe is tried and what its answers add up to. Pure; prober.h tries.
//
// Deliberate difference from the kubelet: startup and readiness probes are also tried before
// initialDelaySeconds has passed (every half second). An early success counts, an early failure
// does not, so a container is ready as soon as it is.
#pragma once

#include "local/node/pod_spec.h"

#include <optional>

namespace manta::local {

enum class ProbeKind { Startup, Liveness, Readiness };

inline constexpr Duration kEarlyProbePeriod = std::chrono::milliseconds{500};

class ProbeState {
 public:
  ProbeState(ProbeKind kind, ProbeSpec spec, Time container_started);

  /// When to try next.
  Time next() const { return next_; }
  /// Whether a try at `now` is an early one, whose failure is only a "not yet".
  bool is_early(Time now) const { return now < begins_; }
  /// Takes an answer. True: passing() has changed, or a threshold of failures was reached.
  bool observe(bool success, Time tried, Time now);
  /// Liveness starts as passing, the others as not.
  bool passing() const { return passing_; }
  /// Failures in a row have reached the threshold (startup, liveness: kill the container).
  bool failed() const { return failed_; }

 private:
  ProbeKind kind_;
  ProbeSpec spec_;
  Time begins_;
  Time next_;
  bool passing_;
  bool failed_ = false;
  int successes_ = 0;
  int failures_ = 0;
};

}  // namespace manta::local
