#include "local/node/lifecycle.h"

#include <gtest/gtest.h>

namespace manta::local {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

const Time kNow{seconds{1'700'000'000}};

/// A container and its state in one word or two: "run", "wait", "ok:5s" (ended well 5 s ago),
/// "bad:5s".
struct Row {
  ContainerKind kind;
  std::string state;
  Duration ago = seconds{0};
  Duration back_off = {};  // counted just before that end
};

struct World {
  PodSpec spec = {};
  std::vector<ContainerState> states = {};
};

World make_world(RestartPolicy policy, const std::vector<Row>& rows) {
  World w;
  w.spec.restart_policy = policy;
  for (const auto& row : rows) {
    ContainerSpec c;
    c.name = "c" + std::to_string(w.spec.containers.size());
    c.kind = row.kind;
    w.spec.containers.push_back(c);
    ContainerState s;
    if (row.state == "run" || row.state == "run-not-started") {
      s.phase = ContainerPhase::Running;
      s.started = row.state == "run";
    } else if (row.state == "starting") {
      s.phase = ContainerPhase::Starting;
    } else if (row.state == "ok" || row.state == "bad") {
      s.phase = ContainerPhase::Terminated;
      s.ending = Ending{.exit_code = row.state == "ok" ? 0 : 1, .finished = kNow - row.ago};
    } else if (row.state == "between") {
      s.last = Ending{.exit_code = 1, .finished = kNow - row.ago};
    }
    if (row.back_off > Duration{0}) {
      s.back_off.delay = row.back_off;
      s.back_off.restarted = kNow - row.ago - seconds{1};
    }
    w.states.push_back(s);
  }
  return w;
}

using Indexes = std::vector<std::size_t>;
constexpr auto Init = ContainerKind::Init;
constexpr auto Side = ContainerKind::Sidecar;
constexpr auto Main = ContainerKind::Main;
constexpr auto Always = RestartPolicy::Always;
constexpr auto OnFailure = RestartPolicy::OnFailure;
constexpr auto Never = RestartPolicy::Never;

struct Case {
  const char* name;
  RestartPolicy policy;
  std::vector<Row> rows;
  bool initialized = false;
  bool stop = false;
  Indexes start = {}, stops = {}, backing_off = {};
  bool finished = false;
};

const Case kCases[] = {
    {"AllMainContainersStartAtOnce",
     Always,
     {{Main, "wait"}, {Main, "wait"}},
     false,
     false,
     {0, 1}},
    {"InitContainersGoOneByOne",
     Always,
     {{Init, "wait"}, {Init, "wait"}, {Main, "wait"}},
     false,
     false,
     {0}},
    {"ARunningInitContainerHoldsTheRest", Always, {{Init, "run"}, {Main, "wait"}}},
    {"MainsFollowTheLastInit", Always, {{Init, "ok"}, {Main, "wait"}}, false, false, {1}},
    {"AFailedInitIsRunAgain", OnFailure, {{Init, "bad"}, {Main, "wait"}}, false, false, {0}},
    {"AFailedInitEndsAPodThatNeverRestarts",
     Never,
     {{Init, "bad"}, {Main, "wait"}},
     false,
     false,
     {},
     {},
     {},
     true},
    {"ASidecarMustHaveStartedFirst", Always, {{Side, "run-not-started"}, {Main, "wait"}}},
    {"AStartedSidecarLetsOthersThrough",
     Always,
     {{Side, "run"}, {Main, "wait"}},
     false,
     false,
     {1}},
    {"ARestartingSidecarHoldsNobodyOnceInitialized",
     Always,
     {{Side, "bad"}, {Main, "wait"}},
     true,
     false,
     {0, 1}},
    {"AlwaysRestartsEvenSuccess", Always, {{Main, "ok"}}, true, false, {0}},
    {"OnFailureLeavesSuccess", OnFailure, {{Main, "ok"}, {Main, "run"}}, true},
    {"OnFailureRestartsFailure", OnFailure, {{Main, "bad"}, {Main, "run"}}, true, false, {0}},
    {"NeverRestartsNothing", Never, {{Main, "bad"}}, true, false, {}, {}, {}, true},
    {"BackOffDelaysTheRestart",
     Always,
     {{Main, "bad", seconds{4}, seconds{10}}},
     true,
     false,
     {},
     {},
     {0}},
    {"BackOffEnds", Always, {{Main, "bad", seconds{10}, seconds{10}}}, true, false, {0}},
    {"BetweenTwoRunsItKeepsWaiting",
     Always,
     {{Main, "between", seconds{4}, seconds{10}}},
     true,
     false,
     {},
     {},
     {0}},
    {"SidecarsEndAfterTheMains",
     Never,
     {{Side, "run"}, {Side, "run"}, {Main, "ok"}},
     true,
     false,
     {},
     {1}},
    {"ASidecarIsNotRestartedForAPodThatIsDone",
     Never,
     {{Side, "bad"}, {Main, "ok"}},
     true,
     false,
     {},
     {},
     {},
     true},
    {"DeletionStopsTheMainsFirst", Always, {{Side, "run"}, {Main, "run"}}, true, true, {}, {1}},
    {"DeletionThenStopsSidecars", Always, {{Side, "run"}, {Main, "ok"}}, true, true, {}, {0}},
    {"DeletionStopsAnInitContainer", Always, {{Init, "run"}, {Main, "wait"}}, false, true, {}, {0}},
    {"DeletionOfWhatNeverStarted", Always, {{Main, "wait"}}, false, true, {}, {}, {}, true},
    {"DeletionWaitsForWhatIsStarting", Always, {{Main, "starting"}}, true, true, {}, {0}},
    {"NothingIsDoneTwice", Always, {{Main, "starting"}, {Main, "run"}}, true},
};

class DecidePod : public testing::TestWithParam<Case> {};
TEST_P(DecidePod, Row) {
  const auto& c = GetParam();
  const auto w = make_world(c.policy, c.rows);
  const auto d = decide_pod({w.spec, w.states, c.initialized, c.stop}, kNow);
  EXPECT_EQ(d.start, c.start);
  EXPECT_EQ(d.stop, c.stops);
  EXPECT_EQ(d.backing_off, c.backing_off);
  EXPECT_EQ(d.finished, c.finished);
  EXPECT_EQ(d.look_again.has_value(), !c.backing_off.empty());
}
INSTANTIATE_TEST_SUITE_P(, DecidePod, testing::ValuesIn(kCases),
                         [](auto& c) { return c.param.name; });

TEST(DecidePodLaw, AStoppedPodStartsNothing) {
  for (auto policy : {Always, OnFailure, Never})
    for (const char* state : {"wait", "starting", "run", "ok", "bad", "between"})
      for (auto kind : {Init, Side, Main}) {
        const auto w = make_world(policy, {{kind, state}, {Main, "wait"}});
        EXPECT_TRUE(decide_pod({w.spec, w.states, false, true}, kNow).start.empty()) << state;
      }
}

TEST(BackOff, DoublesToFiveMinutesAndIsForgottenAfterTen) {
  BackOff b;
  EXPECT_EQ(b.ready_at(kNow), kNow) << "the first restart is at once";
  Time now = kNow;
  for (int expected : {10, 20, 40, 80, 160, 300, 300}) {
    b.count(now, now);
    EXPECT_EQ(b.ready_at(now) - now, seconds{expected});
    now += b.delay;
  }
  now += minutes{11};
  EXPECT_EQ(b.ready_at(now), now);
  b.count(now, now);
  EXPECT_EQ(b.delay, seconds{10});
}

}  // namespace
}  // namespace manta::local
