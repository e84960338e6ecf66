// Which Pods count as succeeded, failed, active.
#include "local/controllers/job_pass.h"
#include "local/controllers/job_pod.h"
#include "local/controllers/job_policy.h"

#include <utility>

namespace manta::local {
namespace {

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

}  // namespace

kube::Write remove_finalizer(const PodView& pod) {
  JsonArray rest;
  for (const auto& name : pod.meta.finalizers)
    if (name != kJobTracking) rest.emplace_back(name);
  kube::Write write{.kind = kube::WriteKind::Patch, .resource = kube::kPods, .key = pod.meta.key};
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

void count_pods(JobPass& pass) {
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

void count_live(JobPass& pass) {
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

}  // namespace manta::local
