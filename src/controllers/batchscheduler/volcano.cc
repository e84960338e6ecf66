#include "controllers/batchscheduler/volcano.h"

#include "controllers/batchscheduler/gang_size.h"
#include "controllers/batchscheduler/gang_writes.h"
#include "controllers/writes.h"
#include "ray/builders/cluster_facts.h"
#include "ray/builders/edit.h"
#include "ray/builders/scheduler_metadata.h"
#include "ray/builders/start_params.h"
#include "ray/builders/submitter.h"
#include "ray/labels.h"

#include <fmt/format.h>

#include <charconv>

namespace manta::controllers::batchscheduler {
namespace {

constexpr std::string_view kLabelQueue = "volcano.sh/queue-name";
constexpr std::string_view kLabelTopology = "volcano.sh/network-topology-mode";
constexpr std::string_view kLabelTier = "volcano.sh/network-topology-highest-tier-allowed";

/// Whose PodGroup it is.
struct Owner {
  const kube::ObjectMeta& meta;
  std::string_view kind;

  std::string pod_group() const { return ray::volcano_pod_group_name(meta, kind); }
};

GangSize size_of(const ray::RayCluster& cluster, const ray::BuildOptions& options) {
  return ray::autoscaling_enabled(cluster.spec) ? least_gang(cluster, options)
                                                : whole_gang(cluster, options);
}

// The submitter asks for resources but is no member: it comes when the cluster is up, so a gang
// that waited for it would wait for ever.
GangSize size_of(const ray::RayJob& job, const ray::BuildOptions& options) {
  const ray::RayCluster cluster{.meta = {.key = job.meta.key}, .spec = *job.spec.rayClusterSpec};
  auto size = size_of(cluster, options);
  const auto& mode = job.spec.submissionMode;
  const auto pod_resources =
      options.scheduled_resources ? ray::scheduled_pod_resources : ray::pod_resources;
  if (mode == "K8sJobMode")
    ray::add_resources(size.resources, pod_resources(ray::submitter_template(job, "")));
  else if (mode == "SidecarMode")  // a container of the head, with requests of its own
    ray::add_resources(size.resources, pod_resources(ray::submitter_template({}, "")));
  return size;
}

void set_size(JsonObject& spec, const GangSize& size) {
  if (size.members == 0)
    spec.erase("minMember");
  else
    spec["minMember"] = size.members;
  spec["minResources"] = ray::json_of(size.resources);
}

bool has_size(const Json& spec, const GangSize& size) {
  if (int_at(spec, {"minMember"}) != size.members) return false;
  const Json* amounts = find(spec, {"minResources"});
  if (!amounts || !amounts->is_object()) return false;
  ray::ResourceList have;
  for (const auto& [name, amount] : amounts->get_object()) {
    const auto quantity = Quantity::parse(ray::quantity_text(amount));
    if (!quantity) return false;
    have.emplace(name, *quantity);
  }
  return have == size.resources;
}

Result<Json> network_topology(const kube::StringMap& labels, const std::string& pod_group) {
  const auto mode = labels.find(kLabelTopology);
  if (mode == labels.end()) return Json();
  JsonObject topology{{"mode", mode->second}};
  if (const auto tier = labels.find(kLabelTier); tier != labels.end()) {
    std::string_view text = tier->second;
    if (text.starts_with('+')) text.remove_prefix(1);
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc{} || end != text.data() + text.size())
      return failed(ErrorCode::Invalid,
                    fmt::format("failed to convert {} label to int: \"{}\" is not a whole number, "
                                "for podgroup {}",
                                kLabelTier, tier->second, pod_group));
    topology["highestTierAllowed"] = number;
  }
  return Json(std::move(topology));
}

Result<Json> build_pod_group(const Owner& owner, const GangSize& size) {
  const auto name = owner.pod_group();
  const auto& labels = owner.meta.labels;
  JsonObject spec;
  set_size(spec, size);
  if (const auto queue = labels.find(kLabelQueue); queue != labels.end())
    spec["queue"] = queue->second;
  if (const auto priority = labels.find(ray::kLabelPriorityClass); priority != labels.end())
    spec["priorityClassName"] = priority->second;
  auto topology =
      network_topology(labels, fmt::format("{} in namespace {}", name, owner.meta.key.namespace_));
  if (!topology) return failed(topology.error());
  if (!topology->is_null()) spec["networkTopology"] = std::move(*topology);
  JsonObject metadata{{"name", name},
                      {"namespace", owner.meta.key.namespace_},
                      {"ownerReferences", JsonArray{ray::owner_json(owner.meta, owner.kind)}}};
  if (!owner.meta.annotations.empty())
    metadata["annotations"] = ray::json_of(owner.meta.annotations);
  return Json{{"apiVersion", kVolcanoPodGroups.api_version()},
              {"kind", kVolcanoPodGroups.kind},
              {"metadata", std::move(metadata)},
              {"spec", std::move(spec)},
              {"status", {{"phase", "Pending"}}}};
}

// Only the size follows the owner; queue, priority, topology and annotations stay as they were
// made.
GangDecision sync(const Owner& owner, const GangSize& size, const GangSeen& seen) {
  GangDecision out;
  if (!seen.pod_group) {
    auto body = build_pod_group(owner, size);
    if (body)
      out.stages.push_back({create_gang_object(kVolcanoPodGroups, std::move(*body))});
    else  // SEEN-24
      block(out, warning(fmt::format("Invalid{}Metadata", owner.kind), "Validate",
                         fmt::format("The {} metadata is invalid {}: {}", owner.kind,
                                     owner.meta.key.to_string(), body.error().message)));
    return out;
  }
  const auto& live = *seen.pod_group;
  switch (whose(live.meta, owner.meta, owner.kind)) {
    case Belongs::Others:  // SEEN-25
      block(out, collision(kVolcanoPodGroups, live.meta, owner.kind));
      return out;
    case Belongs::Predecessor:
      out.blocked = goes_with_owner(kVolcanoPodGroups, live.meta);
      return out;
    case Belongs::Us:
    case Belongs::Nobody:  // made beforehand by hand, for this one
      break;
  }
  if (live.meta.deleting) {
    out.blocked = fmt::format("PodGroup {} is being deleted", live.meta.key.to_string());
    return out;
  }
  if (has_size(live.spec, size)) return out;
  auto changed = live;
  if (!changed.spec.is_object()) changed.spec = JsonObject{};
  set_size(changed.spec.get_object(), size);
  out.stages.push_back({update_gang_object(kVolcanoPodGroups, changed)});
  out.stages.back().back().why = "the gang's size has changed";
  return out;
}

}  // namespace

GangDecision decide_volcano(const ray::RayCluster& cluster, const GangSeen& seen,
                            const ray::BuildOptions& options) {
  if (cluster.meta.label(ray::kLabelOriginCrd) == ray::kKindRayJob) return {};  // its RayJob's
  return sync({cluster.meta, ray::kKindRayCluster}, size_of(cluster, options), seen);
}

GangDecision decide_volcano(const ray::RayJob& job, const GangSeen& seen,
                            const ray::BuildOptions& options) {
  if (!job.spec.rayClusterSpec) return {};
  return sync({job.meta, ray::kKindRayJob}, size_of(job, options), seen);
}

GangDecision release_volcano(const ray::RayJob& job, const ray::RayCluster* cluster,
                             const GangSeen& seen, const ray::BuildOptions& options) {
  if (!job.spec.clusterSelector.empty() || job.status.rayClusterName.empty()) return {};
  const Owner owner{job.meta, ray::kKindRayJob};
  const bool holds = cluster != nullptr && !cluster->meta.deleting;
  auto out = sync(owner, holds ? size_of(*cluster, options) : GangSize{}, seen);
  // What is not ours holds nothing of ours.
  out.events.clear();
  out.blocked.clear();
  const auto key = job.meta.key.to_string();
  for (auto& stage : out.stages)
    for (auto& write : stage) {
      write.done_event =
          normal("BatchSchedulerCleanedUp", "Cleanup",
                 fmt::format("Cleaned up batch scheduler resources for RayJob {}", key));
      write.failed_event = warning(
          "FailedToCleanupBatchScheduler", "Cleanup",
          fmt::format("Failed to cleanup batch scheduler resources for RayJob {}: {{error}}", key));
    }
  return out;
}

}  // namespace manta::controllers::batchscheduler
