#include "ray/names.h"

#include "base/hash.h"

#include <fmt/format.h>

namespace manta::ray {
namespace {

constexpr std::size_t kMaxName = 50;
constexpr std::size_t kMaxLabel = 63;
constexpr std::size_t kMaxRouteWithNamespace = 51;

// Go's unicode.IsPunct over ASCII: symbols such as $ + < = > ^ ` | ~ are not punctuation there.
bool is_punctuation(char c) {
  return std::string_view("!\"#%&'()*,-./:;?@[\\]_{}").find(c) != std::string_view::npos;
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

std::string last_bytes(std::string_view text, std::size_t count) {
  return std::string(text.size() > count ? text.substr(text.size() - count) : text);
}

std::string pod_name(std::string_view prefix, std::string_view node_type) {
  std::string name = fmt::format("{}-{}", prefix.substr(0, kMaxName), node_type);
  for (char& c : name)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return name;
}

}  // namespace

std::string check_name(std::string_view name) {
  std::string checked = last_bytes(name, kMaxName);
  if (!checked.empty() && (is_digit(checked[0]) || is_punctuation(checked[0]))) checked[0] = 'r';
  return checked;
}

std::string distinct_name(std::string_view name) {
  constexpr std::size_t kDigest = 8;
  return check_name(fmt::format("{}-{}", last_bytes(name, kMaxName - kDigest - 1),
                                sha256_hex(name).substr(0, kDigest)));
}

std::string check_label(std::string_view value) {
  std::string checked = last_bytes(value, kMaxLabel);
  if (!checked.empty() && is_punctuation(checked[0])) checked[0] = 'r';
  return checked;
}

std::string check_route_name(std::string_view name, std::string_view namespace_) {
  if (namespace_.size() < kMaxRouteWithNamespace)
    name = name.substr(0, kMaxRouteWithNamespace - namespace_.size());
  return check_name(name);
}

std::string head_pod_name(std::string_view cluster) { return pod_name(cluster, "head"); }
std::string head_pod_prefix(std::string_view cluster) { return head_pod_name(cluster) + "-"; }
std::string worker_pod_prefix(std::string_view cluster, std::string_view group) {
  return pod_name(fmt::format("{}-{}", cluster, group), "worker") + "-";
}

std::string default_head_service_name(std::string_view owner) {
  return fmt::format("{}-head-svc", owner);
}
std::string default_serve_service_name(std::string_view owner) {
  return fmt::format("{}-serve-svc", owner);
}
std::string headless_service_name(std::string_view cluster) {
  return fmt::format("{}-headless", cluster);
}
std::string head_ingress_name(std::string_view cluster) {
  return check_name(fmt::format("{}-head-ingress", cluster));
}
std::string head_route_name(std::string_view cluster, std::string_view namespace_) {
  return check_route_name(fmt::format("{}-head-route", cluster), namespace_);
}
std::string redis_cleanup_job_name(std::string_view cluster) {
  return check_label(fmt::format("{}-redis-cleanup", cluster));
}
std::string gcs_claim_name(std::string_view cluster) { return fmt::format("{}-gcs-pvc", cluster); }
std::string head_network_policy_name(std::string_view cluster) {
  return fmt::format("{}-head", cluster);
}
std::string worker_network_policy_name(std::string_view cluster, std::string_view group) {
  return fmt::format("{}-workers-{}", cluster, group);
}
std::string gateway_name(std::string_view ray_service) {
  return fmt::format("{}-gateway", ray_service);
}
std::string http_route_name(std::string_view ray_service) {
  return fmt::format("{}-httproute", ray_service);
}

std::string self_signed_issuer_name(std::string_view cluster) {
  return fmt::format("ray-selfsigned-issuer-{}", cluster);
}
std::string ca_issuer_name(std::string_view cluster) {
  return fmt::format("ray-ca-issuer-{}", cluster);
}
std::string ca_certificate_name(std::string_view cluster) {
  return fmt::format("ray-ca-certificate-{}", cluster);
}
std::string head_certificate_name(std::string_view cluster) {
  return fmt::format("ray-head-cert-{}", cluster);
}
std::string worker_certificate_name(std::string_view cluster) {
  return fmt::format("ray-worker-cert-{}", cluster);
}
std::string ca_secret_name(std::string_view cluster, std::string_view uid) {
  return fmt::format("{}-ca-secret-{}", cluster, uid.substr(0, 8));
}
std::string head_tls_secret_name(std::string_view cluster) {
  return fmt::format("ray-head-secret-{}", cluster);
}
std::string worker_tls_secret_name(std::string_view cluster) {
  return fmt::format("ray-worker-secret-{}", cluster);
}

std::string service_host(std::string_view service, std::string_view namespace_,
                         std::string_view domain) {
  return fmt::format("{}.{}.svc.{}", service, namespace_, domain);
}

}  // namespace manta::ray
