// Workers that end again and again are replaced ever more rarely. RC-10, with its gate
//
// The memory is in the Pods: each carries the number of its attempt and a hash of the spec that it
// was made from (annotation ray.io/worker-attempt). One that has ended stays until it is time for
// the next attempt, which is made as it goes; so nothing is forgotten over a restart of the
// operator, and a changed spec begins anew.
#pragma once

#include "controllers/raycluster/seen.h"

#include <cstdint>
#include <optional>
#include <string>

namespace manta::controllers::raycluster {

class WorkerBackoff {
 public:
  WorkerBackoff(const ray::RayClusterSpec& spec, Time now) : spec_(spec), now_(now) {}

  /// Until when this Pod, which has ended, must not be replaced. Attempts are 10 s, 20 s, … 5 min
  /// apart, counted from their Pods' creation.
  std::optional<Time> held_until(const kube::PodView& ended) const;
  /// The number of this Pod's attempt: 0 for the first one, and for one of another spec.
  std::int32_t attempt_of(const kube::PodView& pod) const;
  /// That of its successor: 0 again after one that lived for ten minutes.
  std::int32_t attempt_after(const kube::PodView& ended) const;
  /// The annotation of a Pod that is to be made.
  std::string stamp(std::int32_t attempt) const;

  /// Of a group's living Pods: what one of those that have ended ended with, and when the next
  /// attempt is due; empty: none has.
  std::string describe_ended(const Pods& pods) const;
  /// A further attempt is under way.
  bool is_trying(const Pods& pods) const;

 private:
  bool is_of_this_spec(const kube::PodView& pod) const;
  const std::string& hash() const;

  const ray::RayClusterSpec& spec_;
  Time now_;
  mutable std::string hash_ = {};  // made when first needed
};

}  // namespace manta::controllers::raycluster
