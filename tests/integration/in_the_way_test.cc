// Somebody else's object stands where one of ours is to be. When it goes or becomes what is waited
// for, it goes on at once: there is no periodic look that would find it later.
#include "cert_manager.h"
#include "controllers/mtls/plan.h"
#include "manifests.h"
#include "service_world.h"
#include "world.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace manta::integration {
namespace {

using namespace std::chrono_literals;

std::string owner_of(const Json& object) {
  const auto& owners = array_at(object, {"metadata", "ownerReferences"});
  return owners.empty() ? "" : std::string(string_at(owners[0], {"kind"}));
}

struct InTheWay {
  std::string gates = {};
  std::string spec = {};  // what it takes to want the object
  kube::Resource resource = {};
  std::string name = {};
  JsonObject body = {};
};

class AnotherInTheWay : public ::testing::TestWithParam<InTheWay> {};

TEST_P(AnotherInTheWay, OursComesWhenItGoes) {
  const auto& row = GetParam();
  const kube::ObjectKey key{"default", row.name};
  World world({.feature_gates = row.gates, .cert_manager = true, .start_operator = false});
  serve_cert_manager(world);
  auto foreign = row.body;
  foreign["apiVersion"] = row.resource.api_version();
  foreign["kind"] = row.resource.kind;
  foreign["metadata"] = {{"name", key.name}, {"namespace", key.namespace_}};
  const auto made = world.loop().run(world.server().create(row.resource, std::move(foreign)));
  ASSERT_TRUE(made) << made.error().message;
  world.apply(kCluster).patch("RayCluster", "c", fmt::format("{{spec: {{{}}}}}", row.spec));
  world.start_operator().settle();
  EXPECT_EQ(owner_of(world.get(row.resource.kind, row.name)), "") << "it is left alone";
  EXPECT_TRUE(world.loop().run(world.server().remove(row.resource, key)));
  world.pass(1s);
  EXPECT_EQ(owner_of(world.get(row.resource.kind, row.name)), "RayCluster");
}

INSTANTIATE_TEST_SUITE_P(
    Kinds, AnotherInTheWay,
    ::testing::Values(
        InTheWay{.gates = "RayClusterNetworkPolicy=true",
                 .spec = "networkPolicy: {mode: DenyAll}",
                 .resource = kube::kNetworkPolicies,
                 .name = "c-head",
                 .body = {{"spec", {{"podSelector", JsonObject{}}}}}},
        InTheWay{.spec = "headGroupSpec: {enableIngress: true}",
                 .resource = kube::kIngresses,
                 .name = "c-head-ingress",
                 .body = {{"spec",
                           {{"defaultBackend",
                             {{"service", {{"name", "shop"}, {"port", {{"number", 80}}}}}}}}}}},
        InTheWay{.spec = "enableInTreeAutoscaling: true", .resource = kube::kRoles, .name = "c"},
        InTheWay{.spec = "enableInTreeAutoscaling: true",
                 .resource = kube::kRoleBindings,
                 .name = "c",
                 .body = {{"roleRef",
                           {{"apiGroup", "rbac.authorization.k8s.io"},
                            {"kind", "Role"},
                            {"name", "shop"}}}}},
        InTheWay{.gates = "RayClusterMTLS=true",
                 .spec = "tlsOptions: {enabled: true}",
                 .resource = controllers::mtls::kIssuers,
                 .name = "ray-ca-issuer-c",
                 .body = {{"spec", {{"selfSigned", JsonObject{}}}}}}),
    [](const auto& row) { return row.param.resource.kind; });

// spec/02 §2: adopted as it is, whoever made it.
TEST(ClaimInTheWay, OneThatIsKeptMayBelongToAnother) {
  World world({.feature_gates = "GCSFaultToleranceEmbeddedStorage=true", .start_operator = false});
  world.apply("{apiVersion: v1, kind: ConfigMap, metadata: {name: shop}}");
  const auto owner = world.get("ConfigMap", "shop");
  world.apply(fmt::format(R"(
apiVersion: v1
kind: PersistentVolumeClaim
metadata:
  name: c-gcs-pvc
  ownerReferences:
  - {{apiVersion: v1, kind: ConfigMap, name: shop, uid: {}, controller: true}}
spec: {{accessModes: [ReadWriteOnce], resources: {{requests: {{storage: 1Gi}}}}}})",
                          string_at(owner, {"metadata", "uid"})));
  world.apply(kCluster)
      .patch("RayCluster", "c", R"({spec: {gcsFaultToleranceOptions: {
          backend: rocksdb, storage: {deletionPolicy: Retain}}}})")
      .start_operator()
      .run_until(cluster_is("c", "ready"))
      .settle();
}

constexpr std::string_view kOwnerlessService = R"(
apiVersion: v1
kind: Service
metadata: {name: s-serve-svc, labels: {ray.io/originated-from-crd: RayService, ray.io/originated-from-cr-name: s}}
spec: {selector: {ray.io/cluster: gone}, ports: [{name: serve, port: 8000}]})";

// Left behind by `kubectl delete --cascade=orphan`, or by a backup that was restored.
TEST(OrphanInTheWay, AServiceIsFoundToServeThoughNobodyOwnsIt) {
  ServiceWorld world;
  world.apply(kOwnerlessService).apply(kService).pass(2min);
  EXPECT_EQ(world.condition("Ready"), "True NonZeroServeEndpoints");
  EXPECT_EQ(world.behind("s-serve-svc"), world.active());
}

}  // namespace
}  // namespace manta::integration
