#include "controllers/raycluster/objects.h"

#include "base/hash.h"
#include "controllers/raycluster/conditions.h"
#include "controllers/raycluster/follow_edits.h"
#include "controllers/writes.h"
#include "ray/builders/access.h"
#include "ray/builders/cluster_facts.h"
#include "ray/builders/ingress.h"
#include "ray/builders/service.h"
#include "ray/builders/shared_token.h"
#include "ray/labels.h"

#include <fmt/format.h>

#include <array>
#include <cstring>

namespace manta::controllers::raycluster {
namespace {

constexpr std::string_view kBindingLane = "binding";

// Labels, annotations and spec: all of it is ours, so whatever differs is put right.
bool ingress_differs(const kube::SpecView& live, Json& wanted) {
  auto& spec = ensure(wanted, {"spec"});
  // Without an opinion of ours the class that admission chose stays.
  if (!find(spec, {"ingressClassName"}))
    if (const auto* chosen = find(live.spec, {"ingressClassName"}))
      spec.as_object()["ingressClassName"] = *chosen;
  const auto same = [](const kube::StringMap& map, const JsonObject& object) {
    if (map.size() != object.size()) return false;
    for (const auto& [key, value] : map) {
      const auto* found = object.if_contains(key);
      if (!found || !found->is_string() || found->get_string() != value) return false;
    }
    return true;
  };
  return !same(live.meta.labels, object_at(wanted, {"metadata", "labels"})) ||
         !same(live.meta.annotations, object_at(wanted, {"metadata", "annotations"})) ||
         canonical_json(live.spec) != canonical_json(spec);
}

// SEEN-09: what leads to the head finds the ports where the start parameters move them.
std::shared_ptr<const ray::RayCluster> front_of(const RayClusterSeen& seen,
                                                const Settings& settings) {
  if (!settings.build.ports_from_params) return seen.cluster;
  return std::make_shared<const ray::RayCluster>(ray::with_declared_ports(*seen.cluster));
}

std::string head_service_key(const RayClusterSeen& seen) {
  return fmt::format("{}/{}", seen.key().namespace_, ray::head_service_name(*seen.cluster));
}

std::array<std::uint8_t, 32> token_bytes(const Settings& settings, std::string_view uid, Time now) {
  // A digest keyed by this process's secret: nobody without it can tell the token from chance.
  const auto hex = sha256_hex(
      fmt::format("{}/auth-token/{}/{}", settings.seed, uid, now.time_since_epoch().count()));
  std::array<std::uint8_t, 32> bytes{};
  for (std::size_t i = 0; i < bytes.size(); ++i)
    bytes[i] = static_cast<std::uint8_t>(std::stoi(hex.substr(2 * i, 2), nullptr, 16));
  return bytes;
}

}  // namespace

kube::Write create_with_events(const kube::Resource& resource, Json body, std::string_view lane,
                               std::string_view kind_in_reason, std::string_view what) {
  auto write = create(resource, std::move(body), lane);
  const auto name = created_key(write.body);
  write.done_event = normal(fmt::format("Created{}", kind_in_reason), "Create",
                            fmt::format("Created {} {}", what, name));
  write.failed_event = warning(fmt::format("FailedToCreate{}", kind_in_reason), "Create",
                               fmt::format("Failed creating {} {}, {{error}}", what, name));
  return write;
}

void plan_autoscaler_account(const RayClusterSeen& seen, const Settings& settings,
                             const kube::Failures& failures, ObjectsDecision& out) {
  const auto& cluster = *seen.cluster;
  if (!ray::autoscaling_enabled(cluster.spec)) return;
  const auto account = service_account_name(cluster);
  const bool users_own =
      !string_at(cluster.spec.headGroupSpec.template_, {"spec", "serviceAccountName"}).empty();
  if (!seen.service_account && users_own) {
    out.blocked = fmt::format("ServiceAccount {} is not there", account);
    out.events.push_back(warning(
        "AutoscalerServiceAccountNotFound", "Validate",
        fmt::format(
            "Failed to reconcile RayCluster {}. If users specify ServiceAccountName for the "
            "head Pod, they need to create a ServiceAccount themselves. However, "
            "ServiceAccount {} is not found. Please create one. See the PR description of "
            "https://github.com/ray-project/kuberay/pull/1128 for more details.",
            seen.key().to_string(), account)));
    return;
  }
  // One that is there already may be another cluster's whose long name ends alike: the next plan,
  // which knows, asks for other names. RC-25
  kube::Stage makes;
  const auto add = [&](const kube::Resource& resource, Json body, std::string_view reason,
                       std::string_view what) {
    makes.push_back(create_with_events(resource, std::move(body), "account", reason, what));
  };
  if (!seen.service_account)
    add(kube::kServiceAccounts, ray::build_autoscaler_service_account(cluster), "ServiceAccount",
        "service account");
  if (!seen.role)
    add(kube::kRoles, ray::build_autoscaler_role(cluster, settings.build), "Role", "role");
  out.stages.push_back(std::move(makes));
  if (seen.role_binding) return;
  // After the Role: who may not do everything may bind to it only once Kubernetes knows it, which
  // may be a moment after it answered. Only what lasts is worth an event.
  auto binding =
      create_with_events(kube::kRoleBindings, ray::build_autoscaler_role_binding(cluster),
                         kBindingLane, "RoleBinding", "role binding");
  if (!failures.contains(kBindingLane)) binding.failed_event.reset();
  out.add(std::move(binding));
}

void plan_ingress(const RayClusterSeen& seen, const Settings& settings, ObjectsDecision& out) {
  if (!ray::is_true(seen.spec().headGroupSpec.enableIngress)) {
    if (settings.cluster_gates.follow_edits) out.edits = remove_ways_in(seen);
    return;
  }
  const auto front = front_of(seen, settings);
  const auto& cluster = *front;
  const auto make = [&out](const kube::Resource& resource, Json body, std::string_view reason,
                           std::string_view what) {
    auto write = create_with_events(resource, std::move(body), "ingress", reason, what);
    write.tolerate = {ErrorCode::AlreadyExists};
    out.add(std::move(write));
  };
  const auto refuse = [&out](std::string_view kind, const std::string& name) {
    out.events.push_back(warning(fmt::format("FailedToCreate{}", kind), "Create",
                                 fmt::format("{} {} already exists and is not owned by this "
                                             "RayCluster; not modifying it",
                                             kind, name)));
  };
  if (settings.openshift_routes) {
    auto route = ray::build_head_route(cluster);
    if (seen.route_name_taken) return refuse("Route", created_key(route));
    if (seen.routes.empty()) make(kRoutes, std::move(route), "Route", "route");
    return;
  }
  auto wanted = ray::build_head_ingress(cluster);
  const auto name = created_key(wanted);
  if (!seen.ingress) {
    make(kube::kIngresses, std::move(wanted), "Ingress", "ingress");
    return;
  }
  const auto* owner = seen.ingress->meta.controller_owner();
  if (!owner || owner->uid != cluster.meta.uid) return refuse("Ingress", name);
  if (!ingress_differs(*seen.ingress, wanted)) return;
  auto& metadata = ensure(wanted, {"metadata"}).as_object();
  metadata["resourceVersion"] = std::to_string(seen.ingress->meta.resource_version);
  metadata["uid"] = seen.ingress->meta.uid;
  out.add(
      {.kind = kube::WriteKind::Update,
       .resource = kube::kIngresses,
       .key = seen.ingress->meta.key,
       .body = std::move(wanted),
       .lane = "ingress",
       .done_event = normal("UpdatedIngress", "Update", fmt::format("Updated ingress {}", name)),
       .failed_event = warning("FailedToUpdateIngress", "Update",
                               fmt::format("Failed updating ingress {}, {{error}}", name)),
       .why = "the Ingress differs from what the cluster asks for"});
}

void plan_auth_secret(const RayClusterSeen& seen, const Settings& settings, Time now,
                      ObjectsDecision& out) {
  if (seen.auth_secret) return;
  if (const auto* sharer = ray::token_sharer(*seen.cluster)) {
    // Whoever deletes it gets another; the Pods that run keep theirs.
    out.add(create(
        kube::kSecrets,
        ray::build_shared_token(*seen.cluster, *sharer, token_bytes(settings, sharer->uid, now)),
        "secret"));
    return;
  }
  if (!ray::needs_auth_secret(seen.spec())) return;
  out.add(create(
      kube::kSecrets,
      ray::build_auth_secret(*seen.cluster, token_bytes(settings, seen.cluster->meta.uid, now)),
      "secret"));
}

void plan_services(const RayClusterSeen& seen, const Settings& settings, ObjectsDecision& out) {
  const auto& cluster = *seen.cluster;
  if (seen.head_services.size() > 1) {  // which of them is the head's is not ours to choose
    out.blocked = fmt::format("{} head Services found", seen.head_services.size());
    return;
  }
  if (seen.head_service_name_taken) {
    out.blocked = fmt::format("Service {} belongs to somebody else", head_service_key(seen));
    out.events.push_back(warning("FailedToCreateService", "Create",
                                 fmt::format("Failed creating service {}, it already exists and is "
                                             "not owned by this RayCluster",
                                             head_service_key(seen))));
    return;
  }
  if (seen.head_services.empty()) {
    auto service = wanted_head_service(seen, settings);
    if (settings.cluster_gates.follow_edits) record_applied(service);
    out.add(
        create_with_events(kube::kServices, std::move(service), "services", "Service", "service"));
  } else {
    if (auto edit = update_head_selector(seen, settings)) out.edits.push_back(std::move(*edit));
    if (settings.cluster_gates.follow_edits)
      if (auto edit = update_head_service(seen, settings)) out.edits.push_back(std::move(*edit));
  }
  if (needs_headless_service(cluster.spec) && !seen.headless_service)
    out.add(create_with_events(kube::kServices, ray::build_headless_worker_service(cluster),
                               "services", "Service", "service"));
  if (cluster.meta.annotation(ray::kAnnotationEnableServeService) == "true" &&
      !seen.serve_service) {
    auto service = ray::build_serve_service(*front_of(seen, settings));
    if (service)
      out.add(create(kube::kServices, std::move(*service), "serve"));
    else
      out.blocked = service.error().message;
  }
}

void plan_gcs_claim(const RayClusterSeen& seen, ObjectsDecision& out) {
  const auto& cluster = *seen.cluster;
  if (ray::gcs_store(cluster) != ray::GcsStore::RocksDb) return;
  const auto name = ray::gcs_claim_name(cluster);
  if (!ray::needs_gcs_claim(cluster)) {  // the user's own, never touched
    if (!seen.gcs_claim)
      out.events.push_back(
          warning("FailedToCreatePVC", "Validate",
                  fmt::format("GcsFaultToleranceOptions.Storage.ClaimName \"{}\" not found in "
                              "namespace {}; the head Pod will not start until it exists",
                              name, seen.key().namespace_)));
    return;
  }
  const auto key = fmt::format("{}/{}", seen.key().namespace_, name);
  if (!seen.gcs_claim) {
    auto write = create(kube::kPersistentVolumeClaims, ray::build_gcs_claim(cluster), "claim");
    write.done_event = normal("CreatedPVC", "Create", "Created GCS storage PVC " + key);
    write.failed_event =
        warning("FailedToCreatePVC", "Create",
                fmt::format("Failed to create GCS storage PVC {}, {{error}}", key));
    out.add(std::move(write));
    return;
  }
  const auto& live = *seen.gcs_claim;
  if (const auto drift = ray::gcs_claim_drift(cluster, Json{{"spec", live.spec}}); !drift.empty())
    out.events.push_back(
        warning("FailedToCreatePVC", "Update",
                fmt::format("GCS storage PVC {} already exists and cannot be reconfigured in place "
                            "({}); delete the PVC to recreate it with the new settings",
                            key, drift)));
  const auto& storage = cluster.spec.gcsFaultToleranceOptions->storage;
  const bool retain = storage && storage->deletionPolicy == "Retain";
  const auto* owner = live.meta.controller_owner();
  const bool ours = owner && owner->uid == cluster.meta.uid;
  const bool namesake =
      owner && !ours && owner->kind == "RayCluster" && owner->name == cluster.meta.key.name;
  if (!retain && owner && !ours && !namesake) {
    out.blocked = fmt::format("claim {} belongs to {} {}", key, owner->kind, owner->name);
    return;
  }
  if (ours == !retain) return;
  JsonArray owners;
  for (const auto& other : live.meta.owners)
    if (!other.controller) owners.push_back(kube::to_json(other));
  if (!retain) owners.push_back(ray::owner_json(cluster.meta, ray::kKindRayCluster));
  out.add({.kind = kube::WriteKind::Patch,
           .resource = kube::kPersistentVolumeClaims,
           .key = live.meta.key,
           .body = {{"metadata",
                     {{"ownerReferences", std::move(owners)},
                      {"uid", live.meta.uid},
                      {"resourceVersion", std::to_string(live.meta.resource_version)}}}},
           .lane = "claim",
           .why = "the claim's owner is not what deletionPolicy says"});
}

// RC-19
void remove_services(const RayClusterSeen& seen, ObjectsDecision& out) {
  for (const auto& service : seen.head_services) {
    const auto* owner = service->meta.controller_owner();
    if (!owner || owner->uid != seen.cluster->meta.uid || service->meta.deleting) continue;
    auto write = remove(kube::kServices, service->meta, "services");
    write.why = "the cluster is suspended";
    write.done_event = normal("DeletedService", "Delete",
                              fmt::format("Deleted service {}", service->meta.key.to_string()));
    out.add(std::move(write));
  }
}

Json wanted_head_service(const RayClusterSeen& seen, const Settings& settings) {
  return ray::build_head_service(*front_of(seen, settings), settings.build);
}

ObjectsDecision decide_objects(const RayClusterSeen& seen, const Settings& settings,
                               const kube::PlanContext& context) {
  ObjectsDecision out;
  if (settings.cluster_gates.suspend_services && ray::is_true(seen.spec().suspend) &&
      suspend_state(seen.cluster->status.conditions) == SuspendState::Suspended) {
    remove_services(seen, out);
    return out;
  }
  plan_autoscaler_account(seen, settings, context.failures, out);
  if (!out.blocked.empty()) return out;
  plan_ingress(seen, settings, out);
  plan_auth_secret(seen, settings, context.now, out);
  plan_services(seen, settings, out);
  if (out.blocked.empty()) plan_gcs_claim(seen, out);
  return out;
}

}  // namespace manta::controllers::raycluster
