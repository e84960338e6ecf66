#include "kube/http_api_limiter.h"

#include <algorithm>

namespace manta::kube {

RateLimiter::RateLimiter(Loop& loop, double qps, int burst)
    : loop_(loop), qps_(qps), burst_(std::max(burst, 1)) {}

Task<bool> RateLimiter::wait(Resource resource, std::stop_token stop) {
  if (qps_ <= 0) co_return !stop.stop_requested();
  const auto now = loop_.steady();
  const auto [entry, is_new] =
      buckets_.try_emplace(resource.api_version() + "/" + resource.plural, Bucket{burst_, now});
  auto& bucket = entry->second;
  const std::chrono::duration<double> elapsed = now - bucket.at;
  bucket.tokens = std::min(burst_, bucket.tokens + elapsed.count() * qps_) - 1;
  bucket.at = now;
  if (bucket.tokens >= 0) co_return !stop.stop_requested();
  const std::chrono::duration<double> delay(-bucket.tokens / qps_);
  co_return co_await sleep(loop_, std::chrono::ceil<Duration>(delay), stop);
}

}  // namespace manta::kube
