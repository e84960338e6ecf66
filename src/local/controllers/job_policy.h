// spec.podFailurePolicy: what a failed Pod means for its Job.
#pragma once

#include "base/json.h"
#include "local/controllers/views.h"

#include <string>

namespace manta::local {

struct FailureVerdict {
  enum class Action { Count, Ignore, FailJob };
  Action action = Action::Count;
  std::string message = {};  // FailJob: for the Job's condition
};

/// The first rule that the Pod meets; Count when none does. Source: Kubernetes, "Pod failure
/// policy".
FailureVerdict judge_failed_pod(const Json& job_spec, const PodView& pod);

}  // namespace manta::local
