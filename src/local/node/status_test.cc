#include "local/node/status.h"

#include <gtest/gtest.h>

namespace manta::local {
namespace {

using std::chrono::seconds;
const Time kNow{seconds{1'700'000'000}};

ContainerState state(std::string_view word) {
  ContainerState s;
  if (word == "run" || word == "ready") {
    s.phase = ContainerPhase::Running;
    s.started = true;
    s.ready = word == "ready";
    s.started_at = kNow;
  } else if (word == "ok" || word == "bad") {
    s.phase = ContainerPhase::Terminated;
    s.ending = Ending{.exit_code = word == "ok" ? 0 : 3,
                      .reason = word == "ok" ? "Completed" : "Error",
                      .started = kNow,
                      .finished = kNow};
  } else if (word == "crash") {
    s.waiting_reason = "CrashLoopBackOff";
    s.last = Ending{.exit_code = 1, .reason = "Error"};
    s.restart_count = 2;
  }
  return s;
}

struct Pod {
  PodSpec spec = {};
  std::vector<ContainerState> states = {};
};
Pod make_pod(RestartPolicy policy,
             std::initializer_list<std::pair<ContainerKind, const char*>> rows) {
  Pod p;
  p.spec.document = std::make_shared<const Json>(*parse_json(R"({"spec":{}})"));
  p.spec.restart_policy = policy;
  for (const auto& [kind, word] : rows) {
    ContainerSpec c;
    c.name = "c" + std::to_string(p.states.size());
    c.kind = kind;
    p.spec.containers.push_back(c);
    p.states.push_back(state(word));
  }
  return p;
}

constexpr auto Init = ContainerKind::Init;
constexpr auto Side = ContainerKind::Sidecar;
constexpr auto Main = ContainerKind::Main;
constexpr auto Always = RestartPolicy::Always;
constexpr auto OnFailure = RestartPolicy::OnFailure;
constexpr auto Never = RestartPolicy::Never;

struct PhaseCase {
  const char* name;
  RestartPolicy policy;
  std::initializer_list<std::pair<ContainerKind, const char*>> rows;
  bool initialized, finished;
  const char* want;
};
const PhaseCase kPhases[] = {
    {"NothingStarted", Always, {{Main, "wait"}}, true, false, "Pending"},
    {"OneOfTwoStarted", Always, {{Main, "run"}, {Main, "wait"}}, true, false, "Pending"},
    {"AllRun", Always, {{Main, "run"}}, true, false, "Running"},
    {"InitRuns", Always, {{Init, "run"}, {Main, "wait"}}, false, false, "Pending"},
    {"InitFailedForGood", Never, {{Init, "bad"}, {Main, "wait"}}, false, true, "Failed"},
    {"InitWillBeRetried", OnFailure, {{Init, "bad"}, {Main, "wait"}}, false, false, "Pending"},
    {"CrashLoopIsRunning", Always, {{Main, "crash"}}, true, false, "Running"},
    {"AllSucceeded", Never, {{Main, "ok"}}, true, true, "Succeeded"},
    {"OneFailed", Never, {{Main, "ok"}, {Main, "bad"}}, true, true, "Failed"},
    {"OneStillRuns", Never, {{Main, "run"}, {Main, "bad"}}, true, false, "Running"},
    {"OnFailureSucceeds", OnFailure, {{Main, "ok"}}, true, true, "Succeeded"},
    {"OnFailureRetries", OnFailure, {{Main, "bad"}}, true, false, "Running"},
    {"SidecarOutlivesTheMain", Never, {{Side, "run"}, {Main, "ok"}}, true, false, "Running"},
    {"SidecarsExitCodeDoesNotMatter",
     Never,
     {{Side, "bad"}, {Main, "ok"}},
     true,
     true,
     "Succeeded"},
    {"DeletedWhileRunningAlways", Always, {{Main, "bad"}}, true, true, "Failed"},
};
class Phase : public testing::TestWithParam<PhaseCase> {};
TEST_P(Phase, Row) {
  const auto& c = GetParam();
  const auto pod = make_pod(c.policy, c.rows);
  EXPECT_EQ(pod_phase(pod.spec, pod.states, {.initialized = c.initialized, .finished = c.finished}),
            c.want);
}
INSTANTIATE_TEST_SUITE_P(, Phase, testing::ValuesIn(kPhases), [](auto& c) { return c.param.name; });

std::string condition(const Json& status, std::string_view type,
                      std::string_view field = "status") {
  for (const auto& c : array_at(status, {"conditions"}))
    if (string_at(c, {"type"}) == type) return std::string(string_at(c, {field}));
  return "absent";
}

TEST(PodStatus, ReadyWhenEveryContainerIs) {
  const auto pod = make_pod(Always, {{Main, "ready"}, {Side, "ready"}});
  const auto status = build_pod_status(
      pod.spec, pod.states, {.pod_ip = "10.0.0.2", .sandbox_ready = true, .initialized = true},
      JsonObject{}, kNow);
  for (const char* type :
       {"PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled"})
    EXPECT_EQ(condition(status, type), "True") << type;
  EXPECT_EQ(string_at(status, {"podIP"}), "10.0.0.2");
  EXPECT_EQ(string_at(status, {"phase"}), "Running");
}

TEST(PodStatus, NamesTheContainersThatAreNot) {
  const auto pod = make_pod(Always, {{Main, "ready"}, {Main, "run"}});
  const auto status =
      build_pod_status(pod.spec, pod.states, {.initialized = true}, JsonObject{}, kNow);
  EXPECT_EQ(condition(status, "Ready"), "False");
  EXPECT_EQ(condition(status, "Ready", "reason"), "ContainersNotReady");
  EXPECT_EQ(condition(status, "Ready", "message"), "containers with unready status: [c1]");
}

TEST(PodStatus, ACrashLoopShowsTheWaitAndTheLastEnd) {
  const auto pod = make_pod(Always, {{Main, "crash"}});
  const auto status =
      build_pod_status(pod.spec, pod.states, {.initialized = true}, JsonObject{}, kNow);
  const Json& c = array_at(status, {"containerStatuses"})[0];
  EXPECT_EQ(string_at(c, {"state", "waiting", "reason"}), "CrashLoopBackOff");
  EXPECT_EQ(int_at(c, {"lastState", "terminated", "exitCode"}), 1);
  EXPECT_EQ(int_at(c, {"restartCount"}), 2);
}

TEST(PodStatus, KeepsTransitionTimesAndConditionsOfOthers) {
  const auto pod = make_pod(Always, {{Main, "ready"}});
  const PodFacts facts{.initialized = true};
  const auto previous = *parse_json(R"({"conditions":[
    {"type":"Ready","status":"True","lastTransitionTime":"2020-01-01T00:00:00Z"},
    {"type":"ContainersReady","status":"False","lastTransitionTime":"2020-01-01T00:00:00Z"},
    {"type":"example.com/gate","status":"True"}]})");
  const auto status = build_pod_status(pod.spec, pod.states, facts, previous, kNow);
  EXPECT_EQ(condition(status, "Ready", "lastTransitionTime"), "2020-01-01T00:00:00Z");
  EXPECT_EQ(condition(status, "ContainersReady", "lastTransitionTime"), format_rfc3339(kNow));
  EXPECT_EQ(condition(status, "example.com/gate"), "True");
}

TEST(PodStatus, ReadinessGatesHoldReadyBack) {
  auto pod = make_pod(Always, {{Main, "ready"}});
  pod.spec.document = std::make_shared<const Json>(
      *parse_json(R"({"spec":{"readinessGates":[{"conditionType":"g"}]}})"));
  const auto status =
      build_pod_status(pod.spec, pod.states, {.initialized = true}, JsonObject{}, kNow);
  EXPECT_EQ(condition(status, "ContainersReady"), "True");
  EXPECT_EQ(condition(status, "Ready"), "False");
}

TEST(PodStatus, AMissedDeadlineFailsThePod) {
  const auto pod = make_pod(Always, {{Main, "run"}});
  const auto status =
      build_pod_status(pod.spec, pod.states, {.initialized = true, .reason = "DeadlineExceeded"},
                       JsonObject{}, kNow);
  EXPECT_EQ(string_at(status, {"phase"}), "Failed");
  EXPECT_EQ(string_at(status, {"reason"}), "DeadlineExceeded");
}

TEST(AdoptStates, WhatRanHasDiedUnseen) {
  const auto pod = make_pod(Always, {{Main, "run"}, {Main, "ok"}, {Main, "wait"}});
  auto states = pod.states;
  states[0].restart_count = 4;
  const auto status = build_pod_status(pod.spec, states, {.initialized = true}, JsonObject{}, kNow);
  const auto adopted = adopt_states(pod.spec, status, kNow);
  ASSERT_EQ(adopted.size(), 3u);
  EXPECT_EQ(adopted[0].phase, ContainerPhase::Terminated);
  EXPECT_EQ(adopted[0].ending->exit_code, 137);
  EXPECT_EQ(adopted[0].restart_count, 4);
  EXPECT_EQ(adopted[1].ending->exit_code, 0);
  EXPECT_EQ(adopted[2].phase, ContainerPhase::Waiting);
}

}  // namespace
}  // namespace manta::local
