#include "ray/builders/certificates.h"

#include "ray/builders/cluster_facts.h"
#include "ray/builders/edit.h"
#include "ray/labels.h"
#include "ray/names.h"

#include <fmt/format.h>

#include <set>

namespace manta::ray {
namespace {

// As Go prints durations, which is how cert-manager stores them.
constexpr std::string_view kCaLifetime = "87600h0m0s";  // ten years
constexpr std::string_view kCaRenewal = "720h0m0s";
constexpr std::string_view kLeafLifetime = "2160h0m0s";  // ninety days
constexpr std::string_view kLeafRenewal = "360h0m0s";

Json cert_object(std::string_view kind, std::string_view name, std::string_view component,
                 const RayCluster& cluster, JsonObject spec) {
  StringMap labels = cluster_labels(cluster);
  labels[std::string(kLabelComponent)] = component;
  JsonObject metadata{{"name", name},
                      {"namespace", cluster.meta.key.namespace_},
                      {"labels", json_of(labels)},
                      {"ownerReferences", JsonArray{owner_json(cluster.meta, kKindRayCluster)}}};
  return JsonObject{{"apiVersion", "cert-manager.io/v1"},
                    {"kind", kind},
                    {"metadata", std::move(metadata)},
                    {"spec", std::move(spec)}};
}

Json issued_by(std::string_view issuer) {
  return JsonObject{{"name", issuer}, {"kind", "Issuer"}, {"group", "cert-manager.io"}};
}

JsonArray sorted_unique(const std::set<std::string>& values) {
  JsonArray array;
  for (const auto& value : values) array.emplace_back(value);
  return array;
}

JsonObject leaf_spec(const RayCluster& cluster, std::string_view secret,
                     const std::set<std::string>& hosts, const std::vector<std::string>& pod_ips) {
  std::set<std::string> addresses(pod_ips.begin(), pod_ips.end());
  addresses.erase("");  // of Pods that have none yet
  addresses.emplace(kLocalHost);
  return JsonObject{
      {"secretName", secret},
      {"duration", kLeafLifetime},
      {"renewBefore", kLeafRenewal},
      {"dnsNames", sorted_unique(hosts)},
      {"ipAddresses", sorted_unique(addresses)},
      {"usages", JsonArray{"digital signature", "key encipherment", "server auth", "client auth"}},
      {"issuerRef", issued_by(ca_issuer_name(cluster.meta.key.name))}};
}

}  // namespace

Json build_self_signed_issuer(const RayCluster& cluster) {
  return cert_object("Issuer", self_signed_issuer_name(cluster.meta.key.name), "selfsigned-issuer",
                     cluster, JsonObject{{"selfSigned", JsonObject{}}});
}

Json build_ca_certificate(const RayCluster& cluster) {
  const std::string& name = cluster.meta.key.name;
  JsonObject spec{{"isCA", true},
                  {"commonName", fmt::format("ray-ca-{}", name)},
                  {"secretName", ca_secret_name(name, cluster.meta.uid)},
                  {"privateKey", JsonObject{{"algorithm", "RSA"}, {"size", 4096}}},
                  {"duration", kCaLifetime},
                  {"renewBefore", kCaRenewal},
                  {"usages", JsonArray{"cert sign", "crl sign"}},
                  {"issuerRef", issued_by(self_signed_issuer_name(name))}};
  return cert_object("Certificate", ca_certificate_name(name), "ca-certificate", cluster,
                     std::move(spec));
}

Json build_ca_issuer(const RayCluster& cluster) {
  const std::string& name = cluster.meta.key.name;
  JsonObject ca{{"secretName", ca_secret_name(name, cluster.meta.uid)}};
  return cert_object("Issuer", ca_issuer_name(name), "ca-issuer", cluster,
                     JsonObject{{"ca", std::move(ca)}});
}

Json build_head_certificate(const RayCluster& cluster, const std::vector<std::string>& pod_ips,
                            const BuildOptions& options) {
  const std::string& name = cluster.meta.key.name;
  return cert_object("Certificate", head_certificate_name(name), "head-certificate", cluster,
                     leaf_spec(cluster, head_tls_secret_name(name),
                               {"localhost", head_host(cluster, options)}, pod_ips));
}

Json build_worker_certificate(const RayCluster& cluster, const std::vector<std::string>& pod_ips) {
  const std::string& name = cluster.meta.key.name;
  return cert_object("Certificate", worker_certificate_name(name), "worker-certificate", cluster,
                     leaf_spec(cluster, worker_tls_secret_name(name), {"localhost"}, pod_ips));
}

}  // namespace manta::ray
