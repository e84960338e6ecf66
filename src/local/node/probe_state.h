// When a probe is tried and what its answers add up to. Pure; prober.h tries.
//
// Deliberate difference from the kubelet: until they have passed once, startup and readiness probes
// are also tried between their regular times (every half second, while initialDelaySeconds lasts
// and for the first 30 s at least). An extra try that succeeds counts, one that fails does not, so
// a container is ready as soon as it is.
#pragma once

#include "local/node/pod_spec.h"

#include <optional>

namespace manta::local {

enum class ProbeKind { Startup, Liveness, Readiness };

inline constexpr Duration kExtraProbePeriod = std::chrono::milliseconds{500};
inline constexpr Duration kExtraProbesFor = std::chrono::seconds{30};

class ProbeState {
 public:
  ProbeState(ProbeKind kind, ProbeSpec spec, Time container_started);

  /// When to try next.
  Time next() const { return next_; }
  /// Whether a try at `now` is an extra one, whose failure is only a "not yet".
  bool is_extra(Time now) const { return now < regular_; }
  /// Takes an answer. True: passing() has changed, or a threshold of failures was reached.
  bool observe(bool success, Time tried, Time now);
  /// Liveness starts as passing, the others as not.
  bool passing() const { return passing_; }
  /// Failures in a row have reached the threshold (startup, liveness: kill the container).
  bool failed() const { return failed_; }

 private:
  ProbeKind kind_;
  ProbeSpec spec_;
  Time extra_until_;
  Time regular_;  // the next regular try
  Time next_;
  bool passing_;
  bool failed_ = false;
  bool passed_once_ = false;
  int successes_ = 0;
  int failures_ = 0;
};

}  // namespace manta::local
