// What failed lately of one object's writes, by lane, and when to try again; and the brake for a
// planner that never settles. Pure but for the chance in the jitter.
#pragma once

#include "base/random.h"
#include "kube/plan.h"

#include <map>
#include <optional>
#include <string>
#include <unordered_map>

namespace manta::kube {

/// 5 ms doubling to 1000 s; the n-th attempt (from 1) waits between this and a fifth more.
Duration write_backoff(int attempts, Random& random);

class Lanes {
 public:
  const Failures& failures(Steady now);

  /// The last write there failed.
  bool has_failed(const std::string& lane) const { return failures_.contains(lane); }
  bool is_withheld(const std::string& lane, Steady now) const;
  Steady retry_at(const std::string& lane) const;
  void succeeded(const std::string& lane);
  void failed(const std::string& lane, const std::string& marker, const Error& error, Steady now,
              Random& random);
  /// The write met a newer world. True: it was the third in a row, which counts as a failure.
  bool stale(const std::string& lane, const std::string& marker, const Error& error, Steady now,
             Random& random);
  /// Nothing is held back any longer: what was asked for has changed.
  void hurry();
  /// Nor what a quota refused, where there is room again. True: there was such a failure.
  bool hurry_what_quota_refused();

 private:
  Failures failures_ = {};
  std::map<std::string, int, std::less<>> stale_in_a_row_ = {};
};

/// Notices writes that are planned again though they succeeded.
class RepeatGuard {
 public:
  /// Until when these writes (by fingerprint) must wait, if they must.
  std::optional<Steady> hold(std::uint64_t fingerprint, Steady now) const;
  /// They were all made. True: the first time that they are held.
  bool made(std::uint64_t fingerprint, Steady now, Random& random);
  /// The planner wanted nothing: it settles. What was made a moment ago is remembered all the same:
  /// somebody may undo it each time, and between making and undoing the planner is content.
  void rest(Steady now);

 private:
  struct Repeat {
    int times = 0;
    Steady not_before = {};
    Steady last = {};
  };
  std::unordered_map<std::uint64_t, Repeat> made_ = {};
  int passes_ = 0;          // without rest
  Steady not_before_ = {};  // for whatever is wanted, once that were too many
};

}  // namespace manta::kube
