// What one pass over a Job knows, worked out step by step. Internal to the Job controller.
#pragma once

#include "local/controllers/job.h"

#include <optional>
#include <set>
#include <string>

namespace manta::local {

using PodPtr = std::shared_ptr<const PodView>;
using Uids = std::set<std::string, std::less<>>;

/// Everything that one pass knows about the Job, worked out step by step.
struct JobPass {
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
  kube::Plan plan = {};
  kube::Stage writes = {};
  std::optional<kube::EventNote> status_event = {};

  bool suspended() const { return bool_at(job.spec, {"suspend"}); }
  bool finished() const;
  /// Nothing: a work queue, whose Pods know themselves when all is done.
  std::optional<std::int64_t> completions() const;
  std::int64_t parallelism() const { return int_at(job.spec, {"parallelism"}, 1); }
  /// A Pod being deleted is replaced at once, or only when it has ended.
  bool replaces_terminating() const;
};

struct Reason {
  std::string reason = {};
  std::string message = {};
};

// job_conditions.cc
const Json* find_condition(const Json& status, std::string_view type);
bool condition_true(const Json& status, std::string_view type);
/// Why a condition is as it is; for carrying FailureTarget over to Failed.
Reason reason_of(const Json& status, std::string_view type);
void set_condition(Json& status, std::string_view type, bool value, const Reason& why, Time now);

// job_count.cc
/// Moves Pods through uncounted → without finalizer → counted, each step from what was stored.
void count_pods(JobPass& pass);
/// Active, ready and terminating ones.
void count_live(JobPass& pass);
kube::Write remove_finalizer(const PodView& pod);

// job_end.cc
std::optional<Time> deadline_of(const JobPass& pass);
std::optional<Reason> decide_failure(const JobPass& pass);
bool is_successful(const JobPass& pass);
/// The Job's end is decided, but its Pods may still run: they go, then it is over.
void end_job(JobPass& pass, std::string_view target, std::string_view final);
/// ttlSecondsAfterFinished: the Job goes, its Pods first.
void expire(JobPass& pass);

// job_pods.cc
/// As many Pods as wanted, after the wait that failed ones ask for.
void keep_pods(JobPass& pass);
void delete_active(JobPass& pass, const std::string& why);

void look_again(kube::Plan& plan, Duration in);

}  // namespace manta::local
