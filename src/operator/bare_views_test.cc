#include "operator/bare_views.h"

#include "base/yaml.h"
#include "ray/names.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace manta::operator_ {
namespace {

Json object(std::string_view metadata) {
  auto parsed =
      parse_yaml_one(fmt::format("metadata: {}\nspec: {{a: 1}}\nstatus: {{b: 2}}\n", metadata));
  MANTA_CHECK(parsed.has_value());
  return *parsed;
}

constexpr const char* kOthers =
    "{name: web, namespace: n, uid: u, labels: {app: x}, finalizers: [f], ownerReferences: "
    "[{apiVersion: apps/v1, kind: Deployment, name: d, uid: du, controller: true}]}";

struct Case {
  const char* name;
  const char* metadata;
  bool marked, head_ingress, has_spec;
};
const Case kCases[] = {
    {"Others", kOthers, false, false, false},
    {"OfRaysLabel", "{name: web, labels: {ray.io/cluster: c}}", true, true, true},
    {"OfRaysOwner", "{name: web, ownerReferences: [{apiVersion: ray.io/v1, kind: RayCluster}]}",
     true, true, true},
    {"LikeRays", "{name: web, labels: {xray.io/cluster: c}}", false, false, false},
    {"InTheIngresssPlace", "{name: c-head-ingress}", false, true, false},
    {"InTheClaimsPlace", "{name: c-gcs-pvc}", false, false, true},
};
class BareViews : public testing::TestWithParam<Case> {};
TEST_P(BareViews, Row) {
  const auto& row = GetParam();
  EXPECT_EQ(has_ray_mark(object(row.metadata)), row.marked);
  EXPECT_EQ(concerns_head(object(row.metadata)), row.head_ingress);
  const auto claim = project_claim(object(row.metadata));
  ASSERT_TRUE(claim) << claim.error().message;
  EXPECT_EQ(!claim->spec.is_null(), row.has_spec);
  EXPECT_EQ(!claim->status.is_null(), row.has_spec);
}
INSTANTIATE_TEST_SUITE_P(, BareViews, testing::ValuesIn(kCases),
                         [](auto& c) { return c.param.name; });

TEST(BareView, NamesThatWeGiveAreKnown) {
  for (const std::string& cluster : {std::string("c"), std::string(60, 'c')}) {
    const auto meta = [](const std::string& name) { return "{name: " + name + "}"; };
    EXPECT_TRUE(concerns_head(object(meta(ray::head_ingress_name(cluster)))));
    EXPECT_FALSE(project_claim(object(meta(ray::gcs_claim_name(cluster))))->spec.is_null());
  }
}

TEST(BareView, KeepsWhoseItIs) {
  const auto view = project_bare(object(kOthers));
  ASSERT_TRUE(view) << view.error().message;
  EXPECT_EQ(view->meta.key, (kube::ObjectKey{"n", "web"}));
  EXPECT_EQ(view->meta.uid, "u");
  ASSERT_NE(view->meta.controller_owner(), nullptr);
  EXPECT_EQ(view->meta.controller_owner()->name, "d");
  EXPECT_TRUE(view->meta.labels.empty());
  EXPECT_TRUE(view->meta.finalizers.empty());
}

}  // namespace
}  // namespace manta::operator_
