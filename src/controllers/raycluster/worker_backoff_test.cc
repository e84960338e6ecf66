#include "controllers/raycluster/worker_backoff.h"

#include "controllers/raycluster/testing.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace manta::controllers::raycluster {
namespace {

using namespace testing;
using kube::PodPhase;
using std::chrono::minutes;
using std::chrono::seconds;

// "2/": the third attempt at this spec; "2/x": at another.
kube::PodView attempt(const WorkerBackoff& backoff, std::string_view stamp, PodSays says) {
  auto view = *worker("w", says);
  if (stamp.empty()) return view;
  auto text = std::string(stamp);
  if (text.ends_with('/')) text += backoff.stamp(0).substr(2);
  view.meta.annotations[std::string(ray::kAnnotationWorkerAttempt)] = text;
  return view;
}

struct Case {
  const char* name;
  const char* stamp;
  Duration lived;
  int number;     // of the attempt
  int held_for;   // seconds from now; 0: it may be replaced
  int successor;  // the number of the next attempt
};
const Case kCases[] = {
    {"TheFirstAtOnce", "0/", seconds{0}, 0, 10, 1},
    {"TheFirstAfterAWhile", "0/", seconds{9}, 0, 1, 1},
    {"TheFirstWhenItIsTime", "0/", seconds{10}, 0, 0, 1},
    {"TheSecond", "1/", seconds{0}, 1, 20, 2},
    {"TheThird", "2/", seconds{0}, 2, 40, 3},
    {"TheFourth", "3/", seconds{0}, 3, 80, 4},
    {"TheFifth", "4/", seconds{0}, 4, 160, 5},
    {"TheSixthWaitsLongest", "5/", seconds{0}, 5, 300, 6},
    {"NoneWaitsLonger", "77/", seconds{0}, 77, 300, 78},
    {"OneThatLivedForALongTime", "5/", minutes{9}, 5, 0, 6},
    {"OneThatLivedWell", "5/", minutes{10}, 5, 0, 0},
    {"OfAnotherSpec", "5/x", seconds{0}, 0, 0, 0},
    {"MadeBeforeTheGate", "", seconds{0}, 0, 10, 1},
    {"EditedToNothing", "/", seconds{0}, 0, 10, 1},
    {"EditedToWords", "many/", seconds{0}, 0, 10, 1},
    {"EditedToLessThanNothing", "-3/", seconds{0}, 0, 10, 1},
    {"EditedWithoutAHash", "7", seconds{0}, 0, 0, 0},
    {"EditedToMoreThanANumberHolds", "99999999999/", seconds{0}, 0, 10, 1},
    {"EditedToTheMostThatANumberHolds", "2147483647/", seconds{0}, 1'000'000, 300, 1'000'001},
};

class Backoff : public ::testing::TestWithParam<Case> {};
TEST_P(Backoff, Row) {
  const auto& row = GetParam();
  const auto spec = cluster().spec;
  const WorkerBackoff backoff(spec, kNow);
  const auto pod =
      attempt(backoff, row.stamp, {.phase = PodPhase::Failed, .ready = false, .age = row.lived});
  EXPECT_EQ(backoff.attempt_of(pod), row.number);
  EXPECT_EQ(backoff.attempt_after(pod), row.successor);
  const auto until = backoff.held_until(pod);
  EXPECT_EQ(until ? std::chrono::round<seconds>(*until - kNow).count() : 0, row.held_for);
}
INSTANTIATE_TEST_SUITE_P(, Backoff, ::testing::ValuesIn(kCases),
                         [](auto& c) { return c.param.name; });

TEST(WorkerBackoff, ScalingIsNoOtherSpecAndAnImageIs) {
  const auto spec = cluster(2).spec;
  const auto scaled = cluster(5).spec;
  auto changed = spec;
  changed.workerGroupSpecs[0].template_.at_pointer("/spec/containers/0/image") = "other";
  const auto stamp = WorkerBackoff(spec, kNow).stamp(3);
  EXPECT_TRUE(stamp.starts_with("3/"));
  EXPECT_EQ(WorkerBackoff(scaled, kNow).stamp(3), stamp);
  EXPECT_NE(WorkerBackoff(changed, kNow).stamp(3), stamp);
}

TEST(WorkerBackoff, OnlyOneThatEndedAndWaitsIsDescribed) {
  const auto spec = cluster().spec;
  const WorkerBackoff backoff(spec, kNow);
  const auto described = [&](std::string_view stamp, PodSays says,
                             std::shared_ptr<const std::string> trouble = {}) {
    auto view = attempt(backoff, stamp, says);
    view.trouble = std::move(trouble);
    return backoff.describe_ended({worker("fine"), share(std::move(view))});
  };
  const PodSays failed_now{.phase = PodPhase::Failed, .ready = false};
  EXPECT_EQ(described("1/", failed_now),
            "Pod w has ended, its phase is Failed; attempt 3 is due at 2027-01-15T08:00:20Z");
  EXPECT_EQ(described("0/", failed_now, std::make_shared<const std::string>("exit code 42")),
            "Pod w has ended, exit code 42; attempt 2 is due at 2027-01-15T08:00:10Z");
  EXPECT_EQ(described("1/", {}), "") << "it runs";
  EXPECT_EQ(described("1/", {.phase = PodPhase::Failed, .age = minutes{1}}), "") << "it is due";
  EXPECT_EQ(described("1/x", failed_now), "") << "of another spec";
}

TEST(WorkerBackoff, AFurtherAttemptIsUnderWayUntilItIsReady) {
  const auto spec = cluster().spec;
  const WorkerBackoff backoff(spec, kNow);
  const auto is_trying = [&](std::string_view stamp, bool ready) {
    return backoff.is_trying(
        {worker("fine"),
         share(attempt(backoff, stamp, {.phase = PodPhase::Pending, .ready = ready}))});
  };
  EXPECT_TRUE(is_trying("1/", false));
  EXPECT_FALSE(is_trying("1/", true));
  EXPECT_FALSE(is_trying("0/", false)) << "the first one is none";
  EXPECT_FALSE(is_trying("1/x", false)) << "of another spec";
}

}  // namespace
}  // namespace manta::controllers::raycluster
