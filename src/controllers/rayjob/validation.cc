#include "controllers/rayjob/validation.h"

#include "ray/validation.h"

namespace manta::controllers::rayjob {

std::optional<Problem> validate(const RayJobSeen& seen, const Settings& settings) {
  const auto& job = *seen.job;
  if (auto ok = ray::validate_job_metadata(job.meta); !ok)
    return Problem{"InvalidRayJobMetadata", ok.error().message};
  if (auto ok = ray::validate_job_spec(job.spec, job.meta.annotations, validation_gates(settings));
      !ok)
    return Problem{"InvalidRayJobSpec", ok.error().message};
  if (auto ok = ray::validate_job_status(job.spec, job.status); !ok)
    return Problem{"InvalidRayJobStatus", ok.error().message};
  return std::nullopt;
}

}  // namespace manta::controllers::rayjob
