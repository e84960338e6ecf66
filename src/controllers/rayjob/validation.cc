#include "controllers/rayjob/validation.h"

#include "ray/validation.h"

namespace manta::controllers::rayjob {

std::optional<Problem> validate(const ray::RayJob& job, const Settings& settings) {
  if (auto ok = ray::validate_job_metadata(job.meta); !ok)
    return Problem{"InvalidRayJobMetadata", ok.error().message};
  if (auto ok = ray::validate_job_spec(job.spec, job.meta.annotations, validation_gates(settings));
      !ok)
    return Problem{"InvalidRayJobSpec", ok.error().message};
  if (auto ok = ray::validate_job_status(job.spec, job.status); !ok)
    return Problem{"InvalidRayJobStatus", ok.error().message};
  return std::nullopt;
}

ray::RayJobSpec spec_to_go_on_with(const RayJobSeen& seen) {
  if (seen.last_valid) return seen.last_valid->spec;
  auto spec = seen.job->spec;
  spec.suspend = false;
  spec.shutdownAfterJobFinishes = false;
  spec.ttlSecondsAfterFinished = 0;
  spec.deletionStrategy.reset();
  spec.backoffLimit.reset();
  if (spec.activeDeadlineSeconds.value_or(1) <= 0) spec.activeDeadlineSeconds.reset();
  if (spec.preRunningDeadlineSeconds.value_or(1) <= 0) spec.preRunningDeadlineSeconds.reset();
  return spec;
}

}  // namespace manta::controllers::rayjob
