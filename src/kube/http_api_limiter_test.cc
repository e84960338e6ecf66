#include "kube/http_api_limiter.h"

#include "base/virtual_loop.h"

#include <gtest/gtest.h>

namespace manta::kube {
namespace {

using namespace std::chrono_literals;

TEST(RateLimiter, ABurstAtOnceThenOneATick) {
  VirtualLoop loop;
  RateLimiter limiter(loop, 10, 3);
  const Time start = loop.now();
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(loop.run(limiter.wait(kPods, {})));
  EXPECT_EQ(loop.now(), start);
  for (int i = 1; i <= 4; ++i) {
    EXPECT_TRUE(loop.run(limiter.wait(kPods, {})));
    EXPECT_NEAR(static_cast<double>((loop.now() - start).count()), i * 100'000.0, 10.0);
  }
}

TEST(RateLimiter, ResourcesDoNotShareABucket) {
  VirtualLoop loop;
  RateLimiter limiter(loop, 1, 1);
  const Time start = loop.now();
  EXPECT_TRUE(loop.run(limiter.wait(kPods, {})));
  EXPECT_TRUE(loop.run(limiter.wait(kJobs, {})));
  EXPECT_EQ(loop.now(), start);
}

TEST(RateLimiter, NoneWithoutQps) {
  VirtualLoop loop;
  RateLimiter limiter(loop, 0, 0);
  const Time start = loop.now();
  for (int i = 0; i < 1000; ++i) EXPECT_TRUE(loop.run(limiter.wait(kPods, {})));
  EXPECT_EQ(loop.now(), start);
}

TEST(RateLimiter, WhoIsStoppedDoesNotWait) {
  VirtualLoop loop;
  RateLimiter limiter(loop, 0.001, 1);
  EXPECT_TRUE(loop.run(limiter.wait(kPods, {})));
  std::stop_source stop;
  loop.after(1s, [&] { stop.request_stop(); });
  const Time start = loop.now();
  EXPECT_FALSE(loop.run(limiter.wait(kPods, stop.get_token())));
  EXPECT_EQ(loop.now() - start, 1s);
}

}  // namespace
}  // namespace manta::kube
