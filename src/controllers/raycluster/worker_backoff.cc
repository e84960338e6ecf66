#include "controllers/raycluster/worker_backoff.h"

#include "controllers/raycluster/pod_health.h"
#include "ray/labels.h"
#include "ray/spec_hash.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace manta::controllers::raycluster {
namespace {

constexpr Duration kFirst = std::chrono::seconds{10};
constexpr Duration kLongest = std::chrono::minutes{5};
constexpr Duration kLivedWell = std::chrono::minutes{10};
constexpr std::int32_t kMostAttempts = 1'000'000;  // anybody may edit an annotation
constexpr int kDoublings = 5;                      // 10 s × 2^5 is past the longest

Duration wait_after(std::int32_t attempt) {
  return std::min(kFirst * (1 << std::clamp(attempt, 0, kDoublings)), kLongest);
}

// "<attempt>/<hash>"
std::string_view stamp_of(const kube::PodView& pod) {
  return pod.meta.annotation(ray::kAnnotationWorkerAttempt);
}

std::string how_it_ended(const kube::PodView& pod) {
  return pod.trouble ? *pod.trouble : fmt::format("its phase is {}", to_string(pod.phase));
}

}  // namespace

const std::string& WorkerBackoff::hash() const {
  if (hash_.empty()) hash_ = ray::recreate_hash(spec_);
  return hash_;
}

bool WorkerBackoff::is_of_this_spec(const kube::PodView& pod) const {
  const auto stamp = stamp_of(pod);
  const auto slash = stamp.find('/');
  return slash != std::string_view::npos && stamp.substr(slash + 1) == hash();
}

std::int32_t WorkerBackoff::attempt_of(const kube::PodView& pod) const {
  const auto stamp = stamp_of(pod);
  std::int32_t attempt = 0;
  const auto [end, error] = std::from_chars(stamp.data(), stamp.data() + stamp.size(), attempt);
  if (error != std::errc{} || end == stamp.data() + stamp.size() || *end != '/' || attempt <= 0)
    return 0;
  return is_of_this_spec(pod) ? std::min(attempt, kMostAttempts) : 0;
}

std::optional<Time> WorkerBackoff::held_until(const kube::PodView& ended) const {
  // Made from another spec: the new one has had no chance yet. Without a stamp nobody knows.
  if (!stamp_of(ended).empty() && !is_of_this_spec(ended)) return std::nullopt;
  const auto until = ended.meta.created + wait_after(attempt_of(ended));
  return now_ < until ? std::optional(until) : std::nullopt;
}

std::int32_t WorkerBackoff::attempt_after(const kube::PodView& ended) const {
  if (!stamp_of(ended).empty() && !is_of_this_spec(ended)) return 0;
  if (now_ - ended.meta.created >= kLivedWell) return 0;
  return attempt_of(ended) + 1;
}

std::string WorkerBackoff::stamp(std::int32_t attempt) const {
  return fmt::format("{}/{}", attempt, hash());
}

std::string WorkerBackoff::describe_ended(const Pods& pods) const {
  for (const auto& pod : pods) {
    if (!judge_pod(*pod, ray::kNodeTypeWorker).remove) continue;
    const auto until = held_until(*pod);
    if (!until) continue;
    return fmt::format("Pod {} has ended, {}; attempt {} is due at {}", pod->meta.key.name,
                       how_it_ended(*pod), attempt_of(*pod) + 2, format_rfc3339(*until));
  }
  return {};
}

bool WorkerBackoff::is_trying(const Pods& pods) const {
  return std::ranges::any_of(
      pods, [&](const auto& pod) { return !pod->is_ready() && attempt_of(*pod) > 0; });
}

}  // namespace manta::controllers::raycluster
