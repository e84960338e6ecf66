// mTLS: certificates by a scripted cert-manager, and the Pods that wait for them.
#include "cert_manager.h"
#include "controllers/mtls/plan.h"
#include "manifests.h"
#include "world.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace manta::integration {
namespace {

using namespace std::chrono_literals;
using controllers::mtls::kCertificates;
using controllers::mtls::kIssuers;
using kube::CallFault;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

// RayCluster c with mTLS, in a world with cert-manager, which issues when told.
struct Sealed : World {
  Sealed()
      : World({.feature_gates = "RayClusterMTLS=true",
               .cert_manager = true,
               .start_operator = false}) {
    serve_cert_manager(*this);
    start_operator();
  }
  Sealed& make_cluster() {
    auto text = std::string(kCluster);
    text.replace(text.find("spec:\n"), 6, "spec:\n  tlsOptions: {enabled: true}\n");
    apply(text);
    return *this;
  }
  Sealed& issue() {
    issue_certificates(*this);
    return *this;
  }
  std::size_t addresses(std::string_view certificate) const {
    return array_at(get("Certificate", certificate), {"spec", "ipAddresses"}).size();
  }
};

TEST(MtlsStory, PodsWaitForTheirCertificatesAndGetIntoThem) {
  Sealed world;
  world.make_cluster().settle().expect_rest();
  EXPECT_EQ(world.mirror().list("Certificate").size(), 3u);
  EXPECT_EQ(world.mirror().list("Issuer").size(), 2u);
  EXPECT_EQ(world.mirror().created("Pod"), 0);
  EXPECT_THAT(world.events("c"), Contains(HasSubstr("MTLSCertsNotReady")));
  world.issue().run_until(cluster_is("c", "ready")).settle().expect_rest();
  EXPECT_THAT(world.events("c"), Contains(HasSubstr("MTLSPKIReady")));
  EXPECT_EQ(world.addresses("ray-head-cert-c"), 2u);
  EXPECT_EQ(world.addresses("ray-worker-cert-c"), 3u);
  world.remove("RayCluster", "c").settle();
  EXPECT_TRUE(world.mirror().list("Certificate").empty());
  EXPECT_TRUE(world.mirror().list("Secret").empty()) << "they go with their Certificates";
}

TEST(MtlsStory, ALostPodsSuccessorTakesItsPlaceInTheCertificate) {
  Sealed world;
  world.make_cluster().settle();
  world.issue().run_until(cluster_is("c", "ready")).settle();
  world.issue().settle();
  const auto address = [&world](const std::string& pod) {
    return std::string(string_at(world.get("Pod", pod), {"status", "podIP"}));
  };
  const auto lost = world.workers("c").front();
  const auto old_address = address(lost);
  world.remove("Pod", lost).run_until(has_workers("c", 2)).settle().expect_rest();
  const auto named =
      dump_json(*find(world.get("Certificate", "ray-worker-cert-c"), {"spec", "ipAddresses"}));
  EXPECT_THAT(named, Not(HasSubstr("\"" + old_address + "\"")));
  for (const auto& pod : world.workers("c"))
    EXPECT_THAT(named, HasSubstr("\"" + address(pod) + "\""));
}

TEST(MtlsCase, SEEN_26_CertificatesOfOnesOwnAreNoWarning) {
  for (const auto fault : {CallFault::None, CallFault::LostReply, CallFault::CrashAfter}) {
    SCOPED_TRACE(static_cast<int>(fault));
    Sealed world;
    // The operator hears of what it made by its own answers alone.
    world.faults().on_event = [](std::uint64_t, const kube::WatchRequest& request,
                                 const kube::WatchEvent&) {
      return request.resource == kCertificates || request.resource == kIssuers
                 ? kube::EventFault::Break
                 : kube::EventFault::None;
    };
    world.faults().on_write = [fault, done = false](std::size_t,
                                                    const kube::Request& request) mutable {
      const bool hit = !done && request.resource == kCertificates;
      done = done || hit;
      return hit ? fault : CallFault::None;
    };
    world.make_cluster().pass(10s);
    for (int nudge = 0; nudge < 5; ++nudge)
      world.patch("RayCluster", "c", fmt::format("{{metadata: {{labels: {{n: \"{}\"}}}}}}", nudge))
          .pass(1s);
    world.faults().on_event = {};
    world.settle();
    EXPECT_EQ(world.mirror().created("Certificate"), 3);
    EXPECT_EQ(world.mirror().created("Issuer"), 2);
    EXPECT_THAT(world.events("c"), Not(Contains(HasSubstr("MTLSFailedToReconcile"))));
  }
}

}  // namespace
}  // namespace manta::integration
