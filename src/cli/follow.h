// Follows one RayJob to its end: says when its Pods change and why they hang, shows the driver's
// log as it comes.
#pragma once

#include "base/async.h"
#include "base/random.h"
#include "cli/client.h"
#include "cli/console.h"

#include <filesystem>
#include <memory>
#include <string>

namespace manta::cli {

struct JobEnd {
  bool succeeded = false;
  bool seen = false;  // false: we were stopped before the job ended
  std::string why = {};
  std::string cluster = {};  // the RayCluster's name, when there was one
};

class Follower {
 public:
  Follower(Loop& loop, Client& client, Random& random, const Console& console,
           std::filesystem::path home, kube::ObjectKey job);
  ~Follower();

  /// Until the job has ended and its log is shown, or stopped.
  Task<JobEnd> run(std::stop_token stop);
  /// What each Pod of the job says that is not running, a line each; for a message at a timeout.
  std::string troubles() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace manta::cli
