#include "controllers/raycluster/validation.h"

#include "controllers/writes.h"
#include "ray/builders/cluster_facts.h"
#include "ray/builders/start_params.h"
#include "ray/labels.h"
#include "ray/validation.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <utility>

namespace manta::controllers::raycluster {
namespace {

constexpr std::string_view kInvalidSpecReason = "InvalidRayClusterSpec";

// SEEN-12
std::string unreadable_resources(const ray::RayClusterSpec& spec) {
  std::vector<std::string_view> groups;
  if (ray::unreadable_resources(ray::start_params(spec.headGroupSpec)))
    groups.push_back(ray::kHeadGroup);
  for (const auto& group : spec.workerGroupSpecs)
    if (ray::unreadable_resources(ray::start_params(group))) groups.push_back(group.groupName);
  if (groups.empty()) return {};
  return fmt::format(
      "rayStartParams.resources of groups [{}] is no JSON object of numbers; it is "
      "passed on as it is, and accelerators in the container's limits are not added",
      fmt::join(groups, ", "));
}

Validity refuse(std::string_view reason, std::string_view lead, const ray::RayCluster& cluster,
                std::string_view error) {
  return {.valid = false,
          .events = {warning(reason, "Validate",
                             fmt::format("{} {}: {}", lead, cluster.meta.key.to_string(), error))},
          .note = Note{kInvalidSpec, reason, std::string(error)}};
}

// What is worth a word though the cluster can be worked on.
std::vector<kube::EventNote> warnings_about(const ray::RayCluster& cluster) {
  std::vector<kube::EventNote> events;
  const auto warn = [&](std::string_view text) {
    events.push_back(
        warning(kInvalidSpecReason, "Validate",
                fmt::format("RayCluster spec warning {}: {}", cluster.meta.key.to_string(), text)));
  };
  if (const auto note = ray::autoscaler_v1_warning(cluster.spec)) warn(*note);
  if (const auto note = unreadable_resources(cluster.spec); !note.empty()) warn(note);
  return events;
}

Validity validate_shape(const ray::RayCluster& cluster, const Settings& settings) {
  if (auto ok = ray::validate_cluster_metadata(cluster.meta); !ok)
    return refuse("InvalidRayClusterMetadata", "The RayCluster metadata is invalid", cluster,
                  ok.error().message);
  if (auto ok = ray::validate_cluster_spec(cluster.spec, cluster.meta.annotations,
                                           validation_gates(settings));
      !ok)
    return refuse(kInvalidSpecReason, "The RayCluster spec is invalid", cluster,
                  ok.error().message);
  if (const auto fault = ray::worker_group_name_fault(cluster.spec, "spec"))  // RC-13, SEEN-04
    return refuse(kInvalidSpecReason, "The RayCluster spec is invalid", cluster, *fault);
  return {};
}

Validity validate_surroundings(const ray::RayCluster& cluster, const Settings& settings) {
  if (ray::mtls_enabled(cluster.spec, settings.build) && !settings.cert_manager)
    return refuse(kInvalidSpecReason, "The RayCluster spec is invalid", cluster,
                  "tlsOptions requires cert-manager, but cert-manager is not installed");
  if (auto ok = ray::validate_cluster_upgrade(cluster.spec, cluster.meta.labels); !ok)
    return refuse(kInvalidSpecReason, "The RayCluster UpgradeStrategy is invalid", cluster,
                  ok.error().message);
  if (auto ok = ray::validate_cluster_status(cluster.status); !ok)
    return {.valid = false,
            .events = {warning("InvalidRayClusterStatus", "Validate",
                               fmt::format("The RayCluster status is invalid {}, {}",
                                           cluster.meta.key.to_string(), ok.error().message))}};
  return {};
}

}  // namespace

Validity validate(const RayClusterSeen& seen, const Settings& settings) {
  auto out = validate_shape(*seen.cluster, settings);
  if (!out.valid) return out;
  out = validate_surroundings(*seen.cluster, settings);
  // Warnings come before these refusals, and beside them. spec/02 §2 steps 5 to 8
  auto events = warnings_about(*seen.cluster);
  std::ranges::move(out.events, std::back_inserter(events));
  out.events = std::move(events);
  return out;
}

}  // namespace manta::controllers::raycluster
