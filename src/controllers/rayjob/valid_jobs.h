// Remembers of each RayJob the newest version with a valid spec, so that an invalid edit does not
// orphan what runs. RJ-21
#pragma once

#include "controllers/rayjob/seen.h"
#include "controllers/settings.h"

#include <map>
#include <memory>

namespace manta::controllers::rayjob {

class ValidJobs {
 public:
  /// Notes seen.job when its spec is valid, and sets seen.last_valid. A spec is judged once a
  /// generation; while it is valid nothing but a pointer is kept.
  void look_at(RayJobSeen& seen, const Settings& settings);
  void forget(const kube::ObjectKey& key) { known_.erase(key); }

 private:
  struct Known {
    std::string uid = {};
    std::int64_t judged = 0;  // generation
    std::shared_ptr<const ray::RayJob> valid = {};
  };
  std::map<kube::ObjectKey, Known> known_ = {};
};

}  // namespace manta::controllers::rayjob
