#include "controllers/rayjob/valid_jobs.h"

#include "controllers/rayjob/validation.h"

namespace manta::controllers::rayjob {

void ValidJobs::look_at(RayJobSeen& seen, const Settings& settings) {
  const auto& meta = seen.job->meta;
  auto& known = known_[meta.key];
  if (known.uid != meta.uid) known = {.uid = meta.uid};
  const bool same_spec = known.judged == meta.generation && meta.generation != 0;
  const bool was_valid = known.valid && known.valid->meta.generation == meta.generation;
  // The newest object of that spec: the older one can go then.
  if (same_spec ? was_valid : !validate(*seen.job, settings)) known.valid = seen.job;
  known.judged = meta.generation;
  seen.last_valid = known.valid;
}

}  // namespace manta::controllers::rayjob
