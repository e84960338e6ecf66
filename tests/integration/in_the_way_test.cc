// Somebody else's object stands where one of ours is to be. When it goes or becomes what is waited
// for, it goes on at once: there is no periodic look that would find it later.
#include "cert_manager.h"
#include "controllers/mtls/plan.h"
#include "manifests.h"
#include "service_world.h"
#include "world.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace manta::integration {
namespace {

using namespace std::chrono_literals;

std::string cluster_with(std::string_view spec, std::string_view head = "") {
  auto text = std::string(kCluster);
  text.replace(text.find("spec:\n"), 6, "spec:\n" + std::string(spec));
  text.replace(text.find("headGroupSpec:\n"), 15, "headGroupSpec:\n" + std::string(head));
  return text;
}

std::string owner_of(const Json& object) {
  const auto& owners = array_at(object, {"metadata", "ownerReferences"});
  return owners.empty() ? "" : std::string(string_at(owners[0], {"kind"}));
}

struct InTheWay {
  std::string gates = {};
  std::string cluster = {};
  kube::Resource resource = {};
  std::string name = {};
  Json spec = {};
};

class AnotherInTheWay : public ::testing::TestWithParam<InTheWay> {};

TEST_P(AnotherInTheWay, OursComesWhenItGoes) {
  const auto& row = GetParam();
  const kube::ObjectKey key{"default", row.name};
  World world({.feature_gates = row.gates, .cert_manager = true, .start_operator = false});
  serve_cert_manager(world);
  const auto made = world.loop().run(world.server().create(
      row.resource, {{"apiVersion", row.resource.api_version()},
                     {"kind", row.resource.kind},
                     {"metadata", {{"name", key.name}, {"namespace", key.namespace_}}},
                     {"spec", row.spec}}));
  ASSERT_TRUE(made) << made.error().message;
  world.start_operator();
  world.apply(row.cluster).settle();
  EXPECT_EQ(owner_of(world.get(row.resource.kind, row.name)), "") << "it is left alone";
  EXPECT_TRUE(world.loop().run(world.server().remove(row.resource, key)));
  world.pass(1s);
  EXPECT_EQ(owner_of(world.get(row.resource.kind, row.name)), "RayCluster");
}

INSTANTIATE_TEST_SUITE_P(
    Kinds, AnotherInTheWay,
    ::testing::Values(
        InTheWay{.gates = "RayClusterNetworkPolicy=true",
                 .cluster = cluster_with("  networkPolicy: {mode: DenyAll}\n"),
                 .resource = kube::kNetworkPolicies,
                 .name = "c-head",
                 .spec = {{"podSelector", JsonObject{}}}},
        InTheWay{.cluster = cluster_with("", "    enableIngress: true\n"),
                 .resource = kube::kIngresses,
                 .name = "c-head-ingress",
                 .spec = {{"defaultBackend",
                           {{"service", {{"name", "shop"}, {"port", {{"number", 80}}}}}}}}},
        InTheWay{.gates = "RayClusterMTLS=true",
                 .cluster = cluster_with("  tlsOptions: {enabled: true}\n"),
                 .resource = controllers::mtls::kIssuers,
                 .name = "ray-ca-issuer-c",
                 .spec = {{"selfSigned", JsonObject{}}}}),
    [](const auto& row) { return row.param.resource.kind; });

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
