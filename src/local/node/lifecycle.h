// The policy of one Pod: from what its containers are doing to what should be done next. Pure; the
// worker (pod_worker.h) acts on it. Source: Kubernetes, "Pod Lifecycle", "Init Containers",
// "Sidecar Containers"; back-off numbers from the kubelet.
#pragma once

#include "local/node/pod_spec.h"

#include <optional>
#include <string>
#include <vector>

namespace manta::local {

inline constexpr Duration kFirstBackOff = std::chrono::seconds{10};
inline constexpr Duration kLongestBackOff = std::chrono::minutes{5};
inline constexpr Duration kForgetBackOffAfter = std::chrono::minutes{10};

/// 10 s, 20 s, 40 s … 5 min; forgotten when the container held out for 10 minutes.
struct BackOff {
  Duration delay = {};                 // of the next restart; zero: none yet
  std::optional<Time> restarted = {};  // when it was last counted

  /// When a container that ended at `finished` may start again.
  Time ready_at(Time finished) const;
  /// Counts a restart.
  void count(Time finished, Time now);
};

/// How a container instance ended.
struct Ending {
  int exit_code = 0;
  int signal = 0;
  std::string reason = {};  // Completed, Error, OOMKilled, StartError, …
  std::string message = {};
  Time started = {};
  Time finished = {};
  std::string container_id = {};
};

/// Waiting: never started, or ended and waiting for its restart (`last`). Starting: being prepared.
enum class ContainerPhase { Waiting, Starting, Running, Terminated };

struct ContainerState {
  ContainerPhase phase = ContainerPhase::Waiting;
  std::string waiting_reason = {};
  std::string waiting_message = {};
  Time started_at = {};
  std::string container_id = {};
  std::string image_id = {};
  std::optional<Ending> ending = {};  // Terminated: this instance's
  std::optional<Ending> last = {};    // the one before
  int restart_count = 0;
  bool started = false;  // startup probe has passed (or there is none) and postStart is done
  bool ready = false;    // the readiness probe's word; only counts while running and started
  bool stopping = false;
  std::optional<Time> retry_at = {};  // could not be prepared; not before then
  BackOff back_off = {};
};

struct PodSeen {
  const PodSpec& spec;
  const std::vector<ContainerState>& containers;  // as spec.containers
  bool initialized = false;  // every init container had ended well once in this sandbox
  bool stop = false;         // the Pod is being deleted, evicted or past its deadline
};

struct PodDecision {
  std::vector<std::size_t> start = {};
  std::vector<std::size_t> stop = {};
  /// Ended and to be restarted, but not yet: shown as CrashLoopBackOff.
  std::vector<std::size_t> backing_off = {};
  std::optional<Time> look_again = {};
  bool initialized = false;
  /// Nothing runs and nothing will: the Pod's end.
  bool finished = false;
};

PodDecision decide_pod(const PodSeen& seen, Time now);

}  // namespace manta::local
