#include "cert_manager.h"

#include "controllers/mtls/plan.h"
#include "served.h"

#include <gtest/gtest.h>

namespace manta::integration {
namespace {

using controllers::mtls::kCertificates;
using controllers::mtls::kIssuers;

void write(World& world, Task<Result<Json>> call) {
  const auto done = world.loop().run(std::move(call));
  EXPECT_TRUE(done) << done.error().message;
}

}  // namespace

void serve_cert_manager(World& world) {
  serve(world, kIssuers);
  serve(world, kCertificates);
}

void issue_certificates(World& world) {
  for (const auto* certificate : world.mirror().list("Certificate")) {
    const auto secret = std::string(string_at(*certificate, {"spec", "secretName"}));
    if (!world.mirror().find("Secret", secret))
      write(world, world.server().create(
                       kube::kSecrets,
                       {{"apiVersion", "v1"},
                        {"kind", "Secret"},
                        {"metadata", {{"name", secret}, {"namespace", "default"}}},
                        {"data", {{"tls.crt", "YQ=="}, {"tls.key", "YQ=="}, {"ca.crt", "YQ=="}}}}));
    const Json ready{{"type", "Ready"},
                     {"status", "True"},
                     {"observedGeneration", int_at(*certificate, {"metadata", "generation"})}};
    write(world, world.server().patch(kCertificates, {"default", name_of(*certificate)},
                                      kube::PatchType::Merge,
                                      {{"status", {{"conditions", JsonArray{ready}}}}}, "status"));
  }
}

}  // namespace manta::integration
