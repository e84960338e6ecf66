#include "local/node/probe_state.h"

#include <gtest/gtest.h>

namespace manta::local {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
const Time kStart{seconds{1'700'000'000}};

ProbeSpec spec(int delay, int period, int successes, int failures) {
  ProbeSpec s;
  s.initial_delay = seconds{delay};
  s.period = seconds{period};
  s.success_threshold = successes;
  s.failure_threshold = failures;
  return s;
}

TEST(ProbeState, LivenessPassesUntilItHasFailedOftenEnough) {
  ProbeState p(ProbeKind::Liveness, spec(30, 5, 1, 3), kStart);
  EXPECT_TRUE(p.passing());
  EXPECT_EQ(p.next(), kStart + seconds{30}) << "liveness is not tried early";
  Time t = p.next();
  EXPECT_FALSE(p.observe(false, t, t));
  EXPECT_FALSE(p.observe(false, t + seconds{5}, t + seconds{5}));
  EXPECT_TRUE(p.observe(false, t + seconds{10}, t + seconds{10}));
  EXPECT_TRUE(p.failed());
}

TEST(ProbeState, OneSuccessClearsTheFailures) {
  ProbeState p(ProbeKind::Liveness, spec(0, 5, 1, 2), kStart);
  p.observe(false, kStart, kStart);
  p.observe(true, kStart, kStart);
  p.observe(false, kStart, kStart);
  EXPECT_FALSE(p.failed());
}

TEST(ProbeState, ReadinessIsTriedBeforeItsDelayAndAnEarlySuccessCounts) {
  ProbeState p(ProbeKind::Readiness, spec(60, 10, 1, 1), kStart);
  EXPECT_EQ(p.next(), kStart + milliseconds{500});
  const auto t = p.next();
  EXPECT_FALSE(p.observe(false, t, t)) << "an early failure is only a not yet";
  EXPECT_FALSE(p.failed());
  EXPECT_EQ(p.next(), t + milliseconds{500});
  EXPECT_TRUE(p.observe(true, p.next(), p.next()));
  EXPECT_TRUE(p.passing());
}

TEST(ProbeState, OnceReadyThePeriodHolds) {
  ProbeState p(ProbeKind::Readiness, spec(60, 10, 1, 1), kStart);
  const auto t = p.next();
  p.observe(true, t, t);
  EXPECT_EQ(p.next(), t + seconds{10});
}

TEST(ProbeState, ExtraTriesLeaveTheRegularRhythmAlone) {
  ProbeState p(ProbeKind::Readiness, spec(0, 10, 1, 3), kStart);
  p.observe(false, kStart, kStart);
  EXPECT_EQ(p.next(), kStart + milliseconds{500});
  EXPECT_TRUE(p.is_extra(p.next()));
  EXPECT_FALSE(p.is_extra(kStart + seconds{10}));
  const auto late = kStart + seconds{31};
  p.observe(false, late, late);
  EXPECT_EQ(p.next(), late + seconds{10}) << "extra tries end";
}

TEST(ProbeState, TheLastExtraTryIsFollowedByTheFirstRegularOne) {
  ProbeState p(ProbeKind::Startup, spec(1, 10, 1, 3), kStart);
  const auto t = kStart + milliseconds{800};
  p.observe(false, t, t);
  EXPECT_EQ(p.next(), kStart + seconds{1});
}

TEST(ProbeState, ASuccessThresholdWantsThatManyInARow) {
  ProbeState p(ProbeKind::Readiness, spec(0, 10, 2, 3), kStart);
  EXPECT_FALSE(p.observe(true, kStart, kStart));
  EXPECT_TRUE(p.observe(true, kStart + seconds{10}, kStart + seconds{10}));
}

TEST(ProbeState, ReadinessComesBack) {
  ProbeState p(ProbeKind::Readiness, spec(0, 10, 1, 1), kStart);
  p.observe(true, kStart, kStart);
  EXPECT_TRUE(p.observe(false, kStart + seconds{10}, kStart + seconds{10}));
  EXPECT_FALSE(p.passing());
  EXPECT_TRUE(p.observe(true, kStart + seconds{20}, kStart + seconds{20}));
  EXPECT_TRUE(p.passing());
}

}  // namespace
}  // namespace manta::local
