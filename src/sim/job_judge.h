// Laws about RayJobs: what has ended stays so; SUCCEEDED is said only of a job of which Ray said
// it; a cluster goes only when its job lets go of it; and what a finished job has to give back, it
// gives back.
#pragma once

#include "sim/world.h"

#include <string>
#include <vector>

namespace manta::sim {

class JobJudge {
 public:
  JobJudge(World& world, std::vector<std::string>& broken);

  void hear(const kube::Request& request);
  /// Every RayJob has ended, sleeps, or waits for its user.
  bool rest() const;
  /// Once nothing happens any more. `fates_hold`: nothing but the script decided how jobs end.
  void judge_end(bool fates_hold);

 private:
  void at_commit(const Change& change);
  void judge_deletion_of_cluster(const Json& cluster);
  void judge_end(const Json& job, bool fates_hold);
  void judge_fate(const Json& job);

  World& world_;
  std::vector<std::string>& broken_;
};

}  // namespace manta::sim
