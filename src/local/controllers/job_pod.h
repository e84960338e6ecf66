// The Pod that a Job makes from its template.
#pragma once

#include "local/controllers/views.h"

#include <string_view>

namespace manta::local {

/// Keeps a finished Pod until its Job has counted it.
inline constexpr std::string_view kJobTracking = "batch.kubernetes.io/job-tracking";
inline constexpr std::string_view kJobNameLabel = "batch.kubernetes.io/job-name";

/// The template with generateName, owner, tracking finalizer and the four labels by which users and
/// RayJob find a Job's Pods. Source: Kubernetes batch/v1, "Job labels".
Json build_job_pod(const JobView& job);

}  // namespace manta::local
