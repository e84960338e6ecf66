#include "controllers/mtls/plan.h"

#include "controllers/writes.h"
#include "ray/builders/certificates.h"
#include "ray/builders/cluster_facts.h"
#include "ray/labels.h"
#include "ray/names.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

namespace manta::controllers::mtls {
namespace {

constexpr Duration kExpiresSoon = std::chrono::hours{24};
constexpr Duration kRemindEvery = std::chrono::hours{1};
// A Pod on its way to a node has an address in seconds. Each new address is a certificate issued
// anew, so those of Pods that were made together go into one.
constexpr Duration kAddressesTogether = std::chrono::seconds{5};

/// The plan under way.
struct Draft {
  const MtlsSeen& seen;
  kube::Plan plan = {};
  kube::Stage stage = {};

  const ray::RayCluster& cluster() const { return *seen.cluster; }
};

std::string failure_of(std::string_view step, std::string_view error) {
  return fmt::format("Failed to reconcile mTLS {}: {}", step, error);
}

void add(Draft& draft, std::string_view step, kube::Write write) {
  write.lane = step;
  write.failed_event = warning("MTLSFailedToReconcile", "Reconcile", failure_of(step, "{error}"));
  draft.stage.push_back(std::move(write));
}

// True when the object is ours. Otherwise it is planned, or somebody else's is in its place: that
// of an earlier cluster of this name goes by itself, any other is told.
bool ensure_object(Draft& draft, std::string_view step, const kube::Resource& resource,
                   const kube::ObjectMeta* live, Json wanted) {
  if (!live) {
    add(draft, step, create(resource, std::move(wanted), step));
    return false;
  }
  if (belongs_to(*live, draft.cluster())) return true;
  const auto* owner = live->controller_owner();
  const bool predecessor =
      owner && owner->kind == ray::kKindRayCluster && owner->name == draft.cluster().meta.key.name;
  if (!predecessor && !live->deleting)
    draft.plan.events.push_back(
        warning("MTLSFailedToReconcile", "Reconcile",
                failure_of(step, fmt::format("{} {} already exists and is not owned by this "
                                             "RayCluster",
                                             resource.kind, live->key.to_string()))));
  return false;
}

// cert-manager leaves Secrets behind unless told otherwise; owned by the Certificate they go with
// it.
void own_secret(Draft& draft, std::string_view step, const kube::ObjectMeta& certificate,
                const kube::SecretView* secret) {
  if (!secret || secret->meta.deleting) return;
  JsonArray owners;
  for (const auto& owner : secret->meta.owners) {
    if (owner.uid == certificate.uid) return;
    owners.push_back(kube::to_json(owner));
  }
  owners.push_back({{"apiVersion", kCertificates.api_version()},
                    {"kind", kCertificates.kind},
                    {"name", certificate.key.name},
                    {"uid", certificate.uid}});
  add(draft, step,
      {.kind = kube::WriteKind::Patch,
       .resource = kube::kSecrets,
       .key = secret->meta.key,
       .body = {{"metadata",
                 {{"ownerReferences", std::move(owners)},
                  {"uid", secret->meta.uid},
                  {"resourceVersion", std::to_string(secret->meta.resource_version)}}}},
       .patch_type = kube::PatchType::Merge,
       .why = "the Secret is to go with its Certificate"});
}

std::set<std::string_view> set_of(const Json& spec, std::string_view field) {
  std::set<std::string_view> out;
  for (const auto& item : array_at(spec, {field}))
    if (item.is_string()) out.insert(std::string_view(item.get_string()));
  return out;
}

kube::StringMap labels_of(const Json& object) {
  kube::StringMap out;
  for (const auto& [key, value] : object_at(object, {"metadata", "labels"}))
    if (value.is_string()) out.emplace(key, std::string_view(value.get_string()));
  return out;
}

// Ended Pods need no certificate any more.
bool has_use_for_address(const kube::PodView& pod, std::string_view node_type) {
  const bool over = pod.phase == kube::PodPhase::Succeeded || pod.phase == kube::PodPhase::Failed;
  return pod.meta.label(ray::kLabelNodeType) == node_type && !over && !pod.meta.deleting;
}

// How long to wait for the addresses of Pods that have just been placed; nothing: not at all.
std::optional<Duration> until_addresses(const MtlsSeen& seen, std::string_view node_type,
                                        Time now) {
  std::optional<Duration> wait;
  for (const auto& pod : seen.pods) {
    const auto left = kAddressesTogether - (now - pod->meta.created);
    if (has_use_for_address(*pod, node_type) && pod->podIP.empty() && !pod->nodeName.empty() &&
        left > Duration::zero())
      wait = std::max(wait.value_or(left), left);
  }
  return wait;
}

// `node`: head or worker.
void sync_leaf(Draft& draft, std::string_view node, const kube::SpecView* live,
               const kube::SecretView* secret, const Json& wanted, Time now) {
  const auto step = fmt::format("{} certificate", node);
  if (!ensure_object(draft, step, kCertificates, live ? &live->meta : nullptr, wanted)) return;
  const Json& spec = *find(wanted, {"spec"});
  const auto addresses = set_of(spec, "ipAddresses");
  auto labels = labels_of(wanted);
  bool differs =
      live->meta.labels != labels || set_of(live->spec, "dnsNames") != set_of(spec, "dnsNames");
  if (!differs && set_of(live->spec, "ipAddresses") != addresses) {
    const auto wait = until_addresses(draft.seen, node, now);
    if (wait) look_again_within(draft.plan, *wait);
    differs = !wait;
  }
  if (differs) {
    auto changed = *live;
    changed.meta.labels = std::move(labels);
    changed.spec = spec;
    add(draft, step, update(kCertificates, changed, step));
    draft.stage.back().done_event = normal(
        "MTLSCertificatesUpdated", "Update",
        fmt::format("Updated {} certificate SANs (IPs: [{}])", node, fmt::join(addresses, " ")));
    draft.stage.back().why = "the Pods' addresses have changed";
  }
  own_secret(draft, step, live->meta, secret);
}

std::vector<std::string> addresses_of(const MtlsSeen& seen, std::string_view node_type) {
  std::vector<std::string> out;
  for (const auto& pod : seen.pods)
    if (has_use_for_address(*pod, node_type)) out.push_back(pod->podIP);
  return out;
}

void sync_objects(Draft& draft, const Settings& settings, Time now) {
  const auto& seen = draft.seen;
  const auto& cluster = draft.cluster();
  const auto meta = [](const auto& view) { return view ? &view->meta : nullptr; };
  ensure_object(draft, "self-signed issuer", kIssuers, meta(seen.self_signed_issuer),
                ray::build_self_signed_issuer(cluster));
  constexpr std::string_view kCa = "CA certificate";
  if (ensure_object(draft, kCa, kCertificates, meta(seen.ca_certificate),
                    ray::build_ca_certificate(cluster)))
    own_secret(draft, kCa, seen.ca_certificate->meta, seen.ca_secret.get());
  ensure_object(draft, "CA issuer", kIssuers, meta(seen.ca_issuer), ray::build_ca_issuer(cluster));
  sync_leaf(
      draft, "head", seen.leaves.head_certificate.get(), seen.leaves.head_secret.get(),
      ray::build_head_certificate(cluster, addresses_of(seen, ray::kNodeTypeHead), settings.build),
      now);
  sync_leaf(draft, "worker", seen.leaves.worker_certificate.get(), seen.leaves.worker_secret.get(),
            ray::build_worker_certificate(cluster, addresses_of(seen, ray::kNodeTypeWorker)), now);
}

void look_at_expiry(Draft& draft, const kube::SpecView* certificate, Time now) {
  if (!certificate || !belongs_to(certificate->meta, draft.cluster())) return;
  const auto end = parse_rfc3339(string_at(certificate->status, {"notAfter"}));
  if (!end) return;
  auto wait = *end - kExpiresSoon - now;
  if (wait <= Duration::zero()) {
    const double hours = std::chrono::duration<double, std::ratio<3600>>(*end - now).count();
    draft.plan.events.push_back(
        warning("MTLSCertificateExpiringSoon", "Reconcile",
                fmt::format("TLS certificate {} expires in {:.1f} hours; Ray does not hot-reload "
                            "certs so a pod restart will be needed after renewal",
                            certificate->meta.key.name, hours)));
    wait = kRemindEvery;
  }
  look_again_within(draft.plan, wait);
}

void tell_readiness(Draft& draft, Time now) {
  const auto& leaves = draft.seen.leaves;
  const auto issued = [&](const auto& certificate) {
    return certificate && belongs_to(certificate->meta, draft.cluster()) && is_issued(*certificate);
  };
  if (!issued(leaves.head_certificate) || !issued(leaves.worker_certificate)) {
    draft.plan.events.push_back(normal("MTLSCertsNotReady", "Reconcile",
                                       "Waiting for cert-manager to issue mTLS certificates"));
    return;
  }
  draft.plan.events.push_back(normal("MTLSPKIReady", "Reconcile",
                                     "mTLS PKI is ready: CA, head, and worker certificates "
                                     "issued"));
  look_at_expiry(draft, leaves.head_certificate.get(), now);
  look_at_expiry(draft, leaves.worker_certificate.get(), now);
  look_at_expiry(draft, draft.seen.ca_certificate.get(), now);
}

}  // namespace

const kube::Resource kIssuers = {"cert-manager.io", "v1", "issuers", "Issuer", true};
const kube::Resource kCertificates = {"cert-manager.io", "v1", "certificates", "Certificate", true};

kube::Plan plan(const MtlsSeen& seen, const Settings& settings, Time now) {
  const auto& cluster = *seen.cluster;
  if (cluster.meta.deleting || !ray::is_managed_by_us(cluster.spec.managedBy) ||
      !ray::mtls_enabled(cluster.spec, settings.build))
    return {};
  Draft draft{.seen = seen};
  sync_objects(draft, settings, now);
  // What is about to be written is about to be issued anew: the next plan tells.
  if (draft.stage.empty()) tell_readiness(draft, now);
  draft.plan.stages.push_back(std::move(draft.stage));
  return std::move(draft.plan);
}

}  // namespace manta::controllers::mtls
