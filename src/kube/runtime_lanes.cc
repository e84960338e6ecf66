#include "kube/runtime_lanes.h"

#include "kube/quota.h"

#include <algorithm>

namespace manta::kube {
namespace {

constexpr Duration kFirst = std::chrono::milliseconds{5};
constexpr Duration kLongest = std::chrono::seconds{1000};
constexpr Duration kLongestForQuota = std::chrono::seconds{60};
constexpr int kStaleAllowed = 2;
// No controller of ours needs as many passes in a row to get where it wants to be.
constexpr int kPassesAllowed = 100;
// Repetitions with rest between them are forgotten after this, and held back about as long.
constexpr Duration kForgotten = std::chrono::seconds{10};
constexpr int kRepeatsKept = 12;  // 5 ms × 2^11 is 10 s

}  // namespace

Duration write_backoff(int attempts, Random& random) {
  const int doublings = std::clamp(attempts - 1, 0, 18);  // 5 ms × 2^18 is past the cap
  const Duration base = std::min(kFirst * (1 << doublings), kLongest);
  const auto jitter = static_cast<Duration::rep>(random.next() % 1000);
  return base + base * jitter / 5000;
}

const Failures& Lanes::failures(Steady now) {
  for (auto& [lane, failure] : failures_) failure.withheld = failure.retry_at > now;
  return failures_;
}

bool Lanes::is_withheld(const std::string& lane, Steady now) const { return retry_at(lane) > now; }

Steady Lanes::retry_at(const std::string& lane) const {
  const auto failure = failures_.find(lane);
  return failure == failures_.end() ? Steady{} : failure->second.retry_at;
}

void Lanes::succeeded(const std::string& lane) {
  failures_.erase(lane);
  stale_in_a_row_.erase(lane);
}

void Lanes::failed(const std::string& lane, const std::string& marker, const Error& error,
                   Steady now, Random& random) {
  Failure& failure = failures_[lane];
  failure.marker = marker;
  failure.error = error;
  ++failure.attempts;
  Duration wait = write_backoff(failure.attempts, random);
  // Others make room without our hearing of it.
  if (refused_by_quota(error)) wait = std::min(wait, kLongestForQuota);
  if (error.retry_after) wait = std::max(wait, Duration{*error.retry_after});
  failure.retry_at = now + wait;
}

bool Lanes::stale(const std::string& lane, const std::string& marker, const Error& error,
                  Steady now, Random& random) {
  if (++stale_in_a_row_[lane] <= kStaleAllowed) return false;
  failed(lane, marker, error, now, random);
  return true;
}

void Lanes::hurry() {
  for (auto& [lane, failure] : failures_) failure.retry_at = {};
}

bool Lanes::hurry_what_quota_refused() {
  bool any = false;
  for (auto& [lane, failure] : failures_) {
    if (!refused_by_quota(failure.error)) continue;
    failure.retry_at = {};
    any = true;
  }
  return any;
}

std::optional<Steady> RepeatGuard::hold(std::uint64_t fingerprint, Steady now) const {
  Steady until = not_before_;
  if (const auto found = made_.find(fingerprint); found != made_.end())
    until = std::max(until, found->second.not_before);
  return until > now ? std::optional(until) : std::nullopt;
}

bool RepeatGuard::made(std::uint64_t fingerprint, Steady now, Random& random) {
  ++passes_;
  Repeat& repeat = made_[fingerprint];
  ++repeat.times;
  repeat.last = now;
  // The first repetition goes ahead: what was made may have been undone by somebody else.
  if (repeat.times > 1) repeat.not_before = now + write_backoff(repeat.times - 1, random);
  const int excess = passes_ - kPassesAllowed;
  if (excess > 0) not_before_ = now + write_backoff(excess, random);
  return repeat.times == 6 || excess == 1;
}

void RepeatGuard::rest(Steady now) {
  for (auto& [fingerprint, repeat] : made_) repeat.times = std::min(repeat.times, kRepeatsKept);
  std::erase_if(made_, [now](const auto& entry) {
    return now >= std::max(entry.second.last, entry.second.not_before) + kForgotten;
  });
  passes_ = 0;
  not_before_ = {};
}

}  // namespace manta::kube
