#include "controllers/mtls/readiness.h"

#include "ray/names.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace manta::controllers::mtls {
namespace {

constexpr std::array<std::string_view, 3> kSecretKeys = {"tls.crt", "tls.key", "ca.crt"};

std::string why_no_certificate(const ray::RayCluster& cluster, const std::string& name,
                               const kube::SpecView* certificate) {
  if (!certificate) return fmt::format("certificate {} not found", name);
  if (!belongs_to(certificate->meta, cluster))
    return fmt::format("certificate {} is not owned by this RayCluster", name);
  if (!is_issued(*certificate))
    return fmt::format("certificate {} is not ready at current generation {}", name,
                       certificate->meta.generation);
  return {};
}

std::string why_no_secret(const std::string& name, const kube::SecretView* secret) {
  if (!secret) return fmt::format("secret {} not found", name);
  for (const auto key : kSecretKeys)
    if (!secret->has(key)) return fmt::format("secret {} missing required key {}", name, key);
  return {};
}

}  // namespace

bool is_issued(const kube::SpecView& certificate) {
  return std::ranges::any_of(
      array_at(certificate.status, {"conditions"}), [&](const Json& condition) {
        return string_at(condition, {"type"}) == "Ready" &&
               string_at(condition, {"status"}) == "True" &&
               int_at(condition, {"observedGeneration"}) == certificate.meta.generation;
      });
}

bool belongs_to(const kube::ObjectMeta& object, const ray::RayCluster& cluster) {
  const auto* owner = object.controller_owner();
  return owner && owner->uid == cluster.meta.uid;
}

std::string why_not_ready(const ray::RayCluster& cluster, const LeavesSeen& seen) {
  const auto& name = cluster.meta.key.name;
  for (auto& why :
       {why_no_certificate(cluster, ray::head_certificate_name(name), seen.head_certificate.get()),
        why_no_certificate(cluster, ray::worker_certificate_name(name),
                           seen.worker_certificate.get()),
        why_no_secret(ray::head_tls_secret_name(name), seen.head_secret.get()),
        why_no_secret(ray::worker_tls_secret_name(name), seen.worker_secret.get())})
    if (!why.empty()) return "mTLS secrets not ready: " + why;
  return {};
}

}  // namespace manta::controllers::mtls
