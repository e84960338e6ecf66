#include "local/node/lifecycle.h"

#include <algorithm>

namespace manta::local {

Time BackOff::ready_at(Time finished) const {
  if (!restarted || finished - *restarted > kForgetBackOffAfter) return finished;
  return finished + delay;
}

void BackOff::count(Time finished, Time now) {
  const bool forget = !restarted || finished - *restarted > kForgetBackOffAfter;
  delay = forget ? kFirstBackOff : std::min(delay * 2, kLongestBackOff);
  restarted = now;
}

namespace {

bool is_live(const ContainerState& c) {
  return c.phase == ContainerPhase::Running || c.phase == ContainerPhase::Starting;
}

class Decider {
 public:
  Decider(const PodSeen& seen, Time now) : seen_(seen), now_(now) {}

  PodDecision decide() {
    out_.initialized = seen_.initialized;
    if (seen_.stop) {
      wind_down();
      return out_;
    }
    const bool init_failed = !pass_init();
    if (init_failed) {
      wind_down();
      return out_;
    }
    if (!out_.initialized) return out_;
    bool all_done = true;
    for_each(ContainerKind::Main, [&](std::size_t i) {
      if (!advance(i)) all_done = false;
    });
    if (all_done) {
      out_.start.clear();  // a sidecar that just ended need not come back
      out_.backing_off.clear();
      wind_down();
    }
    return out_;
  }

 private:
  template <class Visit>
  void for_each(ContainerKind kind, Visit visit) {
    for (std::size_t i = 0; i < seen_.containers.size(); ++i)
      if (seen_.spec.containers[i].kind == kind) visit(i);
  }

  /// Starts or restarts a container when its time has come. True: it has ended for good.
  bool advance(std::size_t i) {
    const auto& state = seen_.containers[i];
    switch (state.phase) {
      case ContainerPhase::Running:
      case ContainerPhase::Starting:
        return false;
      case ContainerPhase::Waiting:
        if (state.last)
          restart_at(i, state.back_off.ready_at(state.last->finished));
        else
          start_at(i, now_);
        return false;
      case ContainerPhase::Terminated:
        if (!restarts_after(seen_.spec, seen_.spec.containers[i], state.ending->exit_code))
          return true;
        restart_at(i, state.back_off.ready_at(state.ending->finished));
        return false;
    }
    return false;
  }

  void restart_at(std::size_t i, Time when) {
    if (when > now_) {
      out_.backing_off.push_back(i);
      look_again(when);
    } else {
      start_at(i, when);
    }
  }

  void start_at(std::size_t i, Time when) {
    const auto& retry = seen_.containers[i].retry_at;
    if (retry && *retry > now_)
      look_again(*retry);
    else
      out_.start.push_back(i);
  }

  void look_again(Time when) {
    if (!out_.look_again || when < *out_.look_again) out_.look_again = when;
  }

  /// Walks the init containers in order up to the first that is not through. False: one has failed
  /// for good, and with it the Pod.
  bool pass_init() {
    for (std::size_t i = 0; i < seen_.containers.size(); ++i) {
      const auto& state = seen_.containers[i];
      const auto kind = seen_.spec.containers[i].kind;
      if (kind == ContainerKind::Main) break;
      if (kind == ContainerKind::Sidecar) {
        advance(i);
        // Once the Pod is initialized a restarting sidecar holds nobody up.
        const bool up = state.phase == ContainerPhase::Running && state.started;
        if (!up && !out_.initialized) return true;
        continue;
      }
      if (out_.initialized) continue;
      if (!advance(i)) return true;
      if (state.ending->exit_code != 0) return false;
    }
    out_.initialized = true;
    return true;
  }

  /// Main and init containers at once, then sidecars one by one in reverse order.
  void wind_down() {
    bool live = false;
    for (std::size_t i = 0; i < seen_.containers.size(); ++i) {
      if (seen_.spec.containers[i].kind == ContainerKind::Sidecar) continue;
      live = live || is_live(seen_.containers[i]);
      stop(i);
    }
    for (std::size_t i = seen_.containers.size(); i-- > 0 && !live;) {
      if (seen_.spec.containers[i].kind != ContainerKind::Sidecar) continue;
      live = is_live(seen_.containers[i]);
      stop(i);
    }
    out_.finished = !live;
  }

  void stop(std::size_t i) {
    if (is_live(seen_.containers[i]) && !seen_.containers[i].stopping) out_.stop.push_back(i);
  }

  const PodSeen& seen_;
  Time now_;
  PodDecision out_ = {};
};

}  // namespace

PodDecision decide_pod(const PodSeen& seen, Time now) { return Decider(seen, now).decide(); }

}  // namespace manta::local
