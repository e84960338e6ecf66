#include "local/controllers/job.h"

#include "local/controllers/job_pod.h"
#include "local/controllers/job_policy.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <utility>

namespace manta::local {
namespace {

using kube::EventNote;
using kube::EventType;
using kube::Plan;
using kube::Write;
using kube::WriteKind;
using PodPtr = std::shared_ptr<const PodView>;
using Uids = std::set<std::string, std::less<>>;

constexpr Duration kFirstBackoff = std::chrono::seconds{10};
constexpr Duration kLongestBackoff = std::chrono::minutes{10};

const Json* find_condition(const Json& status, std::string_view type) {
  for (const auto& condition : array_at(status, {"conditions"}))
    if (string_at(condition, {"type"}) == type) return &condition;
  return nullptr;
}

bool condition_true(const Json& status, std::string_view type) {
  const auto* condition = find_condition(status, type);
  return condition != nullptr && string_at(*condition, {"status"}) == "True";
}

struct Reason {
  std::string reason = {};
  std::string message = {};
};

/// Why a condition is as it is; for carrying FailureTarget over to Failed.
Reason reason_of(const Json& status, std::string_view type) {
  const auto* condition = find_condition(status, type);
  if (condition == nullptr) return {};
  return {std::string(string_at(*condition, {"reason"})),
          std::string(string_at(*condition, {"message"}))};
}

void set_condition(Json& status, std::string_view type, bool value, const Reason& why, Time now) {
  const JsonObject wanted{{"type", type},
                          {"status", value ? "True" : "False"},
                          {"lastProbeTime", format_rfc3339(now)},
                          {"lastTransitionTime", format_rfc3339(now)},
                          {"reason", why.reason},
                          {"message", why.message}};
  auto& fields = status.as_object();
  if (!fields.contains("conditions")) fields["conditions"] = JsonArray{};
  for (auto& condition : fields["conditions"].as_array()) {
    if (string_at(condition, {"type"}) != type) continue;
    if (string_at(condition, {"status"}) != string_at(wanted, {"status"})) condition = wanted;
    return;
  }
  fields["conditions"].as_array().emplace_back(wanted);
}

Uids read_uids(const Json& status, std::string_view which) {
  Uids uids;
  for (const auto& uid : array_at(status, {"uncountedTerminatedPods", which}))
    if (uid.is_string()) uids.emplace(uid.as_string());
  return uids;
}

JsonArray write_uids(const Uids& uids) {
  JsonArray result;
  for (const auto& uid : uids) result.emplace_back(uid);
  return result;
}

/// Everything that one pass knows about the Job, worked out step by step.
struct Pass {
  const JobView& job;
  const kube::PlanContext& context;
  std::vector<PodPtr> pods = {};     // the Job's own
  Json status = {};                  // as it will be written
  Uids succeeded = {};               // uncounted
  Uids failed_ = {};                 // uncounted
  std::int64_t succeeded_count = 0;  // with the uncounted
  std::int64_t failed_count = 0;     // with the uncounted
  std::vector<PodPtr> active = {};
  std::int64_t terminating = 0;
  std::string policy_failure = {};  // podFailurePolicy says FailJob, and why
  Plan plan = {};
  kube::Stage writes = {};
  std::optional<EventNote> status_event = {};

  bool suspended() const { return bool_at(job.spec, {"suspend"}); }
  bool finished() const {
    return condition_true(job.status, "Complete") || condition_true(job.status, "Failed");
  }
  std::optional<std::int64_t> completions() const {
    if (find(job.spec, {"completions"}) != nullptr) return int_at(job.spec, {"completions"}, 1);
    if (find(job.spec, {"parallelism"}) != nullptr) return std::nullopt;  // a work queue
    return 1;
  }
  std::int64_t parallelism() const { return int_at(job.spec, {"parallelism"}, 1); }
  /// A Pod being deleted is replaced at once, or only when it has ended.
  bool replaces_terminating() const {
    const bool has_policy = find(job.spec, {"podFailurePolicy"}) != nullptr;
    return string_at(job.spec, {"podReplacementPolicy"},
                     has_policy ? "Failed" : "TerminatingOrFailed") == "TerminatingOrFailed";
  }
};

Write remove_finalizer(const PodView& pod) {
  JsonArray rest;
  for (const auto& name : pod.meta.finalizers)
    if (name != kJobTracking) rest.emplace_back(name);
  Write write{.kind = WriteKind::Patch, .resource = kube::kPods, .key = pod.meta.key};
  // The version guards the other finalizers of the list against a lost update.
  write.body = JsonObject{
      {"metadata", JsonObject{{"finalizers", std::move(rest)},
                              {"uid", pod.meta.uid},
                              {"resourceVersion", std::to_string(pod.meta.resource_version)}}}};
  write.tolerate = {ErrorCode::NotFound};
  write.lane = "finalizer/" + pod.meta.key.name;
  write.why = "counted";
  return write;
}

Write delete_pod(const PodView& pod, std::string why) {
  Write write{.kind = WriteKind::Delete, .resource = kube::kPods, .key = pod.meta.key};
  write.precondition_uid = pod.meta.uid;
  write.tolerate = {ErrorCode::NotFound, ErrorCode::Conflict};
  write.lane = "delete";
  write.done_event = EventNote{EventType::Normal, "SuccessfulDelete", "", "Deleted pod: {name}"};
  write.why = std::move(why);
  return write;
}

void delete_active(Pass& pass, const std::string& why) {
  for (const auto& pod : pass.active) pass.writes.push_back(delete_pod(*pod, why));
}

/// Moves Pods through uncounted → without finalizer → counted, each step from what was stored.
void count_pods(Pass& pass) {
  const auto stored_succeeded = read_uids(pass.job.status, "succeeded");
  const auto stored_failed = read_uids(pass.job.status, "failed");
  Uids tracked;
  for (const auto& pod : pass.pods) {
    if (!pod->meta.has_finalizer(kJobTracking)) continue;
    const auto& uid = pod->meta.uid;
    if (stored_succeeded.contains(uid) || stored_failed.contains(uid)) {
      tracked.insert(uid);
      pass.writes.push_back(remove_finalizer(*pod));
    } else if (pod->succeeded()) {
      tracked.insert(uid);
      pass.succeeded.insert(uid);
    } else if (pod->deleting() && !pod->failed() && (pass.suspended() || pass.finished())) {
      // We took it away ourselves: no failure of the user's program.
      pass.writes.push_back(remove_finalizer(*pod));
    } else if (pod->failed() || (pod->deleting() && pass.replaces_terminating())) {
      const auto verdict = pod->failed() ? judge_failed_pod(pass.job.spec, *pod) : FailureVerdict{};
      if (verdict.action == FailureVerdict::Action::FailJob) pass.policy_failure = verdict.message;
      if (verdict.action == FailureVerdict::Action::Ignore) {
        pass.writes.push_back(remove_finalizer(*pod));
      } else {
        tracked.insert(uid);
        pass.failed_.insert(uid);
      }
    }
  }
  std::int64_t succeeded = int_at(pass.job.status, {"succeeded"});
  std::int64_t lost = int_at(pass.job.status, {"failed"});
  for (const auto& uid : stored_succeeded)
    tracked.contains(uid) ? (void)pass.succeeded.insert(uid) : (void)++succeeded;
  for (const auto& uid : stored_failed)
    tracked.contains(uid) ? (void)pass.failed_.insert(uid) : (void)++lost;
  auto& fields = pass.status.as_object();
  auto set_count = [&](std::string_view name, std::int64_t value) {
    value > 0 ? (void)(fields[name] = value) : (void)fields.erase(name);
  };
  set_count("succeeded", succeeded);
  set_count("failed", lost);
  JsonObject uncounted;
  if (!pass.succeeded.empty()) uncounted["succeeded"] = write_uids(pass.succeeded);
  if (!pass.failed_.empty()) uncounted["failed"] = write_uids(pass.failed_);
  // Empty and absent are the same, so that neither is written over the other for ever.
  if (!uncounted.empty() || !(stored_succeeded.empty() && stored_failed.empty()))
    fields["uncountedTerminatedPods"] = std::move(uncounted);
  pass.succeeded_count = succeeded + std::int64_t(pass.succeeded.size());
  pass.failed_count = lost + std::int64_t(pass.failed_.size());
}

void count_live(Pass& pass) {
  std::int64_t ready = 0;
  for (const auto& pod : pass.pods) {
    if (pod->finished()) continue;
    if (pod->deleting()) {
      ++pass.terminating;
    } else {
      pass.active.push_back(pod);
      ready += pod->ready ? 1 : 0;
    }
  }
  auto& fields = pass.status.as_object();
  if (!pass.active.empty())
    fields["active"] = std::int64_t(pass.active.size());
  else
    fields.erase("active");
  fields["ready"] = ready;
  fields["terminating"] = pass.terminating;
}

bool past_backoff_limit(const Pass& pass) {
  const auto limit = int_at(pass.job.spec, {"backoffLimit"}, 6);
  if (pass.failed_count > limit) return true;
  std::int64_t restarts = 0;
  for (const auto& pod : pass.active)
    if (pod->restarts_on_failure) restarts += pod->restarts;
  return limit == 0 ? restarts > 0 : restarts >= limit;
}

std::optional<Time> deadline_of(const Pass& pass) {
  const auto* seconds = find(pass.job.spec, {"activeDeadlineSeconds"});
  const auto start = parse_rfc3339(string_at(pass.status, {"startTime"}));
  if (seconds == nullptr || !start) return std::nullopt;
  return *start + std::chrono::seconds{int_at(pass.job.spec, {"activeDeadlineSeconds"})};
}

std::optional<Reason> decide_failure(const Pass& pass) {
  if (!pass.policy_failure.empty()) return Reason{"PodFailurePolicy", pass.policy_failure};
  if (past_backoff_limit(pass))
    return Reason{"BackoffLimitExceeded", "Job has reached the specified backoff limit"};
  if (const auto deadline = deadline_of(pass); deadline && pass.context.now >= *deadline)
    return Reason{"DeadlineExceeded", "Job was active longer than specified deadline"};
  return std::nullopt;
}

bool is_successful(const Pass& pass) {
  if (const auto wanted = pass.completions()) return pass.succeeded_count >= *wanted;
  return pass.succeeded_count > 0 && pass.active.empty() && pass.terminating == 0;
}

/// The Job's end is decided, but its Pods may still run: they go, then it is over.
void end_job(Pass& pass, std::string_view target, std::string_view final) {
  // The decision is stored before Pods go: their restarts may be what it was made of.
  if (!condition_true(pass.job.status, target)) return;
  delete_active(pass, "Job has ended");
  const bool over = pass.active.empty() && pass.terminating == 0 && pass.succeeded.empty() &&
                    pass.failed_.empty();
  if (!over) return;
  const auto why = reason_of(pass.status, target);
  set_condition(pass.status, final, true, why, pass.context.now);
  if (final == "Complete") {
    pass.status.as_object()["completionTime"] = format_rfc3339(pass.context.now);
    pass.status_event = EventNote{EventType::Normal, "Completed", "", "Job completed"};
  } else {
    pass.status_event = EventNote{EventType::Warning, why.reason, "", why.message};
  }
}

/// Nothing when no failed Pod makes us wait, or the rest of the wait.
std::optional<Duration> remaining_backoff(const Pass& pass) {
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

void look_again(Plan& plan, Duration in) {
  plan.look_again = plan.look_again ? std::min(*plan.look_again, in) : in;
}

void keep_pods(Pass& pass) {
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

void suspend_or_run(Pass& pass) {
  auto& fields = pass.status.as_object();
  if (pass.suspended()) {
    delete_active(pass, "Job is suspended");
    if (!condition_true(pass.status, "Suspended")) {
      set_condition(pass.status, "Suspended", true, {"JobSuspended", "Job suspended"},
                    pass.context.now);
      pass.status_event = EventNote{EventType::Normal, "Suspended", "", "Job suspended"};
    }
    fields.erase("startTime");  // the active deadline counts from the resumption
    return;
  }
  if (condition_true(pass.status, "Suspended")) {
    set_condition(pass.status, "Suspended", false, {"JobResumed", "Job resumed"}, pass.context.now);
    pass.status_event = EventNote{EventType::Normal, "Resumed", "", "Job resumed"};
  }
  if (!fields.contains("startTime")) fields["startTime"] = format_rfc3339(pass.context.now);
  if (const auto why = decide_failure(pass)) {
    set_condition(pass.status, "FailureTarget", true, *why, pass.context.now);
    return end_job(pass, "FailureTarget", "Failed");
  }
  if (is_successful(pass)) {
    set_condition(pass.status, "SuccessCriteriaMet", true,
                  {"CompletionsReached", "Reached expected number of succeeded pods"},
                  pass.context.now);
    return end_job(pass, "SuccessCriteriaMet", "Complete");
  }
  if (const auto deadline = deadline_of(pass)) look_again(pass.plan, *deadline - pass.context.now);
  keep_pods(pass);
}

/// ttlSecondsAfterFinished: the Job goes, its Pods first.
void expire(Pass& pass) {
  const auto* ttl = find(pass.job.spec, {"ttlSecondsAfterFinished"});
  if (ttl == nullptr) return;
  const auto* end = find_condition(
      pass.job.status, condition_true(pass.job.status, "Complete") ? "Complete" : "Failed");
  const auto at = parse_rfc3339(string_at(*end, {"lastTransitionTime"}));
  if (!at) return;
  const auto due = *at + std::chrono::seconds{int_at(pass.job.spec, {"ttlSecondsAfterFinished"})};
  if (due > pass.context.now) return look_again(pass.plan, due - pass.context.now);
  Write write{.kind = WriteKind::Delete, .resource = kube::kJobs, .key = pass.job.meta.key};
  write.precondition_uid = pass.job.meta.uid;
  write.propagation = kube::Propagation::Foreground;
  write.tolerate = {ErrorCode::NotFound, ErrorCode::Conflict};
  write.why = "ttlSecondsAfterFinished";
  pass.writes.push_back(std::move(write));
}

bool is_supported(const JobView& job, Plan& plan) {
  std::string_view what;
  if (string_at(job.spec, {"completionMode"}, "NonIndexed") != "NonIndexed")
    what = "spec.completionMode Indexed";
  if (find(job.spec, {"successPolicy"}) != nullptr) what = "spec.successPolicy";
  if (what.empty()) return true;
  plan.events.push_back({EventType::Warning, "Unsupported", "",
                         fmt::format("{} is not supported by manta's Job controller", what)});
  return false;
}

/// A merge patch from the stored status to the new one; guarded by the version that was seen.
Write status_write(const Pass& pass) {
  JsonObject fields = pass.status.as_object();
  for (const auto& [name, value] : pass.job.status.as_object())
    if (!fields.contains(name)) fields[name] = nullptr;
  for (const auto& [name, value] : object_at(pass.job.status, {"uncountedTerminatedPods"}))
    if (auto& after = fields["uncountedTerminatedPods"].as_object(); !after.contains(name))
      after[name] = nullptr;
  Write write{.kind = WriteKind::Patch, .resource = kube::kJobs, .key = pass.job.meta.key};
  write.subresource = "status";
  write.body = JsonObject{
      {"metadata", JsonObject{{"uid", pass.job.meta.uid},
                              {"resourceVersion", std::to_string(pass.job.meta.resource_version)}}},
      {"status", std::move(fields)}};
  write.done_event = pass.status_event;
  return write;
}

Plan run_job(Pass pass) {
  count_pods(pass);
  count_live(pass);
  if (pass.finished()) {
    delete_active(pass, "Job has ended");
    expire(pass);
  } else if (condition_true(pass.status, "FailureTarget")) {
    end_job(pass, "FailureTarget", "Failed");
  } else if (condition_true(pass.status, "SuccessCriteriaMet")) {
    end_job(pass, "SuccessCriteriaMet", "Complete");
  } else {
    suspend_or_run(pass);
  }
  if (!pass.writes.empty()) pass.plan.stages.push_back(std::move(pass.writes));
  if (pass.status != pass.job.status) pass.plan.status = status_write(pass);
  return std::move(pass.plan);
}

}  // namespace

Duration pod_backoff(std::int64_t failures) {
  auto wait = kFirstBackoff;
  for (std::int64_t i = 1; i < failures && wait < kLongestBackoff; ++i) wait *= 2;
  return std::min(wait, kLongestBackoff);
}

Plan plan_job(const JobSeen& seen, const kube::PlanContext& context) {
  Plan plan;
  kube::Stage strays;
  const bool going = seen.job == nullptr || seen.job->meta.deleting;
  std::vector<PodPtr> own;
  for (const auto& pod : seen.pods) {
    const auto* owner = pod->meta.controller_owner();
    const bool ours = seen.job && owner != nullptr && owner->uid == seen.job->meta.uid;
    if (ours) own.push_back(pod);
    // Nobody will count these any more; the finalizer would keep them for ever.
    if ((going || !ours) && pod->meta.has_finalizer(kJobTracking))
      strays.push_back(remove_finalizer(*pod));
  }
  if (!strays.empty()) plan.stages.push_back(std::move(strays));
  if (going) return plan;
  const auto manager = string_at(seen.job->spec, {"managedBy"}, "kubernetes.io/job-controller");
  if (manager != "kubernetes.io/job-controller" || !is_supported(*seen.job, plan)) return plan;
  return run_job(Pass{.job = *seen.job,
                      .context = context,
                      .pods = std::move(own),
                      .status = seen.job->status,
                      .plan = std::move(plan)});
}

}  // namespace manta::local
