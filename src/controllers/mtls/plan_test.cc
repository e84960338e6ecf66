#include "controllers/mtls/plan.h"

#include "controllers/raycluster/testing.h"
#include "ray/labels.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace manta::controllers::mtls {
namespace {

using raycluster::testing::kNow;

constexpr const char* kAllCreated =
    "create Issuer ray-selfsigned-issuer-c; create Certificate ray-ca-certificate-c; create Issuer "
    "ray-ca-issuer-c; create Certificate ray-head-cert-c; create Certificate ray-worker-cert-c; ";

// cert-manager, and the caches.
struct World {
  ray::RayCluster cluster = raycluster::testing::cluster();
  MtlsSeen seen = {};
  Settings settings = {};
  Time now = kNow;
  std::optional<Duration> look_again = {};

  World() {
    settings.build.mtls = true;
    settings.cert_manager = true;
    cluster.spec.tlsOptions = ray::TlsOptions{.enabled = true};
  }

  kube::Plan look() {
    seen.cluster = std::make_shared<const ray::RayCluster>(cluster);
    auto out = mtls::plan(seen, settings, now);
    look_again = out.look_again;
    return out;
  }
  /// Writes and events of a plan, carried out.
  std::string step() {
    const auto wanted = look();
    std::string text;
    for (const auto& stage : wanted.stages)
      for (const auto& write : stage) {
        text += carry_out(write) + "; ";
      }
    for (const auto& event : wanted.events) text += event.reason + " ";
    return text;
  }
  std::string carry_out(const kube::Write& write) {
    if (write.kind == kube::WriteKind::Patch) {
      const auto& name = write.key.name;
      auto& slot = name.find("-ca-") != std::string::npos ? seen.ca_secret
                   : name.starts_with("ray-head")         ? seen.leaves.head_secret
                                                          : seen.leaves.worker_secret;
      auto secret = *slot;
      for (const auto& owner : array_at(write.body, {"metadata", "ownerReferences"}))
        secret.meta.owners.push_back({.kind = std::string(string_at(owner, {"kind"})),
                                      .name = std::string(string_at(owner, {"name"})),
                                      .uid = std::string(string_at(owner, {"uid"})),
                                      .controller = bool_at(owner, {"controller"})});
      slot = std::make_shared<const kube::SecretView>(secret);
      return "own " + name;
    }
    const auto name = std::string(string_at(write.body, {"metadata", "name"}));
    auto view = kube::project_spec(write.body).value();
    const auto* before = slot_of(name) ? slot_of(name)->get() : nullptr;
    view.meta.generation = before ? before->meta.generation + 1 : 1;
    view.meta.uid = name + "-uid";
    if (before) view.status = before->status;
    if (auto* slot = slot_of(name))
      *slot = std::make_shared<const kube::SpecView>(std::move(view));
    else
      (name.find("selfsigned") != std::string::npos ? seen.self_signed_issuer : seen.ca_issuer) =
          std::make_shared<const kube::MetaView>(kube::MetaView{view.meta});
    return fmt::format("{} {} {}", write.kind == kube::WriteKind::Create ? "create" : "update",
                       write.resource.kind, name);
  }
  std::shared_ptr<const kube::SpecView>* slot_of(std::string_view name) {
    if (name == "ray-ca-certificate-c") return &seen.ca_certificate;
    if (name == "ray-head-cert-c") return &seen.leaves.head_certificate;
    if (name == "ray-worker-cert-c") return &seen.leaves.worker_certificate;
    return nullptr;
  }
  void edit(std::string_view name, auto change) {
    auto copy = **slot_of(name);
    change(copy);
    *slot_of(name) = std::make_shared<const kube::SpecView>(std::move(copy));
  }
  void issue(std::string_view name, std::string_view not_after = "2099-01-01T00:00:00Z") {
    edit(name, [&](auto& certificate) {
      certificate.status = {{"notAfter", not_after},
                            {"conditions",
                             {{{"type", "Ready"},
                               {"status", "True"},
                               {"observedGeneration", certificate.meta.generation}}}}};
    });
  }
  void put_secret(std::shared_ptr<const kube::SecretView>& slot, std::string name,
                  std::vector<std::string> keys = {"tls.crt", "tls.key", "ca.crt"}) {
    kube::SecretView secret{.keys = std::move(keys)};
    secret.meta.key = {"ns", std::move(name)};
    secret.meta.uid = secret.meta.key.name + "-uid";
    slot = std::make_shared<const kube::SecretView>(std::move(secret));
  }
  std::string gate() { return why_not_ready(cluster, seen.leaves); }
};

TEST(Mtls, AsksForCertificatesAndWaits) {
  World world;
  EXPECT_EQ(world.step(), kAllCreated);
  EXPECT_EQ(world.step(), "MTLSCertsNotReady ");
  world.issue("ray-head-cert-c");
  EXPECT_EQ(world.step(), "MTLSCertsNotReady ");
  world.issue("ray-worker-cert-c");
  EXPECT_EQ(world.step(), "MTLSPKIReady ");
  EXPECT_EQ(world.step(), "MTLSPKIReady ") << "and nothing is written";
}

TEST(Mtls, ACertificateOfAnEarlierSpecIsNotReady) {
  World world;
  world.step();
  world.issue("ray-head-cert-c");
  world.issue("ray-worker-cert-c");
  world.edit("ray-head-cert-c", [](auto& certificate) { ++certificate.meta.generation; });
  EXPECT_EQ(world.step(), "MTLSCertsNotReady ");
}

TEST(Mtls, AddressesOfPodsThatWereMadeTogetherGetIntoOneCertificate) {
  World world;
  world.step();
  const auto show = [&](int with_address, int of, Duration age) {
    world.seen.pods.clear();
    for (int i = 0; i < of; ++i) {
      auto pod = *raycluster::testing::worker(fmt::format("w{}", i), {.age = age});
      pod.nodeName = "n";
      pod.podIP = i < with_address ? fmt::format("10.0.0.{}", i) : "";
      world.seen.pods.push_back(raycluster::testing::share(std::move(pod)));
    }
  };
  constexpr auto kUpdated = "update Certificate ray-worker-cert-c; ";
  show(1, 100, std::chrono::seconds{1});
  EXPECT_EQ(world.step(), "MTLSCertsNotReady ") << "99 are about to come";
  EXPECT_EQ(world.look_again, std::chrono::seconds{4});
  show(99, 100, std::chrono::seconds{2});
  EXPECT_EQ(world.step(), "MTLSCertsNotReady ");
  show(100, 100, std::chrono::seconds{3});
  EXPECT_EQ(world.step(), kUpdated) << "all at once";
  show(0, 100, std::chrono::seconds{3});
  EXPECT_EQ(world.step(), "MTLSCertsNotReady ");
  show(50, 100, std::chrono::seconds{5});
  EXPECT_EQ(world.step(), kUpdated) << "what is late is not waited for";
}

TEST(Mtls, PodsAddressesGetIntoTheirOwnCertificate) {
  World world;
  world.step();
  auto head = *raycluster::testing::head();
  head.podIP = "10.0.0.9";
  auto worker = *raycluster::testing::worker("w");
  auto over = *raycluster::testing::worker("over", {.phase = kube::PodPhase::Failed});
  auto going = *raycluster::testing::worker("going", {.deleting = true});
  going.podIP = over.podIP = "10.0.0.7";
  auto unplaced = *raycluster::testing::worker("unplaced");
  unplaced.podIP.clear();
  for (const auto& pod : {head, worker, over, going, unplaced})
    world.seen.pods.push_back(std::make_shared<const kube::PodView>(pod));
  const auto plan = world.look();
  EXPECT_EQ(plan.stages[0][0].done_event->note,
            "Updated head certificate SANs (IPs: [10.0.0.9 127.0.0.1])");
  EXPECT_EQ(plan.stages[0][1].done_event->note,
            "Updated worker certificate SANs (IPs: [10.0.0.1 127.0.0.1])");
  EXPECT_EQ(world.step(),
            "update Certificate ray-head-cert-c; update Certificate ray-worker-cert-c; ");
  EXPECT_EQ(world.step(), "MTLSCertsNotReady ");
}

TEST(Mtls, OrderOfNamesIsNoChangeButLabelsAre) {
  World world;
  world.step();
  world.edit("ray-head-cert-c", [](auto& certificate) {
    auto& names = certificate.spec.at("dnsNames").as_array();
    std::swap(names[0], names[1]);
  });
  EXPECT_EQ(world.step(), "MTLSCertsNotReady ");
  world.edit("ray-head-cert-c", [](auto& certificate) { certificate.meta.labels["x"] = "y"; });
  EXPECT_EQ(world.step(), "update Certificate ray-head-cert-c; ");
}

TEST(Mtls, SecretsAreOwnedByTheirCertificatesOnce) {
  World world;
  world.step();
  world.put_secret(world.seen.ca_secret, "c-ca-secret-c-uid");
  world.put_secret(world.seen.leaves.head_secret, "ray-head-secret-c");
  world.put_secret(world.seen.leaves.worker_secret, "ray-worker-secret-c");
  EXPECT_EQ(world.step(),
            "own c-ca-secret-c-uid; own ray-head-secret-c; own ray-worker-secret-c; ");
  EXPECT_EQ(world.step(), "MTLSCertsNotReady ");
  EXPECT_FALSE(world.seen.ca_secret->meta.owners[0].controller);
}

TEST(Mtls, SaysWhenACertificateIsAboutToEnd) {
  World world;
  world.step();
  world.issue("ray-head-cert-c");
  world.issue("ray-worker-cert-c", format_rfc3339(world.now + std::chrono::hours{30}));
  EXPECT_EQ(world.step(), "MTLSPKIReady ");
  ASSERT_TRUE(world.look_again);
  EXPECT_EQ(*world.look_again, std::chrono::hours{6});
  world.now += *world.look_again + std::chrono::hours{2};
  EXPECT_EQ(
      world.look().events.back().note,
      "TLS certificate ray-worker-cert-c expires in 22.0 hours; Ray does not hot-reload certs "
      "so a pod restart will be needed after renewal");
}

TEST(Mtls, AnEarlierClustersCertificateIsNotOurs) {
  World world;
  world.step();
  world.issue("ray-head-cert-c");
  world.issue("ray-worker-cert-c");
  world.put_secret(world.seen.leaves.head_secret, "ray-head-secret-c");
  world.put_secret(world.seen.leaves.worker_secret, "ray-worker-secret-c");
  ASSERT_EQ(world.gate(), "");
  world.cluster.meta.uid = "next-uid";
  EXPECT_EQ(world.step(), "MTLSCertsNotReady ");
  EXPECT_NE(world.gate(), "");
  world.edit("ray-head-cert-c", [](auto& certificate) { certificate.meta.owners.clear(); });
  EXPECT_EQ(world.step(), "MTLSFailedToReconcile MTLSCertsNotReady ") << "that one will not go";
}

struct OffCase {
  const char* name;
  void (*edit)(World&);
};
const OffCase kOff[] = {
    {"GateOff", [](World& world) { world.settings.build.mtls = false; }},
    {"OptionOff", [](World& world) { world.cluster.spec.tlsOptions->enabled = false; }},
    {"OptionUnset", [](World& world) { world.cluster.spec.tlsOptions->enabled.reset(); }},
    {"NoOptions", [](World& world) { world.cluster.spec.tlsOptions.reset(); }},
    {"Deleted", [](World& world) { world.cluster.meta.deleting = kNow; }},
    {"Kueues", [](World& world) { world.cluster.spec.managedBy = "kueue.x-k8s.io/multikueue"; }},
};
class MtlsOff : public testing::TestWithParam<OffCase> {};
TEST_P(MtlsOff, DoesNothing) {
  World world;
  GetParam().edit(world);
  EXPECT_EQ(world.step(), "");
}
INSTANTIATE_TEST_SUITE_P(, MtlsOff, testing::ValuesIn(kOff),
                         [](const auto& row) { return row.param.name; });

TEST(MtlsGate, SaysWhatIsMissingInOrder) {
  World world;
  EXPECT_EQ(world.gate(), "mTLS secrets not ready: certificate ray-head-cert-c not found");
  world.step();
  EXPECT_EQ(world.gate(),
            "mTLS secrets not ready: certificate ray-head-cert-c is not ready at current "
            "generation 1");
  world.issue("ray-head-cert-c");
  world.issue("ray-worker-cert-c");
  EXPECT_EQ(world.gate(), "mTLS secrets not ready: secret ray-head-secret-c not found");
  world.put_secret(world.seen.leaves.head_secret, "ray-head-secret-c", {"tls.crt", "tls.key"});
  EXPECT_EQ(world.gate(),
            "mTLS secrets not ready: secret ray-head-secret-c missing required key ca.crt");
  world.put_secret(world.seen.leaves.head_secret, "ray-head-secret-c");
  EXPECT_EQ(world.gate(), "mTLS secrets not ready: secret ray-worker-secret-c not found");
  world.put_secret(world.seen.leaves.worker_secret, "ray-worker-secret-c");
  EXPECT_EQ(world.gate(), "");
}

}  // namespace
}  // namespace manta::controllers::mtls
