#include "local/controllers/job.h"

#include "local/controllers/job_pass.h"
#include "local/controllers/job_pod.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace manta::local {
namespace {

using kube::EventNote;
using kube::EventType;
using kube::Plan;
using kube::Write;
using kube::WriteKind;

void suspend_or_run(JobPass& pass) {
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
Write status_write(const JobPass& pass) {
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

Plan run_job(JobPass pass) {
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

bool JobPass::finished() const {
  return condition_true(job.status, "Complete") || condition_true(job.status, "Failed");
}

std::optional<std::int64_t> JobPass::completions() const {
  if (find(job.spec, {"completions"}) != nullptr) return int_at(job.spec, {"completions"}, 1);
  if (find(job.spec, {"parallelism"}) != nullptr) return std::nullopt;
  return 1;
}

bool JobPass::replaces_terminating() const {
  const bool has_policy = find(job.spec, {"podFailurePolicy"}) != nullptr;
  return string_at(job.spec, {"podReplacementPolicy"},
                   has_policy ? "Failed" : "TerminatingOrFailed") == "TerminatingOrFailed";
}

void look_again(kube::Plan& plan, Duration in) {
  plan.look_again = plan.look_again ? std::min(*plan.look_again, in) : in;
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
  return run_job(JobPass{.job = *seen.job,
                         .context = context,
                         .pods = std::move(own),
                         .status = seen.job->status,
                         .plan = std::move(plan)});
}

}  // namespace manta::local
