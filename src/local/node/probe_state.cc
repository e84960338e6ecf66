#include "local/node/probe_state.h"

#include <algorithm>

namespace manta::local {

ProbeState::ProbeState(ProbeKind kind, ProbeSpec spec, Time container_started)
    : kind_(kind),
      spec_(std::move(spec)),
      extra_until_(container_started + std::max(spec_.initial_delay, kExtraProbesFor)),
      regular_(container_started + spec_.initial_delay),
      next_(kind == ProbeKind::Liveness
                ? regular_
                : std::min(regular_, container_started + kExtraProbePeriod)),
      passing_(kind == ProbeKind::Liveness) {}

bool ProbeState::observe(bool success, Time tried, Time now) {
  const bool extra = is_extra(tried);
  const bool before = passing_;
  if (success) {
    failures_ = 0;
    ++successes_;
    if (successes_ >= spec_.success_threshold) passing_ = passed_once_ = true;
  } else {
    successes_ = 0;
    if (!extra) ++failures_;
    if (failures_ >= spec_.failure_threshold) {
      passing_ = false;
      failed_ = true;
      failures_ = 0;  // a container that outlives its kill is judged anew
    }
  }
  // A success begins a new rhythm; extra failures leave the regular one as it is.
  if (!extra || passing_) regular_ = tried + spec_.period;
  next_ = regular_;
  if (kind_ != ProbeKind::Liveness && !passed_once_ && tried < extra_until_)
    next_ = std::min(next_, tried + kExtraProbePeriod);
  next_ = std::max(next_, now);
  return passing_ != before || failed_;
}

}  // namespace manta::local
