// client-go's rate limit: a token bucket for each resource. Internal to the API client.
#pragma once

#include "base/loop.h"
#include "kube/object.h"

#include <map>
#include <stop_token>
#include <string>

namespace manta::kube {

class RateLimiter {
 public:
  /// qps ≤ 0: no limit. A burst below 1 counts as 1.
  RateLimiter(Loop& loop, double qps, int burst);

  /// Reserves the next place of that resource and waits for it, in the order of the calls.
  /// False: `stop` came first (the place is spent all the same).
  Task<bool> wait(Resource resource, std::stop_token stop);

 private:
  struct Bucket {
    double tokens;  // below 0: places reserved ahead
    Steady at;
  };

  Loop& loop_;
  double qps_;
  double burst_;
  std::map<std::string, Bucket> buckets_ = {};
};

}  // namespace manta::kube
