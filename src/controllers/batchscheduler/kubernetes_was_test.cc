#include "controllers/batchscheduler/testing.h"

#include <gtest/gtest.h>

namespace manta::controllers::batchscheduler {
namespace {

GangSeen whole(const ray::RayCluster& cluster) {
  const auto gang = decide_gang(cluster, {}, KubernetesWas);
  return {.pod_group = made(gang, 1), .workload = made(gang, 0)};
}

TEST(KubernetesWas, MakesTheWorkloadThenThePodGroup) {
  const auto gang = decide_gang(gang_cluster(), {}, KubernetesWas);
  EXPECT_EQ(outline(gang), "create Workload; create PodGroup");
  EXPECT_EQ(dump_json(*find(gang.stages[0][0].body, {"spec"})),
            R"({"controllerRef":{"apiGroup":"ray.io","kind":"RayCluster","name":"c"},)"
            R"("podGroupTemplates":[{"name":"cluster","schedulingPolicy":)"
            R"({"gang":{"minCount":3}}}]})");
  EXPECT_EQ(string_at(gang.stages[1][0].body, {"metadata", "name"}), "c-cluster");
  EXPECT_EQ(dump_json(*find(gang.stages[1][0].body, {"spec"})),
            R"({"podGroupTemplateRef":{"workload":{"workloadName":"c",)"
            R"("podGroupTemplateName":"cluster"}},"schedulingPolicy":{"gang":{"minCount":3}}})");
}

struct WasCase {
  const char* name;
  ray::RayCluster cluster;  // as it is now; the gang was made for two workers
  void (*edit)(GangSeen&);  // what became of the gang
  const char* want;
};
ray::RayCluster autoscaled() {
  auto cluster = gang_cluster();
  cluster.spec.enableInTreeAutoscaling = true;
  return cluster;
}
void protect(kube::SpecView& view) {
  view.meta.finalizers = {"mine/keep", "scheduling.k8s.io/podgroup-protection"};
}
void as_is(GangSeen&) {}
void no_pod_group(GangSeen& seen) { seen.pod_group.reset(); }
void nothing(GangSeen& seen) { seen = {}; }
void foreign_group(GangSeen& seen) {
  seen.pod_group =
      edited(seen.pod_group, [](auto& view) { owned_by(view, "RayCluster", "d", "d-uid"); });
}
void foreign_workload(GangSeen& seen) {
  seen.workload =
      edited(seen.workload, [](auto& view) { owned_by(view, "RayCluster", "d", "d-uid"); });
}
const WasCase kWas[] = {
    {"Settled", gang_cluster(), as_is, ""},
    {"PodGroupLost", gang_cluster(), no_pod_group, "create PodGroup"},
    {"GrownWithPodGroup", gang_cluster(3), as_is, "delete PodGroup blocked"},
    {"GrownWithProtectedPodGroup", gang_cluster(3),
     [](GangSeen& seen) { seen.pod_group = edited(seen.pod_group, protect); },
     "patch PodGroup; delete PodGroup blocked"},
    {"PodGroupGoing", gang_cluster(3),
     [](GangSeen& seen) { seen.pod_group = edited(seen.pod_group, terminating); }, " blocked"},
    {"ProtectedPodGroupGoing", gang_cluster(3),
     [](GangSeen& seen) { seen.pod_group = edited(edited(seen.pod_group, terminating), protect); },
     "patch PodGroup blocked"},
    {"GrownWithoutPodGroup", gang_cluster(3), no_pod_group, "delete Workload blocked"},
    {"GrownBesideForeignPodGroup", gang_cluster(3), foreign_group, "delete Workload blocked"},
    {"WorkloadGoing", gang_cluster(3),
     [](GangSeen& seen) { seen.workload = edited(seen.workload, terminating); }, " blocked"},
    {"BothGone", gang_cluster(3), nothing, "create Workload; create PodGroup"},
    {"ForeignWorkload", gang_cluster(), foreign_workload, " ! WorkloadNameCollision blocked"},
    {"ForeignPodGroup", gang_cluster(), foreign_group, " ! PodGroupNameCollision blocked"},
    {"PodGroupOfAnotherSize", gang_cluster(),
     [](GangSeen& seen) {
       seen.pod_group = edited(seen.pod_group, [](auto& view) {
         ensure(view.spec, {"schedulingPolicy", "gang", "minCount"}) = 9;
       });
     },
     "delete PodGroup blocked"},
    {"TwoTemplates", gang_cluster(),
     [](GangSeen& seen) {
       seen.workload = edited(seen.workload, [](auto& view) {
         auto& templates = view.spec.at("podGroupTemplates").as_array();
         templates.push_back(Json(templates[0]));
       });
     },
     "delete PodGroup blocked"},
    {"AutoscaledHasNone", autoscaled(), nothing, ""},
    {"AutoscaledLosesIts", autoscaled(), as_is, "delete PodGroup blocked"},
    {"UnlabelledLosesItsWorkload", labelled({}), no_pod_group, "delete Workload"},
    {"UnlabelledWaitsForItsWorkload", labelled({}),
     [](GangSeen& seen) {
       seen.pod_group.reset();
       seen.workload = edited(seen.workload, terminating);
     },
     " blocked"},
    {"UnlabelledLeavesForeignOnesAlone", labelled({}),
     [](GangSeen& seen) {
       foreign_group(seen);
       foreign_workload(seen);
     },
     ""},
};
class KubernetesWasCase : public testing::TestWithParam<WasCase> {};
TEST_P(KubernetesWasCase, Row) {
  auto seen = whole(gang_cluster());
  GetParam().edit(seen);
  EXPECT_EQ(outline(decide_gang(GetParam().cluster, seen, KubernetesWas)), GetParam().want);
}
INSTANTIATE_TEST_SUITE_P(, KubernetesWasCase, testing::ValuesIn(kWas),
                         [](const auto& row) { return row.param.name; });

TEST(KubernetesWas, OtherFinalizersStay) {
  auto seen = whole(gang_cluster());
  seen.pod_group = edited(seen.pod_group, protect);
  const auto gang = decide_gang(gang_cluster(3), seen, KubernetesWas);
  EXPECT_EQ(dump_json(*find(gang.stages.at(0).at(0).body, {"metadata", "finalizers"})),
            R"(["mine/keep"])");
  EXPECT_EQ(gang.stages.at(1).at(0).precondition_uid, "g-uid");
}

}  // namespace
}  // namespace manta::controllers::batchscheduler
