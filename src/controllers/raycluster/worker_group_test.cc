#include "controllers/raycluster/worker_group.h"

#include "controllers/raycluster/testing.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace manta::controllers::raycluster {
namespace {

using namespace testing;
using kube::PodPhase;
using namespace std::chrono_literals;

// "-a -b +0 +2": Pods that go by name, Pods that come by index (multi-host: index.host), and
// "p>r:1.0" or "p>#0:1.0" for a Pod that is adopted by replica r or by the first new one.
std::string outcome(const GroupDecision& decision) {
  std::string text;
  for (const auto& [pod, name, place] : decision.adopt)
    text += fmt::format(" {}>{}:{}.{}", pod->meta.key.name,
                        name.empty() ? fmt::format("#{}", place.replica_number) : name,
                        place.replica_index, place.host_index);
  for (const auto& removal : decision.remove) text += " -" + removal.pod->meta.key.name;
  for (const auto& worker : decision.create)
    text += worker.host_index < 0 ? fmt::format(" +{}", worker.replica_index)
                                  : fmt::format(" +{}.{}", worker.replica_index, worker.host_index);
  return text.empty() ? text : text.substr(1);
}

ray::WorkerGroupSpec group(std::int32_t replicas, std::vector<std::string> named = {}) {
  auto out = cluster(replicas).spec.workerGroupSpecs.front();
  out.scaleStrategy.workersToDelete = std::move(named);
  return out;
}

GroupSeen pods(Pods list, bool surplus_may_go = true) {
  return {.pods = list, .surplus_may_go = surplus_may_go};
}

const PodSays kFailed{.phase = PodPhase::Failed, .ready = false};
const PodSays kGoing{.deleting = true};
const PodSays kPending{.phase = PodPhase::Pending, .ready = false};

ray::WorkerGroupSpec at_most(std::int32_t replicas) {
  auto out = group(1);
  out.maxReplicas = replicas;
  return out;
}

GroupSeen trimmed(Pods list) {
  auto out = pods(std::move(list), false);
  out.trim_pending = true;
  return out;
}

struct Case {
  const char* name;
  ray::WorkerGroupSpec group;
  GroupSeen seen;
  const char* want;
};
const Case kCases[] = {
    {"Empty", group(2), pods({}), "+0 +1"},
    {"Enough", group(2), pods({worker("a", {}, "0"), worker("b", {}, "1")}), ""},
    {"FreeIndexIsTaken", group(3), pods({worker("a", {}, "0"), worker("c", {}, "2")}), "+1"},
    {"NoIndexWithoutTheGate", group(1), {.index_replicas = false}, "+-1"},
    {"FailedGoesFirst", group(2), pods({worker("a", kFailed), worker("b")}), "-a"},
    {"GoingNoLongerCounts", group(2), pods({worker("a", kGoing, "0"), worker("b", {}, "1")}),
     "+0"},  // RC-05
    {"GoingIsNoSurplus", group(1), pods({worker("a"), worker("b", kGoing)}), ""},
    {"YoungestFirst", group(1), pods({worker("a", {.age = 9s}), worker("b", {.age = 5s})}), "-b"},
    {"OfOneAgeTheHighestIndex", group(1), pods({worker("a", {}, "2"), worker("b", {}, "1")}), "-a"},
    {"OfOneIndexTheFirstName", group(1), pods({worker("b"), worker("a")}), "-a"},
    // AS-04
    {"PendingBeyondTheMaximumIsTrimmedUnderItsGate", at_most(1),
     trimmed({worker("a"), worker("b", kPending), worker("c")}), "-b"},
    {"NoMoreThanIsBeyondTheMaximum", at_most(2),
     trimmed({worker("a"), worker("b", kPending, "1"), worker("c", kPending, "2")}), "-c"},
    {"WhatHasRunIsLeftToTheAutoscalerThoughItServesLess", at_most(2),
     trimmed({worker("a", {.phase = PodPhase::Unknown}), worker("b", kPending), worker("c")}),
     "-b"},
    {"PendingBelowTheMaximumIsNotTrimmed", group(1), trimmed({worker("a"), worker("b", kPending)}),
     ""},
    {"PendingBeforeReady", group(1), pods({worker("a"), worker("b", kPending)}), "-b"},
    {"NamedGo", group(1, {"a"}), pods({worker("a"), worker("b")}), "-a"},
    {"NamedAndSurplus", group(1, {"a"}), pods({worker("a"), worker("b"), worker("c", kPending)}),
     "-a -c"},
    {"NamedTwiceIsOnce", group(1, {"a", "a"}), pods({worker("a"), worker("b")}), "-a"},
    {"UnknownNamesAreIgnored", group(1, {"x"}), pods({worker("a")}), ""},
    {"AutoscalerChooses", group(1), pods({worker("a"), worker("b")}, false), ""},
    {"AutoscalerChose", group(1, {"b"}), pods({worker("a"), worker("b")}, false), "-b"},
    {"NamedGoingIsNotDeletedAgain", group(1, {"b"}), pods({worker("a"), worker("b", kGoing)}), ""},
};
class DecideGroup : public ::testing::TestWithParam<Case> {};
TEST_P(DecideGroup, Row) {
  EXPECT_EQ(outcome(decide_group(GetParam().group, GetParam().seen)), GetParam().want);
}
INSTANTIATE_TEST_SUITE_P(, DecideGroup, ::testing::ValuesIn(kCases),
                         [](auto& c) { return c.param.name; });

// Two thousand million workers are made some hundred at a time.
TEST(DecideGroupLaw, OnePlanMakesABoundedNumber) {
  auto huge = group(std::numeric_limits<std::int32_t>::max());
  huge.maxReplicas = huge.replicas;
  EXPECT_EQ(decide_group(huge, pods({})).create.size(), static_cast<std::size_t>(kPodsAPlan));
  auto few = pods({});
  few.most_at_once = 3;
  EXPECT_EQ(outcome(decide_group(huge, few)), "+0 +1 +2");
  huge.numOfHosts = 2;
  EXPECT_EQ(outcome(decide_replicas(huge, few)), "+0.0 +0.1");
  huge.numOfHosts = 4;  // a replica is made whole
  EXPECT_EQ(outcome(decide_replicas(huge, few)), "+0.0 +0.1 +0.2 +0.3");
}

TEST(DecideGroupLaw, AppliedDecisionIsSettled) {
  for (std::int32_t have = 0; have < 6; ++have)
    for (std::int32_t want = 0; want < 6; ++want) {
      Pods list;
      for (std::int32_t i = 0; i < have; ++i)
        list.push_back(worker(fmt::format("p{}", i), {}, std::to_string(i)));
      const auto decision = decide_group(group(want), pods(list));
      for (const auto& removal : decision.remove) std::erase(list, removal.pod);
      for (const auto& made : decision.create)
        list.push_back(
            worker(fmt::format("n{}", made.replica_index), {}, std::to_string(made.replica_index)));
      EXPECT_EQ(static_cast<std::int32_t>(list.size()), want);
      EXPECT_EQ(outcome(decide_group(group(want), pods(list))), "") << have << " to " << want;
    }
}

Pods replica(const std::string& name, const std::string& index, PodSays first = {}, int hosts = 2) {
  Pods out;
  for (int host = 0; host < hosts; ++host)
    out.push_back(
        worker(fmt::format("{}{}", name, host), host == 0 ? first : PodSays{}, index, name));
  return out;
}

GroupSeen replicas(std::vector<Pods> list) {
  Pods all;
  for (auto& pods_of_one : list) all.insert(all.end(), pods_of_one.begin(), pods_of_one.end());
  return pods(all);
}

ray::WorkerGroupSpec slices(std::int32_t count, std::vector<std::string> named = {}) {
  auto out = group(count, std::move(named));
  out.numOfHosts = 2;
  return out;
}

ray::WorkerGroupSpec slices_at_most(std::int32_t count) {
  auto out = slices(1);
  out.maxReplicas = count;
  return out;
}

GroupSeen trimmed_slices(std::vector<Pods> list) {
  return trimmed(std::move(replicas(std::move(list)).pods));
}

Pods never_ran(const std::string& name, const std::string& index) {
  return {worker(name + "0", kPending, index, name), worker(name + "1", kPending, index, name)};
}

GroupSeen changing(std::vector<Pods> list) {
  auto out = replicas(std::move(list));
  out.replace_slices = true;
  return out;
}

const Case kReplicaCases[] = {
    {"Empty", slices(1), pods({}), "+0.0 +0.1"},
    {"Whole", slices(2), replicas({replica("a", "0"), replica("b", "1")}), ""},
    {"OneHostLost", slices(1), replicas({replica("a", "0", {}, 1)}), "-a0 +0.0 +0.1"},
    {"OneHostFailed", slices(1), replicas({replica("a", "0", kFailed)}), "-a0 -a1 +0.0 +0.1"},
    {"OneHostGoing", slices(1), replicas({replica("a", "0", kGoing)}), "-a1 +0.0 +0.1"},
    {"OneHostNamed", slices(1, {"a1"}), replicas({replica("a", "0"), replica("b", "1")}),
     "-a0 -a1"},
    {"TooMany", slices(1), replicas({replica("a", "0"), replica("b", "1")}), "-b0 -b1"},
    // RC-04
    {"NotReadyGoesFirst", slices(1),
     replicas({replica("a", "0", {.ready = false}), replica("b", "1")}), "-a0 -a1"},
    {"PendingBeforeNotReady", slices(1),
     replicas({replica("a", "0", kPending), replica("b", "1", {.ready = false})}), "-a0 -a1"},
    {"OfOneUseTheHighestIndex", slices(1),
     replicas({replica("a", "0", kPending), replica("b", "1", kPending), replica("c", "2")}),
     "-b0 -b1 -a0 -a1"},
    {"NotTheYoungest", slices(1),
     replicas({replica("a", "0", {.age = 1s}), replica("b", "1", {.age = 9s})}), "-b0 -b1"},
    // AS-04
    {"NoSliceIsTrimmedWithoutItsGate", slices_at_most(1),
     pods(replicas({replica("a", "0"), never_ran("b", "1")}).pods, false), ""},
    {"SliceBeyondTheMaximumIsTrimmedUnderItsGate", slices_at_most(2),
     trimmed_slices({replica("a", "0"), never_ran("b", "1"), never_ran("c", "2")}), "-c0 -c1"},
    {"SliceBelowTheMaximumIsNotTrimmed", slices_at_most(2),
     trimmed_slices({replica("a", "0"), never_ran("b", "1")}), ""},
    {"SliceOfWhichRayKnowsAPodIsLeftToTheAutoscaler", slices_at_most(1),
     trimmed_slices({replica("a", "0"), replica("b", "1", kPending)}), ""},
    {"IndexIsFilled", slices(2), replicas({replica("b", "1")}), "+0.0 +0.1"},
    {"LargerThanAskedIsWhole", slices(1), replicas({replica("a", "0", {}, 4)}), ""},
    // MH-04
    {"LargerThanAskedIsReplacedUnderItsGate", slices(2),
     changing({replica("a", "0", {}, 4), replica("b", "1", {}, 4)}), "-a0 -a1 -a2 -a3 +0.0 +0.1"},
    {"TheNextWaitsForTheNewOne", slices(2),
     changing({replica("a", "0", kPending), replica("b", "1", {}, 4)}), ""},
    {"TheNextGoesWhenTheNewOneIsReady", slices(2),
     changing({replica("a", "0"), replica("b", "1", {}, 4)}), "-b0 -b1 -b2 -b3 +1.0 +1.1"},
    {"TheNextWaitsForWhatIsMissing", slices(2), changing({replica("b", "1", {}, 4)}), "+0.0 +0.1"},
    {"OneThatNeverGotReadyIsReplaced", slices(1), changing({replica("a", "0", kPending, 4)}),
     "-a0 -a1 -a2 -a3 +0.0 +0.1"},
    // MH-03
    {"OldPodsAreAdoptedByAge", slices(2),
     pods({worker("a", {.age = 1s}), worker("b", {.age = 4s}), worker("c", {.age = 3s}),
           worker("d", {.age = 2s})}),
     "b>#0:0.0 c>#0:0.1 d>#1:1.0 a>#1:1.1"},
    {"AdoptionGoesOn", slices(2),
     replicas({replica("r", "0"), replica("s", "1", {}, 1), {worker("x"), worker("y")}}),
     "x>s:1.0 y>#0:2.0"},
    {"NorIsWhatWasMadeForOneHost", slices(1), pods({worker("x", {}, "0"), worker("y", {}, "1")}),
     "-x -y +0.0 +0.1"},
    {"NorIsAnythingAddedToThat", slices(1), pods({worker("x", {}, "0"), worker("y")}), "y>#0:0.0"},
    {"WhatIsGoingIsNotAdopted", slices(1), replicas({replica("r", "0"), {worker("x", kGoing)}}),
     ""},
};
class DecideReplicas : public ::testing::TestWithParam<Case> {};
TEST_P(DecideReplicas, Row) {
  EXPECT_EQ(outcome(decide_replicas(GetParam().group, GetParam().seen)), GetParam().want);
}
INSTANTIATE_TEST_SUITE_P(, DecideReplicas, ::testing::ValuesIn(kReplicaCases),
                         [](auto& c) { return c.param.name; });

}  // namespace
}  // namespace manta::controllers::raycluster
