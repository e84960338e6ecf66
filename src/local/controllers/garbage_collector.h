// Deletes what has lost its owners, and carries foreground and orphaning deletions through; over
// every resource that the API server serves, custom ones too.
#pragma once

#include "base/async.h"
#include "base/random.h"
#include "kube/api.h"

#include <memory>

namespace manta::local {

class GarbageCollector {
 public:
  GarbageCollector(Loop& loop, kube::Api& api, Random& random);
  ~GarbageCollector();

  /// Until stopped. Notices new custom resources by itself.
  Task<void> run(std::stop_token stop);
  /// True when nothing waits to be looked at.
  bool idle() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace manta::local
