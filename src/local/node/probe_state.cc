#include "local/node/probe_state.h"

#include <algorithm>

namespace manta::local {

ProbeState::ProbeState(ProbeKind kind, ProbeSpec spec, Time container_started)
    : kind_(kind),
      spec_(std::move(spec)),
      begins_(container_started + spec_.initial_delay),
      next_(kind == ProbeKind::Liveness ? begins_
                                        : std::min(begins_, container_started + kEarlyProbePeriod)),
      passing_(kind == ProbeKind::Liveness) {}

bool ProbeState::observe(bool success, Time tried, Time now) {
  const bool early = is_early(tried);
  const bool before = passing_;
  if (success) {
    failures_ = 0;
    ++successes_;
    if (successes_ >= spec_.success_threshold) passing_ = true;
  } else {
    successes_ = 0;
    if (!early) ++failures_;
    if (failures_ >= spec_.failure_threshold) {
      passing_ = false;
      failed_ = true;
      failures_ = 0;  // a container that outlives its kill is judged anew
    }
  }
  next_ = tried + spec_.period;
  if (early && kind_ != ProbeKind::Liveness && !passing_)
    next_ = std::min(std::max(tried + kEarlyProbePeriod, now), std::max(begins_, now));
  next_ = std::max(next_, now);
  return passing_ != before || failed_;
}

}  // namespace manta::local
