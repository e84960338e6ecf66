#include "operator/given_names.h"

#include "base/yaml.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace manta::operator_ {
namespace {

Json object(std::string_view yaml) {
  auto parsed = parse_yaml_one(yaml);
  MANTA_CHECK(parsed.has_value());
  return *parsed;
}

struct Names : testing::Test {
  void cluster(std::string_view name, std::string_view service, int revision = 1) {
    clusters.observe(object(fmt::format(
        "metadata: {{name: {0}, namespace: n, uid: {0}, resourceVersion: '{1}'}}\n"
        "spec: {{headGroupSpec: {{headService: {{metadata: {{name: '{2}'}}}}, template: {{}}}}}}\n",
        name, revision, service)));
  }
  void ray_service(std::string_view name, std::string_view service, int revision = 1) {
    services.observe(object(fmt::format(
        "metadata: {{name: {0}, namespace: n, uid: {0}, resourceVersion: '{1}'}}\n"
        "spec: {{serveService: {{metadata: {{name: '{2}'}}}}, rayClusterConfig: {{headGroupSpec: "
        "{{template: {{}}}}}}}}\n",
        name, revision, service)));
  }
  bool concerns(std::string_view metadata) const {
    return names.concerns(object(fmt::format("metadata: {}\n", metadata)));
  }
  std::string clusters_of(std::string service) const {
    std::string text;
    for (const auto& key : names.clusters_of({"n", std::move(service)})) text += key.name + " ";
    return text;
  }

  kube::Cache<ray::RayCluster> clusters{ray::kRayClusters, ray::parse_ray_cluster};
  kube::Cache<ray::RayService> services{ray::kRayServices, ray::parse_ray_service};
  GivenNames names{clusters, services};
};

TEST_F(Names, OthersServicesDoNotConcernRay) {
  cluster("c", "");
  EXPECT_FALSE(concerns("{name: web, namespace: n, labels: {app: x}}"));
  EXPECT_TRUE(concerns("{name: any-head-svc, namespace: n}"));
  EXPECT_TRUE(concerns("{name: any-serve-svc, namespace: n}"));
  EXPECT_TRUE(concerns("{name: web, namespace: n, labels: {ray.io/cluster: c}}"));
  EXPECT_TRUE(concerns(
      "{name: web, namespace: n, ownerReferences: [{apiVersion: ray.io/v1, kind: RayCluster}]}"));
}

TEST_F(Names, ANameThatASpecGivesConcernsRayInItsNamespace) {
  cluster("c", "front");
  ray_service("s", "shop");
  EXPECT_TRUE(concerns("{name: front, namespace: n}"));
  EXPECT_TRUE(concerns("{name: shop, namespace: n}"));
  EXPECT_FALSE(concerns("{name: front, namespace: m}"));
  EXPECT_EQ(clusters_of("front"), "c ");
  EXPECT_EQ(clusters_of("shop"), "") << "no RayCluster gives that name";
}

TEST_F(Names, ANameThatTwoGiveLastsAsLongAsEither) {
  cluster("a", "front");
  cluster("b", "front");
  EXPECT_EQ(clusters_of("front"), "a b ");
  cluster("a", "other", 2);
  EXPECT_EQ(clusters_of("front"), "b ");
  EXPECT_EQ(clusters_of("other"), "a ");
  clusters.observe_gone({"n", "b"}, "b", 3);
  EXPECT_FALSE(concerns("{name: front, namespace: n}"));
  EXPECT_TRUE(concerns("{name: other, namespace: n}"));
}

TEST_F(Names, ANameTakenBackIsForgotten) {
  ray_service("s", "shop");
  ray_service("s", "shop", 2);
  ray_service("s", "", 3);
  EXPECT_FALSE(concerns("{name: shop, namespace: n}"));
}

TEST_F(Names, EndpointsConcernServingBeforeTheirServiceIsSeen) {
  ray_service("s", "shop");
  const auto serving = [&](std::string_view namespace_, std::string_view label) {
    return names.concerns_serving(object(
        fmt::format("metadata: {{name: x, namespace: {}, labels: {{{}}}}}\n", namespace_, label)));
  };
  EXPECT_TRUE(serving("n", "kubernetes.io/service-name: any-serve-svc"));
  EXPECT_TRUE(serving("n", "kubernetes.io/service-name: shop"));
  EXPECT_FALSE(serving("m", "kubernetes.io/service-name: shop"));
  EXPECT_TRUE(serving("m", "kubernetes.io/service-name: shop, ray.io/serve: s-serve"));
  EXPECT_FALSE(serving("n", "kubernetes.io/service-name: web"));
  EXPECT_FALSE(serving("n", "kubernetes.io/service-name: any-head-svc, ray.io/cluster: any"));
}

}  // namespace
}  // namespace manta::operator_
