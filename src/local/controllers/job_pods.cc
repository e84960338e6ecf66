// The Pods of a Job that goes on.
#include "local/controllers/job_pass.h"
#include "local/controllers/job_pod.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace manta::local {
namespace {

using kube::EventNote;
using kube::EventType;
using kube::Write;
using kube::WriteKind;

constexpr Duration kFirstBackoff = std::chrono::seconds{10};
constexpr Duration kLongestBackoff = std::chrono::minutes{10};

Write delete_pod(const PodView& pod, std::string why) {
  Write write{.kind = WriteKind::Delete, .resource = kube::kPods, .key = pod.meta.key};
  write.precondition_uid = pod.meta.uid;
  write.tolerate = {ErrorCode::NotFound, ErrorCode::Conflict};
  write.lane = "delete";
  write.done_event = EventNote{EventType::Normal, "SuccessfulDelete", "", "Deleted pod: {name}"};
  write.why = std::move(why);
  return write;
}

/// Nothing when no failed Pod makes us wait, or the rest of the wait.
std::optional<Duration> remaining_backoff(const JobPass& pass) {
  std::optional<Time> last_success;
  auto end_of = [](const PodView& pod) {
    std::optional<Time> latest;
    for (const auto& end : pod.ends)
      if (end.finished_at && (!latest || *end.finished_at > *latest)) latest = end.finished_at;
    return latest ? *latest : pod.meta.deleting.value_or(pod.meta.created);
  };
  for (const auto& pod : pass.pods)
    if (pod->succeeded()) last_success = std::max(last_success.value_or(Time{}), end_of(*pod));
  std::int64_t failures = 0;
  Time last_failure{};
  for (const auto& pod : pass.pods) {
    if (!pod->failed() || (last_success && end_of(*pod) < *last_success)) continue;
    ++failures;
    last_failure = std::max(last_failure, end_of(*pod));
  }
  if (failures == 0) return std::nullopt;
  const auto until = last_failure + pod_backoff(failures);
  if (until <= pass.context.now) return std::nullopt;
  return until - pass.context.now;
}

}  // namespace

Duration pod_backoff(std::int64_t failures) {
  auto wait = kFirstBackoff;
  for (std::int64_t i = 1; i < failures && wait < kLongestBackoff; ++i) wait *= 2;
  return std::min(wait, kLongestBackoff);
}

void delete_active(JobPass& pass, const std::string& why) {
  for (const auto& pod : pass.active) pass.writes.push_back(delete_pod(*pod, why));
}

void keep_pods(JobPass& pass) {
  auto wanted = pass.parallelism();
  const auto live = std::int64_t(pass.active.size());
  if (const auto completions = pass.completions())
    wanted = std::min(wanted, *completions - pass.succeeded_count);
  else if (pass.succeeded_count > 0)
    wanted = std::min(wanted, live);  // a work queue that begins to drain takes no new Pods
  wanted = std::max<std::int64_t>(wanted, 0);
  const auto counted = live + (pass.replaces_terminating() ? 0 : pass.terminating);
  if (counted > wanted) {
    auto newest_first = pass.active;
    std::ranges::sort(newest_first, [](const PodPtr& a, const PodPtr& b) {
      return std::tie(a->meta.created, a->meta.key) > std::tie(b->meta.created, b->meta.key);
    });
    for (std::int64_t i = 0; i < std::min(live, counted - wanted); ++i)
      pass.writes.push_back(
          delete_pod(*newest_first[std::size_t(i)], "more Pods than parallelism"));
    return;
  }
  if (counted == wanted) return;
  if (const auto wait = remaining_backoff(pass)) return look_again(pass.plan, *wait);
  for (auto i = counted; i < wanted; ++i) {
    Write write{.kind = WriteKind::Create, .resource = kube::kPods, .key = pass.job.meta.key};
    write.body = build_job_pod(pass.job);
    write.lane = "create";
    write.done_event = EventNote{EventType::Normal, "SuccessfulCreate", "", "Created pod: {name}"};
    write.failed_event =
        EventNote{EventType::Warning, "FailedCreate", "", "Error creating: {error}"};
    pass.writes.push_back(std::move(write));
  }
}

}  // namespace manta::local
