#include "kube/runtime_lanes.h"

#include "kube/runtime_write.h"

#include <gtest/gtest.h>

namespace manta::kube {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

const Error kQuota{.code = ErrorCode::Forbidden, .message = "quota"};
const Steady kNow{seconds{1'000'000}};

TEST(WriteBackoff, DoublesFrom5MillisecondsTo1000Seconds) {
  SeededRandom random(1);
  for (int attempt = 1; attempt <= 40; ++attempt) {
    const Duration base =
        std::min<Duration>(milliseconds{5} * (1LL << std::min(attempt - 1, 30)), seconds{1000});
    const Duration wait = write_backoff(attempt, random);
    EXPECT_GE(wait, base) << attempt;
    EXPECT_LE(wait, base + base / 5) << attempt;
  }
}

TEST(Lanes, BackOffAlone) {
  SeededRandom random(1);
  Lanes lanes;
  lanes.failed("a", "pod", kQuota, kNow, random);
  EXPECT_TRUE(lanes.is_withheld("a", kNow));
  EXPECT_FALSE(lanes.is_withheld("b", kNow));
  EXPECT_FALSE(lanes.is_withheld("a", kNow + milliseconds{7}));
  EXPECT_EQ(lanes.failures(kNow).at("a").attempts, 1);
  EXPECT_TRUE(lanes.failures(kNow).at("a").withheld);
  EXPECT_FALSE(lanes.failures(kNow + milliseconds{7}).at("a").withheld);
  lanes.hurry();
  EXPECT_FALSE(lanes.is_withheld("a", kNow));
  EXPECT_EQ(lanes.failures(kNow).at("a").attempts, 1);  // still known to the planner
  lanes.succeeded("a");
  EXPECT_TRUE(lanes.failures(kNow).empty());
}

TEST(Lanes, WhatAQuotaRefusedIsTriedEachMinuteAndWhenThereIsRoom) {
  SeededRandom random(1);
  const Error full{.code = ErrorCode::Forbidden, .message = "pods is forbidden: exceeded quota: q"};
  Lanes lanes;
  for (int i = 0; i < 30; ++i) {
    lanes.failed("a", "", full, kNow, random);
    lanes.failed("b", "", kQuota, kNow, random);
  }
  EXPECT_FALSE(lanes.is_withheld("a", kNow + seconds{61}));
  EXPECT_TRUE(lanes.is_withheld("b", kNow + seconds{999}));
  EXPECT_TRUE(lanes.hurry_what_quota_refused());
  EXPECT_FALSE(lanes.is_withheld("a", kNow));
  EXPECT_TRUE(lanes.is_withheld("b", kNow));
  lanes.succeeded("a");
  EXPECT_FALSE(lanes.hurry_what_quota_refused());
}

TEST(Lanes, WaitAsLongAsTheServerAsks) {
  SeededRandom random(1);
  Lanes lanes;
  Error busy{.code = ErrorCode::TooManyRequests};
  busy.retry_after = seconds{3};
  lanes.failed("a", "", busy, kNow, random);
  EXPECT_TRUE(lanes.is_withheld("a", kNow + milliseconds{2999}));
  EXPECT_FALSE(lanes.is_withheld("a", kNow + seconds{3}));
}

TEST(Lanes, ThirdStaleViewInARowIsAFailure) {
  SeededRandom random(1);
  Lanes lanes;
  lanes.stale("a", "", kQuota, kNow, random);
  lanes.stale("a", "", kQuota, kNow, random);
  EXPECT_TRUE(lanes.failures(kNow).empty());
  lanes.stale("a", "", kQuota, kNow, random);
  EXPECT_EQ(lanes.failures(kNow).size(), 1u);
  lanes.succeeded("a");
  lanes.stale("a", "", kQuota, kNow, random);
  EXPECT_TRUE(lanes.failures(kNow).empty());
}

TEST(RepeatGuard, SlowsDownWhatIsMadeAgainAndAgainAndNothingElse) {
  SeededRandom random(1);
  RepeatGuard guard;
  guard.made(1, kNow, random);
  EXPECT_FALSE(guard.hold(1, kNow));  // it may have been undone
  guard.made(1, kNow, random);
  EXPECT_TRUE(guard.hold(1, kNow));
  EXPECT_FALSE(guard.hold(2, kNow));
  EXPECT_FALSE(guard.hold(1, kNow + milliseconds{7}));
  guard.rest(kNow + std::chrono::seconds{11});
  EXPECT_FALSE(guard.hold(1, kNow));
}

// Somebody undoes each write at once, and between the two the planner is content.
TEST(RepeatGuard, SlowsDownWhatIsUndoneEachTimeButNotForLong) {
  SeededRandom random(1);
  RepeatGuard guard;
  Steady now = kNow;
  int made = 0;
  for (; now < kNow + std::chrono::minutes{1}; now += milliseconds{1}) {
    if (guard.hold(1, now)) continue;
    guard.made(1, now, random);
    guard.rest(now);
    ++made;
  }
  EXPECT_LT(made, 20);
  EXPECT_GT(made, 10) << "no longer than some ten seconds";
  guard.rest(now + std::chrono::seconds{25});
  EXPECT_FALSE(guard.hold(1, now));
}

TEST(RepeatGuard, SaysSoOnce) {
  SeededRandom random(1);
  RepeatGuard guard;
  int said = 0;
  for (int i = 0; i < 90; ++i) said += guard.made(1, kNow, random);
  EXPECT_EQ(said, 1);
}

TEST(Fingerprint, IsOfWhatIsAskedForNotOfTheRevisionSeen) {
  const auto print = [](const char* body) {
    return fingerprint_of(Write{.resource = kPods, .key = {"n", "a"}, .body = *parse_json(body)});
  };
  const auto base = print(R"({"metadata":{"name":"a","resourceVersion":"1"},"spec":{"x":1}})");
  EXPECT_EQ(base, print(R"({"metadata":{"name":"a","resourceVersion":"2"},"spec":{"x":1}})"));
  EXPECT_NE(base, print(R"({"metadata":{"name":"b","resourceVersion":"1"},"spec":{"x":1}})"));
  EXPECT_NE(base, print(R"({"metadata":{"name":"a","resourceVersion":"1"},"spec":{"x":2}})"));
}

}  // namespace
}  // namespace manta::kube
