// Every write that the operator makes in the lives of RayClusters and of RayJobs, crossed with
// every way in which it can go wrong (write_faults.h). Whatever happens: never two live heads
// (laws.h, at every commit), never a Pod too many at the end, one submission, and the same objects
// as without faults.
#include "write_faults.h"

#include "case_tools.h"
#include "cert_manager.h"
#include "controllers/batchscheduler/gang.h"
#include "served.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>

namespace manta::integration {
namespace {

using namespace std::chrono_literals;
using kube::CallFault;
namespace batchscheduler = controllers::batchscheduler;

// The state in Redis has to go before the RayCluster does.
std::string cluster_with_redis() {
  std::string yaml = kCluster;
  const std::string_view before = "  headGroupSpec:";
  return yaml.insert(yaml.find(before),
                     "  gcsFaultToleranceOptions: {redisAddress: \"redis:6379\"}\n");
}

/// What a user does, from nothing to the end that is compared; and back to nothing.
struct Life {
  const char* name;
  std::function<void(World&)> live;
  std::function<void(World&)> leave;
  int submissions = 0;  // of Ray jobs
  const char* gates = "";
  const char* scheduler = "";
  void (*serve)(World&) = nullptr;  // other projects' kinds, before the operator starts
};

void leave_cluster(World& world) { world.remove("RayCluster", "c").settle(); }

// Everything that is made beside the Pods, each edited once.
void live_with_everything(World& world) {
  auto text = std::string(kCluster);
  text.replace(text.find("spec:"), 5, R"(spec:
  enableInTreeAutoscaling: true
  authOptions: {mode: token}
  networkPolicy: {}
  headServiceAnnotations: {a: "1"}
  gcsFaultToleranceOptions: {backend: rocksdb, storage: {size: 1Gi}})");
  text.replace(text.find("{name: c}"), 9,
               R"({name: c, annotations: {ray.io/enable-serve-service: "true"}})");
  text.replace(text.find("headGroupSpec:"), 14, "headGroupSpec:\n    enableIngress: true");
  text.replace(text.find("groupName: g"), 12, "groupName: g\n    numOfHosts: 2");
  world.apply(text).run_until(cluster_is("c", "ready"), 1h).settle();
  world
      .patch("RayCluster", "c", R"({metadata: {annotations: {mine: x}}, spec: {
        headServiceAnnotations: {a: "2"}, networkPolicy: {mode: DenyAllIngress},
        gcsFaultToleranceOptions: {storage: {deletionPolicy: Retain}}}})")
      .settle();
  EXPECT_EQ(string_at(world.get("Ingress", "c-head-ingress"), {"metadata", "annotations", "mine"}),
            "x");
  world
      .patch("RayCluster", "c", R"({spec: {networkPolicy: null, headGroupSpec: {
        enableIngress: false}, gcsFaultToleranceOptions: {storage: {deletionPolicy: null}}}})")
      .settle();
  EXPECT_FALSE(world.mirror().find("Ingress", "c-head-ingress"));
  EXPECT_TRUE(world.mirror().find("PersistentVolumeClaim", "c-gcs-pvc"));
}

// As an operator before 1.5 would have left the Pods; what they lack is put there again.
void forget_labels(World& world) {
  for (const auto& name : world.workers("c"))
    world.patch("Pod", name, R"(metadata: {labels: {ray.io/worker-group-replica-name: null,
      ray.io/worker-group-replica-index: null, ray.io/replica-host-index: null}})");
  world.patch("Pod", world.head("c"), R"(metadata: {annotations: {
    ray.io/upgrade-strategy-recreate-hash: null, ray.io/kuberay-version: null}})");
}

const char* const kInAGang = R"({name: c, labels: {ray.io/gang-scheduling-enabled: "true"}})";
std::string gang() {
  auto text = std::string(kCluster);
  return text.replace(text.find("{name: c}"), 9, kInAGang);
}

World& scale(World& world, int replicas) {
  return world.patch("RayCluster", "c", group_of(replicas))
      .run_until(has_workers("c", static_cast<std::size_t>(replicas)), 1h)
      .settle();
}

void live_with_certificates(World& world) {
  auto text = std::string(kCluster);
  text.replace(text.find("spec:"), 5, "spec:\n  tlsOptions: {enabled: true}");
  world.apply(text).settle();
  ASSERT_EQ(world.mirror().list("Certificate").size(), 3u);
  issue_certificates(world);
  world.run_until(cluster_is("c", "ready"), 1h).settle();
  issue_certificates(world);  // again, for the addresses of the Pods
  scale(world.settle(), 3);
  issue_certificates(world);
  world.settle();
  EXPECT_EQ(array_at(world.get("Certificate", "ray-worker-cert-c"), {"spec", "ipAddresses"}).size(),
            4u);
  for (const auto* secret : world.mirror().list("Secret"))
    EXPECT_EQ(array_at(*secret, {"metadata", "ownerReferences"}).size(), 1u);
}

const Life kLives[] = {
    {"RayClusterCreatedAndScaled",
     [](World& world) {
       world.apply(kCluster).run_until(cluster_is("c", "ready"), 1h);
       world.patch("RayCluster", "c", fmt::format(fmt::runtime(kGroup), 4))
           .run_until(has_workers("c", 4), 1h);
       world.patch("RayCluster", "c", fmt::format(fmt::runtime(kGroup), 2)).settle();
       EXPECT_EQ(world.workers("c").size(), 2u);
     },
     &leave_cluster},
    {"RayClusterSuspendedAndResumed",
     [](World& world) {
       world.apply(kCluster).run_until(cluster_is("c", "ready"), 1h);
       world.patch("RayCluster", "c", "{spec: {suspend: true}}")
           .run_until(cluster_is("c", "suspended"), 1h);
       world.patch("RayCluster", "c", "{spec: {suspend: false}}")
           .run_until(cluster_is("c", "ready"), 1h)
           .settle();
       EXPECT_EQ(world.workers("c").size(), 2u);
     },
     &leave_cluster},
    {"RayClusterSuspendedBesideAnothersPod",
     [](World& world) {
       world.apply(kCluster).run_until(cluster_is("c", "ready"), 1h);
       world.apply(
           "{apiVersion: v1, kind: Pod, metadata: {name: mine, labels: {ray.io/cluster: c, "
           "ray.io/node-type: worker}}, "
           "spec: {containers: [{name: c, image: i}]}}");
       world.run_until(cluster_says("c", "ForeignPods", "True PodsNotOwned"), 1h);
       world.patch("RayCluster", "c", "{spec: {suspend: true}}")
           .run_until(cluster_is("c", "suspended"), 1h)
           .settle();
       EXPECT_EQ(world.mirror().list("Pod").size(), 1u);
     },
     [](World& world) {
       leave_cluster(world);
       world.remove("Pod", "mine").settle();
     }},
    {"RayClusterWhosePodsFail",
     [](World& world) {
       world.apply(kCluster).run_until(cluster_is("c", "ready"), 1h).settle();
       world.kubelet().fail(world.workers("c").at(0));
       world.kubelet().evict(world.head("c"));
       world.settle();
       EXPECT_EQ(world.workers("c").size(), 2u);
       EXPECT_FALSE(world.head("c").empty());
     },
     &leave_cluster},
    {"RayClusterWithRedisGoes",
     [](World& world) {
       world.apply(cluster_with_redis()).run_until(cluster_is("c", "ready"), 1h);
       world.remove("RayCluster", "c").run_until(is_gone("RayCluster", "c"), 1h).settle();
       EXPECT_GE(world.mirror().created("Job"), 1) << "nobody has cleaned Redis";
     },
     [](World& world) { world.settle(); }, 0},
    {"RayClusterWithAllThatStandsAroundIt", &live_with_everything, &leave_cluster, 0,
     "RayClusterFollowEdits=true,RayClusterNetworkPolicy=true,GCSFaultToleranceEmbeddedStorage="
     "true"},
    {"RayClusterRecreated",
     [](World& world) {
       world.apply(kCluster)
           .patch("RayCluster", "c", "{spec: {upgradeStrategy: {type: Recreate}}}")
           .run_until(cluster_is("c", "ready"), 1h)
           .settle();
       auto image = group_of(2);
       image.replace(image.find("image: ray"), 10, "image: ray:2");
       world.patch("RayCluster", "c", image).settle();
       EXPECT_EQ(world.workers("c").size(), 2u);
     },
     &leave_cluster},
    {"RayClusterWhoseGroupsSleepAndGo",
     [](World& world) {
       world.apply(kCluster).run_until(cluster_is("c", "ready"), 1h).settle();
       world.patch("RayCluster", "c", group_of(2, "suspend: true")).settle();
       EXPECT_TRUE(world.workers("c").empty());
       world.patch("RayCluster", "c", group_of(2)).run_until(has_workers("c", 2), 1h).settle();
       world.patch("RayCluster", "c", "{spec: {workerGroupSpecs: []}}").settle();
       EXPECT_TRUE(world.workers("c").empty());
       world.patch("RayCluster", "c", "{spec: {suspend: true}}")
           .run_until(is_gone("Service", "c-head-svc"), 1h)
           .settle();
     },
     &leave_cluster, 0, "RayClusterDeleteOrphans=true,RayClusterSuspendServices=true"},
    {"RayClusterOfAnOlderOperator",
     [](World& world) {
       auto text = std::string(kCluster);
       text.replace(text.find("groupName: g"), 12, "groupName: g\n    numOfHosts: 2");
       world.apply(text);
       world.run_until(cluster_is("c", "ready"), 1h).settle();
       forget_labels(world);
       world.settle();
       EXPECT_EQ(world.workers("c").size(), 4u);
     },
     &leave_cluster},
    {"RayClusterThatTakesOverPods",
     [](World& world) {
       world.apply(kCluster).run_until(cluster_is("c", "ready"), 1h).settle();
       const auto head = world.head("c");
       world.remove("RayCluster", "c", kube::Propagation::Orphan)
           .run_until(is_gone("RayCluster", "c"), 1h)
           .settle();
       world.apply(kCluster).run_until(cluster_is("c", "ready"), 1h).settle();
       EXPECT_EQ(world.head("c"), head);
     },
     [](World& world) {
       leave_cluster(world);
       world.remove("Service", "c-head-svc").settle();  // that is used, not taken over
     }},
    {"RayClusterWhoseHeadsNodeIsGone",
     [](World& world) {
       world.apply(kCluster).run_until(cluster_is("c", "ready"), 1h).settle();
       const auto head = world.head("c");
       world.kubelet().hang(head);
       world.remove("Pod", head).run_until(is_gone("Pod", head), 1h);
       world.run_until(cluster_says("c", "HeadPodReady", "True HeadPodRunningAndReady"), 1h)
           .settle();
     },
     &leave_cluster, 0, "RayClusterReplaceLostHead=true"},
    {"RayClusterWithCertificates", &live_with_certificates, &leave_cluster, 0,
     "RayClusterMTLS=true", "", &serve_cert_manager},
    {"RayClusterInAGangOfVolcano",
     [](World& world) {
       world.apply(kCluster).run_until(cluster_is("c", "ready"), 1h);
       scale(world, 4);
       world.patch("RayCluster", "c", "{spec: {suspend: true}}")
           .run_until(cluster_is("c", "suspended"), 1h);
       world.patch("RayCluster", "c", "{spec: {suspend: false}}")
           .run_until(cluster_is("c", "ready"), 1h)
           .settle();
       EXPECT_EQ(int_at(world.get("PodGroup", "ray-c-pg"), {"spec", "minMember"}), 5);
     },
     &leave_cluster, 0, "", "volcano",
     [](World& world) { serve(world, batchscheduler::kVolcanoPodGroups); }},
    {"RayClusterInAGangOfCoscheduling",
     [](World& world) {
       world.apply(gang()).run_until(cluster_is("c", "ready"), 1h).settle();
       EXPECT_EQ(int_at(world.get("PodGroup", "c"), {"spec", "minMember"}), 3);
     },
     &leave_cluster, 0, "", "scheduler-plugins",
     [](World& world) { serve(world, batchscheduler::kCoschedulingPodGroups); }},
    {"RayClusterInAGangOfKubernetes",
     [](World& world) {
       world.apply(gang()).run_until(cluster_is("c", "ready"), 1h);
       scale(world, 4);
       EXPECT_EQ(int_at(world.get("PodGroup", "c-cluster"),
                        {"spec", "schedulingPolicy", "gang", "minCount"}),
                 5);
       world
           .patch("RayCluster", "c", "{metadata: {labels: {ray.io/gang-scheduling-enabled: null}}}")
           .settle();
       EXPECT_TRUE(world.mirror().list("Workload").empty());
       EXPECT_TRUE(world.mirror().list("PodGroup").empty());
     },
     &leave_cluster, 0, "KubernetesWAS=true", "",
     [](World& world) {
       serve(world, batchscheduler::kWorkloads);
       serve(world, batchscheduler::kPodGroups);
     }},
    {"RayJobInAGangOfVolcano",
     [](World& world) {
       world.apply(kJob).run_until(job_is("j", "Complete"), 1h).settle();
       EXPECT_EQ(int_at(world.get("PodGroup", "ray-j-pg"), {"spec", "minMember"}), 0);
     },
     [](World& world) { world.remove("RayJob", "j").settle(); }, 1, "", "volcano",
     [](World& world) { serve(world, batchscheduler::kVolcanoPodGroups); }},
    {"RayJobToItsEnd",
     [](World& world) {
       world.apply(kJob).run_until(job_is("j", "Complete"), 1h).settle();
       EXPECT_EQ(string_at(world.get("RayJob", "j"), {"status", "jobStatus"}), "SUCCEEDED");
       EXPECT_TRUE(world.mirror().list("RayCluster").empty());
     },
     [](World& world) { world.remove("RayJob", "j").settle(); }, 1},
    {"RayJobDeletedInMidRun",
     [](World& world) {
       world.apply(kJob).run_until(ray_job_is("j", "RUNNING"), 1h);
       world.remove("RayJob", "j").settle();
     },
     [](World& world) { world.settle(); }, 1},
};

// How often a Certificate was edited and issued until it was right.
void forget_history(Json& certificate) {
  certificate.as_object().erase("status");
  certificate.at("metadata").as_object().erase("generation");
}

// Without what is chance: the token, and the part of a uid in the authority's Secret's name.
std::vector<std::string> picture_of(const World& world) {
  const auto* cluster = world.mirror().find("RayCluster", "c");
  const auto authority = cluster ? "c-ca-secret-" + uid_of(*cluster).substr(0, 8) : "";
  return world.picture([&authority](Json& object) {
    const auto kind = string_at(object, {"kind"});
    if (kind == "Secret") object.as_object().erase("data");
    if (kind == "Certificate") forget_history(object);
    if (authority.empty()) return true;
    auto text = dump_json(object);
    if (const auto at = text.find(authority); at != std::string::npos)
      object = parse_json(text.replace(at, authority.size(), "c-ca-secret-<uid>")).value();
    return true;
  });
}

class EveryWrite : public testing::TestWithParam<FaultRow> {};

TEST_P(EveryWrite, LostInAnyWayLeavesNoTrace) {
  const auto& life = kLives[GetParam().life];
  World world({.feature_gates = life.gates,
               .batch_scheduler = life.scheduler,
               .cert_manager = life.serve == &serve_cert_manager,
               .start_operator = false,
               .jobs_take = 20s});
  if (life.serve) life.serve(world);
  world.start_operator();
  lose_every_write(world,
                   {.live = [&] { life.live(world); },
                    .leave = [&] { life.leave(world); },
                    .picture = [&] { return picture_of(world); },
                    .submissions = life.submissions},
                   GetParam().fault);
}

INSTANTIATE_TEST_SUITE_P(, EveryWrite, testing::ValuesIn(each_under_every_fault(kLives)),
                         name_of_row);

// Each write in turn fails several times in a row: backing off ends, too.
TEST(WriteFaults, AWriteThatFailsTenTimesIsStillMadeOnce) {
  World world({.jobs_take = 20s});
  std::map<std::string, int> refused;
  world.faults().on_write = [&](std::size_t, const kube::Request& request) {
    const auto what = fmt::format("{} {} {}", static_cast<int>(request.verb),
                                  request.resource.plural, request.subresource);
    return ++refused[what] <= 10 ? CallFault::ServerError : CallFault::None;
  };
  world.apply(kJob).run_until(job_is("j", "Complete"), 6h);
  world.faults().on_write = {};
  world.settle();
  EXPECT_EQ(world.mirror().created("RayCluster"), 1);
  EXPECT_EQ(world.mirror().created("Job"), 1);
  EXPECT_EQ(world.ray().submissions().size(), 1u);
}

}  // namespace
}  // namespace manta::integration
