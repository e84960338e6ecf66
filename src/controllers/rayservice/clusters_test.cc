// What becomes of a RayService's clusters when its spec changes. Source: spec/05 §4.1–4.3, §4.7.
#include "controllers/rayservice/clusters.h"

#include "controllers/rayservice/testing.h"
#include "ray/spec_hash.h"

#include <gmock/gmock.h>

#include <functional>

namespace manta::controllers::rayservice {
namespace {

using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::kNow;
using testing::words;
using testing::writes;

ray::WorkerGroupSpec group(std::string name) {
  ray::WorkerGroupSpec out{.groupName = std::move(name), .replicas = 1};
  out.template_ = testing::service().spec.rayClusterConfig.headGroupSpec.template_;
  return out;
}

struct ClustersTable : testing::Table {
  ClustersTable() { rs.spec.rayClusterConfig.workerGroupSpecs = {group("g"), group("h")}; }
};

// ---- spec/05 §4.6, a row each: from groups g and h

struct Change {
  const char* name;
  std::function<void(ray::RayClusterSpec&)> change;
  Fit fit;
};
const Change kChanges[] = {
    {"Nothing", [](auto&) {}, Fit::Same},
    {"Replicas", [](auto& s) { s.workerGroupSpecs[0].replicas = 7; }, Fit::Same},
    {"MinReplicas", [](auto& s) { s.workerGroupSpecs[0].minReplicas = 1; }, Fit::Same},
    {"MaxReplicas", [](auto& s) { s.workerGroupSpecs[0].maxReplicas = 9; }, Fit::Same},
    {"WorkersToDelete",
     [](auto& s) { s.workerGroupSpecs[0].scaleStrategy.workersToDelete = {"w"}; }, Fit::Same},
    {"Tolerations",
     [](auto& s) {
       ensure(s.headGroupSpec.template_, {"spec", "tolerations"}) = JsonArray{{{"key", "k"}}};
     },
     Fit::Same},
    {"SchedulingGates",
     [](auto& s) {
       ensure(s.workerGroupSpecs[0].template_, {"spec", "schedulingGates"}) =
           JsonArray{{{"name", "k"}}};
     },
     Fit::Same},
    {"Suspend", [](auto& s) { s.suspend = false; }, Fit::Same},
    {"Image",
     [](auto& s) {
       ensure(s.headGroupSpec.template_, {"spec", "containers"})
           .as_array()[0]
           .as_object()["image"] = "other";
     },
     Fit::Different},
    {"RayVersion", [](auto& s) { s.rayVersion = "2.99"; }, Fit::Different},
    {"SuspendOfAGroup", [](auto& s) { s.workerGroupSpecs[0].suspend = true; }, Fit::Different},
    {"AutoscalerOptions", [](auto& s) { s.autoscalerOptions.emplace(); }, Fit::Different},
    {"Appended", [](auto& s) { s.workerGroupSpecs.push_back(group("i")); }, Fit::Grown},
    {"AppendedAndScaled",
     [](auto& s) {
       s.workerGroupSpecs[0].replicas = 7;
       s.workerGroupSpecs.push_back(group("i"));
     },
     Fit::Grown},
    {"AppendedAndChanged",
     [](auto& s) {
       s.rayVersion = "2.99";
       s.workerGroupSpecs.push_back(group("i"));
     },
     Fit::Different},
    {"Removed", [](auto& s) { s.workerGroupSpecs.pop_back(); }, Fit::Different},
    {"InsertedBefore",
     [](auto& s) { s.workerGroupSpecs.insert(s.workerGroupSpecs.begin(), group("i")); },
     Fit::Different},
    {"Reordered", [](auto& s) { std::swap(s.workerGroupSpecs[0], s.workerGroupSpecs[1]); },
     Fit::Different},
    {"Renamed", [](auto& s) { s.workerGroupSpecs[1].groupName = "x"; }, Fit::Different},
};

class FitOf : public ClustersTable, public ::testing::WithParamInterface<Change> {};
TEST_P(FitOf, Row) {
  const auto old = cluster("s-a", true);
  GetParam().change(rs.spec.rayClusterConfig);
  EXPECT_EQ(fit_of(*old, draft(), true), GetParam().fit);
  EXPECT_EQ(fit_of(*old, draft(), false), GetParam().fit);
}
INSTANTIATE_TEST_SUITE_P(, FitOf, ::testing::ValuesIn(kChanges),
                         [](const auto& info) { return info.param.name; });

TEST_F(ClustersTable, TheClustersOwnSpecIsNeverLookedAt) {
  auto old = cluster("s-a", true);
  old->spec.rayVersion = "edited by hand";
  EXPECT_EQ(fit_of(*old, draft(), true), Fit::Same);
}

TEST_F(ClustersTable, AnotherVersionOfTheOperatorCountsWhereItMay) {
  auto old = cluster("s-a", true);
  old->meta.annotations[std::string(ray::kAnnotationVersion)] = "v1.7.0";
  EXPECT_EQ(fit_of(*old, draft(), true), Fit::Refresh);
  EXPECT_EQ(fit_of(*old, draft(), false), Fit::Same);
  rs.spec.rayClusterConfig.rayVersion = "2.99";
  EXPECT_EQ(fit_of(*old, draft(), true), Fit::Absorb);
  EXPECT_EQ(fit_of(*old, draft(), false), Fit::Different);
}

// Of clusters that KubeRay made the hash says nothing: it is taken over another text.
TEST_F(ClustersTable, AClusterOfTheReferenceFitsByItsSpec) {
  auto old = cluster("s-a", true);
  old->meta.annotations[std::string(ray::kAnnotationVersion)] = "v1.7.0";
  old->meta.annotations[std::string(ray::kAnnotationSpecHash)] = "0123456789ABCDEFGHIJKLMNOPQRSTUV";
  old->spec.workerGroupSpecs[0].replicas = 7;  // as an autoscaler left it
  EXPECT_EQ(fit_of(*old, draft(), true), Fit::Refresh);
  EXPECT_EQ(fit_of(*old, draft(), false), Fit::Same) << "no third cluster in mid-upgrade";
  auto out = draft();
  update_in_place(out, *old, Fit::Refresh, "active");
  const auto made = writes(out.plan);
  ASSERT_EQ(made.size(), 1u);
  EXPECT_EQ(find(made[0].body, {"spec"}), nullptr);
  EXPECT_EQ(string_at(made[0].body, {"metadata", "annotations", ray::kAnnotationSpecHash}),
            ray::service_hash(rs.spec.rayClusterConfig));
  rs.spec.rayClusterConfig.rayVersion = "2.99";
  EXPECT_EQ(fit_of(*old, draft(), true), Fit::Absorb);
  EXPECT_EQ(fit_of(*old, draft(), false), Fit::Different);
}

TEST_F(ClustersTable, WithoutACountOfGroupsEveryChangeIsMadeInPlace) {
  auto old = cluster("s-a", true);
  old->meta.annotations.erase(std::string(ray::kAnnotationNumWorkerGroups));
  rs.spec.rayClusterConfig.rayVersion = "2.99";
  EXPECT_EQ(fit_of(*old, draft(), false), Fit::Grown);
}

// ---- in place

TEST_F(ClustersTable, AnUpdateInPlaceKeepsWhoeverSuspendedTheCluster) {
  auto old = cluster("s-a", true);
  old->spec.suspend = true;
  old->meta.labels["mine"] = "goes";
  rs.spec.rayClusterConfig.workerGroupSpecs.push_back(group("i"));
  auto out = draft();
  update_in_place(out, *old, Fit::Grown, "active");
  const auto made = writes(out.plan);
  ASSERT_EQ(made.size(), 1u);
  EXPECT_EQ(made[0].kind, kube::WriteKind::Update);
  EXPECT_TRUE(bool_at(made[0].body, {"spec", "suspend"}));
  EXPECT_EQ(array_at(made[0].body, {"spec", "workerGroupSpecs"}).size(), 3u);
  EXPECT_EQ(find(made[0].body, {"metadata", "labels", "mine"}), nullptr);
  EXPECT_EQ(made[0].done_event->note, "Updated the active RayCluster ns/s-a");
  EXPECT_TRUE(out.blocked.contains("s-a"));
}

TEST_F(ClustersTable, RS_07_WhatTheAutoscalerScaledKeepsItsWord) {
  rs.spec.rayClusterConfig.enableInTreeAutoscaling = true;
  auto old = cluster("s-a", true);
  old->spec.workerGroupSpecs[0].replicas = 7;
  auto out = draft();
  update_in_place(out, *old, Fit::Absorb, "active");
  const auto made = writes(out.plan);
  const auto& groups = array_at(made.at(0).body, {"spec", "workerGroupSpecs"});
  EXPECT_EQ(int_at(groups.at(0), {"replicas"}), 7);
  EXPECT_EQ(int_at(groups.at(1), {"replicas"}), 1);
}

TEST_F(ClustersTable, OneThatFitsAndOneThatDoesNotAreLeftAlone) {
  const auto old = cluster("s-a", true);
  auto out = draft();
  update_in_place(out, *old, Fit::Same, "active");
  update_in_place(out, *old, Fit::Different, "active");
  EXPECT_THAT(words(out.plan), ElementsAre());
}

TEST_F(ClustersTable, RS_01_OnlyAnExplicitFalseResumes) {
  auto old = cluster("s-a", true);
  old->spec.suspend = true;
  const auto resumed = [&] {
    auto out = draft();
    resume_cluster(out, *old);
    return writes(out.plan).size() == 1;
  };
  EXPECT_FALSE(resumed());
  rs.spec.rayClusterConfig.suspend = false;
  EXPECT_TRUE(resumed());
  old->meta.labels["kueue.x-k8s.io/queue-name"] = "q";
  EXPECT_FALSE(resumed()) << "a queue manager's own to lift";
}

// ---- made

TEST_F(ClustersTable, InStepsAllButTheFirstStartWithoutReplicas) {
  rs.spec.upgradeStrategy = ray::RayServiceUpgradeStrategy{.type = std::string(kIncremental)};
  rs.status.pendingServiceStatus.rayClusterName = "s-b";
  const auto replicas = [&] {
    auto out = draft();
    create_pending(out);
    const auto made = writes(out.plan);
    return int_at(array_at(made.at(0).body, {"spec", "workerGroupSpecs"}).at(0), {"replicas"}, -1);
  };
  EXPECT_EQ(replicas(), 1);
  rs.status.activeServiceStatus.rayClusterName = "s-a";
  EXPECT_EQ(replicas(), -1);
  settings.incremental_upgrade = false;
  EXPECT_EQ(replicas(), 1) << "with the gate off it is an ordinary cluster";
}

TEST_F(ClustersTable, ARefusedCreationIsToldInTheStatus) {
  rs.status.pendingServiceStatus.rayClusterName = "s-b";
  failures["cluster"] = {.error = {.code = ErrorCode::Forbidden, .message = "no more clusters"}};
  auto out = draft();
  create_pending(out);
  EXPECT_THAT(out.waits, ElementsAre("RayCluster ns/s-b cannot be created: no more clusters"));
}

// ---- deleted

struct DanglingTable : ClustersTable {
  /// Which are deleted now, by name.
  std::vector<std::string> deleted() {
    auto out = draft();
    left = delete_dangling(out);
    look_again = out.plan.look_again;
    std::vector<std::string> names;
    for (const auto& write : writes(out.plan)) names.push_back(write.key.name);
    return names;
  }
  std::shared_ptr<ray::RayCluster> there(const char* name, int seconds_ago) {
    auto made = cluster(name, true);
    made->meta.created = kNow - seconds{seconds_ago};
    seen.clusters.push_back(made);
    return made;
  }
  void upgrade_ended(int seconds_ago) {
    rs.status.conditions = {{.type = "UpgradeInProgress",
                             .status = "False",
                             .lastTransitionTime = kNow - seconds{seconds_ago},
                             .reason = "NoPendingCluster"}};
  }
  bool left = false;
  std::optional<Duration> look_again = {};
};

TEST_F(DanglingTable, NamedOnesStay) {
  rs.status.activeServiceStatus.rayClusterName = "s-a";
  rs.status.pendingServiceStatus.rayClusterName = "s-b";
  there("s-a", 5000);
  there("s-b", 4000);
  EXPECT_THAT(deleted(), ElementsAre());
  EXPECT_FALSE(left);
}

struct Delay {
  const char* name;
  std::optional<int> delay;
  int ended_ago;
  bool goes;
};
class DeletionDelay : public DanglingTable, public ::testing::WithParamInterface<Delay> {};
TEST_P(DeletionDelay, Row) {
  rs.spec.rayClusterDeletionDelaySeconds = GetParam().delay;
  rs.status.activeServiceStatus.rayClusterName = "s-a";
  seen.active.cluster = there("s-a", 500);
  there("s-old", 5000);
  upgrade_ended(GetParam().ended_ago);
  EXPECT_EQ(deleted().size(), GetParam().goes ? 1u : 0u);
  EXPECT_TRUE(left);
}
INSTANTIATE_TEST_SUITE_P(, DeletionDelay,
                         ::testing::Values(Delay{"AMinuteUnlessSaid", {}, 60, false},
                                           Delay{"AMinuteAndItsRounding", {}, 61, true},
                                           Delay{"Ten", 10, 11, true},
                                           Delay{"TenYet", 10, 10, false},
                                           Delay{"None", 0, 0, true}),
                         [](const auto& info) { return info.param.name; });

// A → B → C within a minute: that A was dropped when B was promoted would be forgotten.
TEST_F(DanglingTable, TheTimeIsWrittenDownBeforeTheNextUpgradeOverwritesIt) {
  rs.status.activeServiceStatus.rayClusterName = "s-b";
  const auto old = there("s-a", 5000);
  seen.active.cluster = there("s-b", 500);
  upgrade_ended(30);
  auto out = draft();
  note_dropped(out);
  const auto made = writes(out.plan);
  ASSERT_EQ(made.size(), 1u);
  EXPECT_EQ(made[0].key.name, "s-a");
  const std::string since(
      string_at(made[0].body, {"metadata", "annotations", ray::kAnnotationDroppedSince}));
  EXPECT_EQ(since, format_rfc3339(kNow - seconds{30}));

  old->meta.annotations[std::string(ray::kAnnotationDroppedSince)] = since;
  auto again = draft();
  note_dropped(again);
  EXPECT_THAT(words(again.plan), ElementsAre());
  rs.status.pendingServiceStatus.rayClusterName = "s-c";
  upgrade_ended(0);
  there("s-c", 0);
  EXPECT_THAT(deleted(), ElementsAre());
  EXPECT_EQ(look_again, Duration{seconds{31}});
}

// Two edits within a second: creation times do not tell which cluster came first.
TEST_F(DanglingTable, OnesMadeInTheSecondOfTheirSuccessorGoInTimeToo) {
  rs.status.activeServiceStatus.rayClusterName = "s-a";
  rs.status.pendingServiceStatus.rayClusterName = "s-c";
  rs.status.lastUpdateTime = kNow;  // which every status renews
  seen.active.cluster = there("s-a", 5000);
  there("s-b", 100);
  seen.pending.cluster = there("s-c", 100);
  EXPECT_THAT(deleted(), ElementsAre("s-b"));
}

// Its successor was lost, and who comes next does not serve yet.
TEST_F(DanglingTable, OneToWhichRequestsGoStays) {
  rs.status.activeServiceStatus.rayClusterName = "s-a";
  seen.active.cluster = there("s-a", 500);
  there("s-old", 5000);
  upgrade_ended(400);
  const auto selecting = [](const char* cluster) {
    kube::ServiceView service;
    service.selector[std::string(ray::kLabelCluster)] = cluster;
    return std::make_shared<kube::ServiceView>(std::move(service));
  };
  seen.serve_service = selecting("s-old");
  EXPECT_THAT(deleted(), ElementsAre());
  seen.serve_service = selecting("s-a");
  EXPECT_THAT(deleted(), ElementsAre("s-old"));
}

// s-b was dropped for s-a before either served; no upgrade has ended since.
struct DroppedUnserved : DanglingTable {
  DroppedUnserved() {
    rs.spec.rayClusterDeletionDelaySeconds = 10;
    rs.status.activeServiceStatus.rayClusterName = "s-a";
    rs.status.lastUpdateTime = kNow - seconds{5};
    upgrade_ended(500);
    there("s-b", 100);
  }
};

TEST_F(DroppedUnserved, ItGoesAfterTheCreationOfItsSuccessor) {
  seen.active.cluster = there("s-a", 10);
  EXPECT_THAT(deleted(), ElementsAre());
  seen.active.cluster = there("s-a", 11);
  EXPECT_THAT(deleted(), ElementsAre("s-b"));
}

TEST_F(DroppedUnserved, ASuccessorOfTheSameSecondCounts) {
  seen.active.cluster = there("s-a", 100);
  EXPECT_THAT(deleted(), ElementsAre("s-b"));
}

// What tells when it was dropped is gone; the last upgrade's end is older than the cluster.
TEST_F(DroppedUnserved, WithoutItsSuccessorItGoesNoSoonerThanItsDelay) {
  EXPECT_THAT(deleted(), ElementsAre());
  auto out = draft();
  note_dropped(out);
  const auto made = writes(out.plan);
  ASSERT_EQ(made.size(), 1u);
  EXPECT_EQ(string_at(made[0].body, {"metadata", "annotations", ray::kAnnotationDroppedSince}),
            format_rfc3339(kNow - seconds{5}));
}

// s-old served before s-a, which is lost; s-b was never more than pending, and older than s-a.
TEST_F(DroppedUnserved, OnesMadeBeforeALostClusterCountFromTheOneInItsPlace) {
  rs.status.pendingServiceStatus.rayClusterName = "s-c";
  there("s-old", 5000);
  EXPECT_THAT(deleted(), ElementsAre());
  seen.pending.cluster = there("s-c", 10);
  EXPECT_THAT(deleted(), ElementsAre());
  seen.pending.cluster = there("s-c", 11);
  EXPECT_THAT(deleted(), ElementsAre("s-b", "s-old"));
}

// Made and rolled back within a second.
TEST_F(DroppedUnserved, OneBesideAnOlderClusterGoesAfterTheEndOfItsUpgrade) {
  seen.active.cluster = there("s-a", 5000);
  upgrade_ended(100);
  EXPECT_THAT(deleted(), ElementsAre("s-b"));
}

TEST_F(DanglingTable, OfADeletedServiceAllGoAtOnce) {
  rs.meta.deleting = kNow;
  rs.status.activeServiceStatus.rayClusterName = "s-a";
  there("s-a", 500);
  there("s-old", 5000);
  EXPECT_THAT(deleted(), ElementsAre("s-a", "s-old"));
  EXPECT_TRUE(left);
}

TEST_F(DanglingTable, OneOnItsWayOutIsWaitedFor) {
  rs.meta.deleting = kNow;
  there("s-a", 500)->meta.deleting = kNow;
  EXPECT_THAT(deleted(), ElementsAre());
  EXPECT_TRUE(left);
}

TEST_F(DanglingTable, RS_10_OneThatNeverServedGoesAtOnceWithTheGate) {
  rs.status.activeServiceStatus.rayClusterName = "s-a";
  rs.status.pendingServiceStatus.rayClusterName = "s-c";
  seen.active.cluster = there("s-a", 500);
  there("s-b", 20);
  there("s-c", 1);
  EXPECT_THAT(deleted(), ElementsAre());
  settings.service_gates.drop_unserved = true;
  EXPECT_THAT(deleted(), ElementsAre("s-b"));
}

// ---- RS-25: idle clusters

struct IdleTable : DanglingTable {
  IdleTable() {
    settings.service_gates.delete_idle = true;
    rs.spec.rayClusterDeletionDelaySeconds = 600;
    rs.status.activeServiceStatus.rayClusterName = "s-a";
    seen.active.cluster = there("s-a", 500);
    there("s-old", 5000);
    upgrade_ended(60);
    pod("s-old-head", "10.0.0.1");
    pod("s-old-worker", "fd00::1");
  }
  void pod(std::string name, std::string address) {
    kube::PodView view{.podIP = std::move(address)};
    view.meta.key = {"ns", std::move(name)};
    seen.dropped_pods["s-old"].push_back(std::make_shared<kube::PodView>(view));
  }
  void says(Result<Json> answer, Time at = kNow) {
    facts["ongoing:s-old"] = {.answer = std::move(answer), .at = at};
  }
};

TEST_F(IdleTable, EveryPodIsAsked) {
  auto going = *seen.dropped_pods["s-old"].back();  // with a request that it may still answer
  going.meta.deleting = kNow;
  seen.dropped_pods["s-old"].back() = std::make_shared<kube::PodView>(going);
  auto out = draft();
  delete_dangling(out);
  ASSERT_EQ(out.plan.facts.size(), 1u);
  EXPECT_EQ(dump_json(*find(out.plan.facts[0].query, {"proxies"})),
            R"([{"pod":"s-old-head","host":"10.0.0.1:8080"},)"
            R"({"pod":"s-old-worker","host":"[fd00::1]:8080"}])");
  settings.service_gates.delete_idle = false;
  auto without = draft();
  delete_dangling(without);
  EXPECT_THAT(without.plan.facts, ElementsAre());
}

TEST_F(IdleTable, OnlyWhenAllIsAnsweredItGoesBeforeTheDelay) {
  EXPECT_THAT(deleted(), ElementsAre()) << "nobody has said anything";
  says(JsonObject{{"ongoing", 2}});
  EXPECT_THAT(deleted(), ElementsAre());
  says(failed(ErrorCode::NotFound, "no proxy tells"));
  EXPECT_THAT(deleted(), ElementsAre());
  says(JsonObject{{"ongoing", 0}}, kNow - seconds{41});
  EXPECT_THAT(deleted(), ElementsAre()) << "the last requests were not counted yet";
  auto early = draft();
  delete_dangling(early);
  EXPECT_EQ(early.plan.look_again, seconds{5}) << "the same answer again is no news";
  says(JsonObject{{"ongoing", 0}}, kNow - seconds{40});
  EXPECT_THAT(deleted(), ElementsAre("s-old"));
}

}  // namespace
}  // namespace manta::controllers::rayservice
