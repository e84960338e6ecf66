#include "ray/spec_hash.h"

#include "ray/kube_canonical.h"
#include "ray/testing.h"

#include <gtest/gtest.h>

namespace manta::ray {
namespace {

constexpr std::string_view kDemo = R"(
rayVersion: 2.52.0
headGroupSpec:
  template:
    spec:
      tolerations: [{key: a}]
      schedulingGates: [{name: b}]
      containers:
      - {name: ray-head, image: "rayproject/ray:2.52.0", resources: {requests: {memory: 2048Mi, cpu: 1000m}, limits: {memory: 2Gi, cpu: 1}}}
workerGroupSpecs:
- groupName: gpu
  replicas: 1
  minReplicas: 0
  maxReplicas: 5
  numOfHosts: 1
  priority: 0
  rayStartParams: {}
  scaleStrategy: {workersToDelete: [gone]}
  template:
    spec:
      containers:
      - {name: ray-worker, image: "rayproject/ray:2.52.0", resources: {limits: {nvidia.com/gpu: 1, cpu: 0.5, memory: 1Gi}}}
)";

TEST(SpecHash, WorkedExample) {  // spec/03 §8.1
  auto spec = part<RayClusterSpec>(kDemo);
  auto defaulted = spec;
  defaulted.headGroupSpec.rayStartParams.emplace();
  EXPECT_EQ(
      canonical_text(without_mutable_fields(defaulted)),
      R"({"headGroupSpec":{"template":{"metadata":{},"spec":{"containers":[{"name":"ray-head","image":"rayproject/ray:2.52.0","resources":{"limits":{"cpu":"1","memory":"2Gi"},"requests":{"cpu":"1","memory":"2Gi"}}}]}},"rayStartParams":{}},"rayVersion":"2.52.0","workerGroupSpecs":[{"groupName":"gpu","minReplicas":null,"maxReplicas":null,"priority":0,"rayStartParams":{},"template":{"metadata":{},"spec":{"containers":[{"name":"ray-worker","image":"rayproject/ray:2.52.0","resources":{"limits":{"cpu":"500m","memory":"1Gi","nvidia.com/gpu":"1"}}}]}},"scaleStrategy":{},"numOfHosts":1}]})");
  EXPECT_EQ(recreate_hash(spec), "BS1PUTM3HHVSTJBTOIP78ITLSCTM4NMT");
  // RayService does not default rayStartParams: null hashes differently.
  EXPECT_NE(service_hash(spec), recreate_hash(spec));
}

struct Change {
  const char* name;
  void (*change)(RayClusterSpec&);
  bool counts;
};
const Change kChanges[] = {
    {"Image", [](auto& s) { ensure(s.headGroupSpec.template_, {"spec", "hostname"}) = "h"; }, true},
    {"RayVersion", [](auto& s) { s.rayVersion = "2.53.0"; }, true},
    {"NumOfHosts", [](auto& s) { s.workerGroupSpecs[0].numOfHosts = 2; }, true},
    {"NewGroup", [](auto& s) { s.workerGroupSpecs.push_back({.groupName = "new"}); }, true},
    {"Replicas", [](auto& s) { s.workerGroupSpecs[0].replicas = 4; }, false},
    {"MinReplicas", [](auto& s) { s.workerGroupSpecs[0].minReplicas = 4; }, false},
    {"MaxReplicas", [](auto& s) { s.workerGroupSpecs[0].maxReplicas = 4; }, false},
    {"WorkersToDelete",
     [](auto& s) { s.workerGroupSpecs[0].scaleStrategy.workersToDelete = {"x"}; }, false},
    {"Tolerations",
     [](auto& s) {
       ensure(s.workerGroupSpecs[0].template_, {"spec", "tolerations"}) = JsonArray{JsonObject()};
     },
     false},
    {"UpgradeStrategy", [](auto& s) { s.upgradeStrategy.emplace(); }, false},
    {"QuantitySpelling",
     [](auto& s) {
       ensure(s.headGroupSpec.template_, {"spec", "containers"})
           .as_array()[0]
           .as_object()["resources"]
           .as_object()["limits"]
           .as_object()["cpu"] = "1000m";
     },
     false},
};
class SpecHashChange : public testing::TestWithParam<Change> {};
TEST_P(SpecHashChange, CountsOrNot) {
  const auto before = part<RayClusterSpec>(kDemo);
  auto after = before;
  GetParam().change(after);
  EXPECT_EQ(spec_hash(after) != spec_hash(before), GetParam().counts);
}
INSTANTIATE_TEST_SUITE_P(, SpecHashChange, testing::ValuesIn(kChanges),
                         [](auto& info) { return info.param.name; });

TEST(SpecHash, AddedGroupsAtTheEndAreSeenAsSuch) {
  const auto before = part<RayClusterSpec>(kDemo);
  auto after = before;
  after.workerGroupSpecs.push_back({.groupName = "new"});
  const auto stored = service_hash(before);
  EXPECT_TRUE(only_adds_worker_groups(stored, "1", after));
  EXPECT_TRUE(only_adds_worker_groups(stored, "one", after));  // unreadable: no difference
  EXPECT_FALSE(only_adds_worker_groups(stored, "3", after));
  after.rayVersion = "2.53.0";
  EXPECT_FALSE(only_adds_worker_groups(stored, "1", after));
}

struct Canonical {
  const char* name;
  std::string_view shape;
  std::string_view yaml;
  std::string_view text;
};
const Canonical kCanonical[] = {
    {"KeyOrder", "Container", "{image: i, name: n, args: [b, a]}",
     R"({"name":"n","image":"i","args":["b","a"],"resources":{}})"},
    {"ZeroNumbersGo", "ContainerPort", "{containerPort: 80, hostPort: 0, protocol: TCP, name: ''}",
     R"({"containerPort":80,"protocol":"TCP"})"},
    {"PointersToZeroStay", "SecurityContext", "{runAsUser: 0, privileged: false, capabilities: {}}",
     R"({"capabilities":{},"privileged":false,"runAsUser":0})"},
    {"EmptyListsAndMapsGo", "PodTemplateSpec",
     "{metadata: {labels: {}}, spec: {containers: [], volumes: [], hostNetwork: false}}",
     R"({"metadata":{},"spec":{"containers":[]}})"},
    {"AbsentListIsNull", "PodTemplateSpec", "{}", R"({"metadata":{},"spec":{"containers":null}})"},
    {"UnknownKeysGo", "EnvVar", "{name: A, value: x, comment: y}", R"({"name":"A","value":"x"})"},
    {"MapKeysSorted", "EmbeddedObjectMeta", "{labels: {b: '1', a: '2'}}",
     R"({"labels":{"a":"2","b":"1"}})"},
    {"DivisorAlways", "ResourceFieldSelector", "{resource: limits.cpu}",
     R"({"resource":"limits.cpu","divisor":"0"})"},
    {"IntOrStringKeepsItsKind", "HTTPGetAction", "{path: /, port: http}",
     R"({"path":"/","port":"http"})"},
    {"QuantityNumbers", "ResourceRequirements", "{limits: {cpu: 2, memory: 0.5Gi}}",
     R"({"limits":{"cpu":"2","memory":"512Mi"}})"},
    {"GrpcServiceNull", "GRPCAction", "{port: 1}", R"({"port":1,"service":null})"},
    {"WrongTypesPass", "[EnvVar]", "{not: a list}", R"({"not":"a list"})"},
};
class KubeCanonical : public testing::TestWithParam<Canonical> {};
TEST_P(KubeCanonical, Row) {
  EXPECT_EQ(dump_json(kube_canonical(yaml(GetParam().yaml), GetParam().shape)), GetParam().text);
}
INSTANTIATE_TEST_SUITE_P(, KubeCanonical, testing::ValuesIn(kCanonical),
                         [](auto& info) { return info.param.name; });

TEST(CanonicalText, FloatsAreShortestFor32Bits) {
  RayJobSpec spec;
  spec.entrypointNumCpus = 0.1f;
  spec.entrypointNumGpus = 2;
  EXPECT_EQ(canonical_text(spec), R"({"entrypointNumCpus":0.1,"entrypointNumGpus":2})");
}

TEST(CanonicalText, EscapesAsGoDoes) {
  RayJobSpec spec;
  spec.entrypoint = "a<b>&c";
  EXPECT_EQ(canonical_text(spec), R"({"entrypoint":"a\u003cb\u003e\u0026c"})");
}

TEST(SpecHash, TemplatesOfWrongTypesAreHashedAsTheyAre) {
  RayClusterSpec spec, other;
  spec.headGroupSpec.template_ = Json{{"spec", "x"}};
  other.headGroupSpec.template_ = Json{{"spec", 1}};
  EXPECT_EQ(spec_hash(spec), spec_hash(spec));
  EXPECT_NE(spec_hash(spec), spec_hash(other));
  other.headGroupSpec.template_ = Json("x");
  EXPECT_EQ(spec_hash(other).size(), 32u);
}

}  // namespace
}  // namespace manta::ray
