#include "controllers/mtls/readiness.h"

#include "controllers/raycluster/testing.h"

#include <gtest/gtest.h>

namespace manta::controllers::mtls {
namespace {

std::shared_ptr<const kube::SpecView> certificate(std::string owner = "c-uid",
                                                  std::int64_t observed = 2,
                                                  std::string_view status = "True") {
  kube::SpecView view;
  view.meta.generation = 2;
  view.meta.owners = {{"ray.io/v1", "RayCluster", "c", std::move(owner), true, true}};
  view.status = {{"conditions",
                  {{{"type", "Issuing"}, {"status", "False"}},
                   {{"type", "Ready"}, {"status", status}, {"observedGeneration", observed}}}}};
  return std::make_shared<const kube::SpecView>(std::move(view));
}
std::shared_ptr<const kube::SecretView> secret(std::vector<std::string> keys = {"ca.crt", "tls.crt",
                                                                                "tls.key"}) {
  return std::make_shared<const kube::SecretView>(kube::SecretView{.keys = std::move(keys)});
}

struct Case {
  const char* name;
  LeavesSeen seen;
  const char* want;
};
const Case kCases[] = {
    {"Nothing", {}, "certificate ray-head-cert-c not found"},
    {"NoWorkers", {certificate()}, "certificate ray-worker-cert-c not found"},
    {"OfAnEarlierCluster",
     {certificate("old"), certificate()},
     "certificate ray-head-cert-c is not owned by this RayCluster"},
    {"OfAnEarlierSpec",
     {certificate(), certificate("c-uid", 1)},
     "certificate ray-worker-cert-c is not ready at current generation 2"},
    {"Refused",
     {certificate("c-uid", 2, "False"), certificate()},
     "certificate ray-head-cert-c is not ready at current generation 2"},
    {"NoHeadSecret", {certificate(), certificate()}, "secret ray-head-secret-c not found"},
    {"NoWorkerSecret",
     {certificate(), certificate(), secret()},
     "secret ray-worker-secret-c not found"},
    {"KeyMissing",
     {certificate(), certificate(), secret({"tls.crt", "ca.crt"}), secret()},
     "secret ray-head-secret-c missing required key tls.key"},
    {"Ready", {certificate(), certificate(), secret(), secret()}, ""},
};
class WhyNotReady : public testing::TestWithParam<Case> {};
TEST_P(WhyNotReady, Row) {
  const std::string want = GetParam().want;
  EXPECT_EQ(why_not_ready(raycluster::testing::cluster(), GetParam().seen),
            want.empty() ? want : "mTLS secrets not ready: " + want);
}
INSTANTIATE_TEST_SUITE_P(, WhyNotReady, testing::ValuesIn(kCases),
                         [](auto& c) { return c.param.name; });

}  // namespace
}  // namespace manta::controllers::mtls
