// Holds the builders against records of the reference operator: every object in a record that a
// RayCluster owns is built again from the recorded RayCluster and compared. The records are not
// part of this repository: MANTA_CONFORMANCE names their folder, or it is looked for as
// shared/conformance in the folders above the working directory. Without it these tests are
// skipped, and say so.
#include "base/yaml.h"
#include "ray/builders/access.h"
#include "ray/builders/certificates.h"
#include "ray/builders/children.h"
#include "ray/builders/gateway.h"
#include "ray/builders/golden_match.h"
#include "ray/builders/ingress.h"
#include "ray/builders/network_policy.h"
#include "ray/builders/pod.h"
#include "ray/builders/redis_cleanup.h"
#include "ray/builders/service.h"
#include "ray/builders/submitter.h"
#include "ray/labels.h"
#include "ray/names.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace manta::ray {
namespace {

namespace fs = std::filesystem;
using namespace testing_golden;

fs::path conformance_folder() {
  if (const char* given = std::getenv("MANTA_CONFORMANCE")) return given;
  for (fs::path folder = fs::current_path();; folder = folder.parent_path()) {
    if (fs::exists(folder / "shared/conformance/golden")) return folder / "shared/conformance";
    if (folder == folder.root_path()) return {};
  }
}

std::string read_file(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

// The records write "<ns>", which a shell would read as redirections.
constexpr std::string_view kNamespace = "the-namespace";

Json read_yaml(const fs::path& path) {
  auto text = read_file(path);
  constexpr std::string_view kMasked = "<ns>";
  for (auto at = text.find(kMasked); at != std::string::npos; at = text.find(kMasked, at))
    text.replace(at, kMasked.size(), kNamespace);
  auto parsed = parse_yaml_one(text);
  EXPECT_TRUE(parsed.has_value()) << path << ": " << parsed.error().message;
  return parsed ? *parsed : Json(JsonObject{});
}

/// Golden files by scenario name, and scenario files.
std::vector<std::string> scenario_names() {
  std::vector<std::string> names;
  const fs::path folder = conformance_folder();
  if (folder.empty()) return {"none"};
  for (const auto& file : fs::directory_iterator(folder / "golden"))
    names.push_back(file.path().stem().string());
  std::ranges::sort(names);
  return names;
}

Json read_scenario(const std::string& name) {
  for (const auto& file : fs::recursive_directory_iterator(conformance_folder() / "scenarios"))
    if (file.path().stem() == name) return read_yaml(file.path());
  return JsonObject{};
}

BatchScheduler scheduler_named(std::string_view name) {
  if (name == "volcano") return BatchScheduler::Volcano;
  if (name == "yunikorn") return BatchScheduler::Yunikorn;
  if (name == "kai-scheduler") return BatchScheduler::Kai;
  if (name == "scheduler-plugins") return BatchScheduler::SchedulerPlugins;
  return BatchScheduler::None;
}

JsonArray array_copy(const Json& value, std::string_view key) { return array_at(value, {key}); }

BuildOptions options_of(const Json& scenario) {
  BuildOptions options;
  const JsonObject& env = object_at(scenario, {"operator", "env"});
  read_environment(options, [&](std::string_view name) -> std::optional<std::string> {
    const Json* value = env.if_contains(name);
    if (value == nullptr) return std::nullopt;
    return value->is_string() ? std::string(value->get_string()) : dump_json(*value);
  });
  std::string flags;
  for (const Json& flag : array_at(scenario, {"operator", "flags"}))
    flags += std::string(flag.get_string()) + " ";
  auto gate = [&](std::string_view name, bool& target) {
    const bool beta = target;
    if (!beta && flags.find("AllAlpha=true") != std::string::npos) target = true;
    if (beta && flags.find("AllBeta=false") != std::string::npos) target = false;
    for (const auto* yes : {"=true", "=1"})
      if (flags.find(std::string(name) + yes) != std::string::npos) target = true;
    for (const auto* no : {"=false", "=0"})
      if (flags.find(std::string(name) + no) != std::string::npos) target = false;
  };
  gate("RayMultiHostIndexing", options.multi_host_indexing);
  gate("SidecarSubmitterRestart", options.sidecar_submitter_restart);
  gate("RayClusterMTLS", options.mtls);
  gate("RayClusterHistoryServer", options.history_server);
  const std::string_view scheduler_flag = "--batch-scheduler=";
  flags = replace_all(flags, "--batch-scheduler ", scheduler_flag);
  if (const auto at = flags.find(scheduler_flag); at != std::string::npos)
    options.scheduler = scheduler_named(std::string_view(flags).substr(
        at + scheduler_flag.size(), flags.find(' ', at) - at - scheduler_flag.size()));
  if (const Json* config = find(scenario, {"operator", "config"})) {
    options.head_sidecar_containers = array_copy(*config, "headSidecarContainers");
    options.worker_sidecar_containers = array_copy(*config, "workerSidecarContainers");
    options.default_container_envs = array_copy(*config, "defaultContainerEnvs");
    options.default_pod_annotations = string_map(object_at(*config, {"defaultPodAnnotations"}));
    options.default_pod_labels = string_map(object_at(*config, {"defaultPodLabels"}));
    const auto scheduler = string_at(*config, {"batchScheduler"});
    if (!scheduler.empty()) options.scheduler = scheduler_named(scheduler);
  }
  return options;
}

/// A recorded object as it was: with namespace, uid and owners.
Json unmask(Json object) {
  JsonObject& metadata = object.as_object()["metadata"].as_object();
  metadata["namespace"] = kNamespace;
  metadata["uid"] = kUid;
  if (metadata.contains("owners")) {
    JsonArray owners = metadata["owners"].as_array();
    for (Json& owner : owners) {
      owner.as_object()["apiVersion"] = kGroupVersion;
      owner.as_object()["uid"] = kUid;
    }
    metadata["ownerReferences"] = std::move(owners);
    metadata.erase("owners");
  }
  object.as_object().erase("status");
  return object;
}

/// What a record holds, by kind and name.
struct World {
  std::map<std::string, RayCluster> clusters;
  std::map<std::string, RayJob> jobs;
  std::map<std::string, RayService> services;
  std::map<std::string, Json> raw_clusters;
};

template <class T>
void keep(std::map<std::string, T>& map, Result<T> parsed) {
  if (!parsed) return;  // what the record masked is no object any more
  const std::string name = parsed->meta.key.name;
  map.emplace(name, std::move(*parsed));
}

World read_world(const JsonArray& objects) {
  World world;
  for (const Json& object : objects) {
    const auto kind = string_at(object, {"kind"});
    if (kind == kKindRayCluster) keep(world.clusters, parse_ray_cluster(unmask(object)));
    if (kind == kKindRayJob) {
      keep(world.jobs, parse_ray_job(unmask(object)));
      auto job = world.jobs.find(std::string(string_at(object, {"metadata", "name"})));
      if (job == world.jobs.end()) continue;
      job->second.status.jobId = string_at(object, {"status", "jobId"});
      job->second.status.dashboardURL = string_at(object, {"status", "dashboardURL"});
      job->second.status.rayClusterName = string_at(object, {"status", "rayClusterName"});
    }
    if (kind == kKindRayService) keep(world.services, parse_ray_service(unmask(object)));
  }
  return world;
}

std::optional<Json> build_pod(const Json& record, const RayCluster& cluster,
                              const BuildOptions& options) {
  const JsonObject& labels = object_at(record, {"metadata", "labels"});
  if (text_in(labels, kLabelNodeType) == kNodeTypeHead) return build_head_pod(cluster, options);
  const auto number = [&](std::string_view key) {
    return std::atoi(std::string(text_in(labels, key)).c_str());
  };
  for (const auto& group : cluster.spec.workerGroupSpecs)
    if (group.groupName == text_in(labels, kLabelGroup))
      return build_worker_pod(cluster, group,
                              {.replica_index = number(kLabelReplicaIndex),
                               .replica_name = group.groupName + "-xxxxx",
                               .host_index = number(kLabelHostIndex)},
                              options);
  return std::nullopt;
}

std::optional<Json> build_owned(const Json& record, const RayCluster& cluster, const World& world,
                                const BuildOptions& options) {
  const auto kind = string_at(record, {"kind"});
  const std::string name(string_at(record, {"metadata", "name"}));
  if (kind == "Pod") return build_pod(record, cluster, options);
  if (kind == "Job") return build_redis_cleanup_job(cluster, options);
  if (kind == "ServiceAccount") return build_autoscaler_service_account(cluster);
  if (kind == "Role") return build_autoscaler_role(cluster);
  if (kind == "RoleBinding") return build_autoscaler_role_binding(cluster);
  if (kind == "Secret") return build_auth_secret(cluster, {});
  if (kind == "PersistentVolumeClaim") return build_gcs_claim(cluster);
  if (kind == "Ingress") return build_head_ingress(cluster);
  if (kind == "NetworkPolicy") {
    for (Json& policy : build_network_policies(cluster))
      if (string_at(policy, {"metadata", "name"}) == name) return std::move(policy);
    return std::nullopt;
  }
  std::vector<std::string> ips;
  for (const Json& ip : array_at(record, {"spec", "ipAddresses"}))
    if (ip.get_string() == "<ip>") ips.emplace_back("10.77.0.1");  // sorts before 127.0.0.1
  if (name == self_signed_issuer_name(cluster.meta.key.name))
    return build_self_signed_issuer(cluster);
  if (name == ca_issuer_name(cluster.meta.key.name)) return build_ca_issuer(cluster);
  if (name == ca_certificate_name(cluster.meta.key.name)) return build_ca_certificate(cluster);
  if (name == head_certificate_name(cluster.meta.key.name))
    return build_head_certificate(cluster, ips, options);
  if (name == worker_certificate_name(cluster.meta.key.name))
    return build_worker_certificate(cluster, ips);
  if (kind != "Service") return std::nullopt;
  if (name.ends_with("-headless")) return build_headless_worker_service(cluster);
  if (!name.ends_with("-serve-svc")) return build_head_service(cluster, options);
  const auto origin = string_at(record, {"metadata", "labels", kLabelOriginCrd});
  if (origin == kKindRayService)
    for (const auto& [_, service] : world.services)
      return *build_incremental_serve_service(service, cluster);
  return *build_serve_service(cluster);
}

/// The weights are the planner's, so they are taken from the record.
std::optional<Json> build_route(const Json& record, const RayService& service, const World& world) {
  std::vector<RouteTarget> targets;
  const JsonArray& rules = array_at(record, {"spec", "rules"});
  for (const Json& backend : array_at(rules.at(0), {"backendRefs"})) {
    const auto name = string_at(backend, {"name"});
    const auto cluster = world.clusters.find(std::string(name.substr(0, name.rfind("-serve-svc"))));
    if (cluster == world.clusters.end()) return std::nullopt;
    targets.push_back({cluster->second, static_cast<std::int32_t>(int_at(backend, {"weight"}))});
  }
  if (targets.empty()) return std::nullopt;
  return build_http_route(service, targets[0],
                          targets.size() > 1 ? std::optional(targets[1]) : std::nullopt);
}

/// What a RayJob or RayService makes besides clusters' own objects.
std::optional<Json> build_for_owner(const Json& record, std::string_view owner_kind,
                                    const std::string& owner, const World& world,
                                    const BuildOptions& options) {
  const auto kind = string_at(record, {"kind"});
  const std::string name(string_at(record, {"metadata", "name"}));
  if (owner_kind == kKindRayJob && world.jobs.contains(owner)) {
    const RayJob& job = world.jobs.at(owner);
    if (kind == kKindRayCluster && name == job.status.rayClusterName) {
      RayJob before = job;  // it had no URL yet
      before.status.dashboardURL.clear();
      return *build_cluster_for_job(before, options);
    }
    const auto cluster = world.clusters.find(job.status.rayClusterName);
    if (cluster == world.clusters.end()) return std::nullopt;
    if (kind == "Service") return build_head_service(job, cluster->second, options);
    if (kind == "Job") return *build_submitter_job(job, cluster->second, options);
  }
  if (owner_kind == kKindRayService && world.services.contains(owner)) {
    const RayService& service = world.services.at(owner);
    if (kind == "Gateway") return build_gateway(service);
    if (kind == "HTTPRoute") return build_route(record, service, world);
    const auto cluster =
        world.clusters.find(std::string(string_at(record, {"spec", "selector", kLabelCluster})));
    if (cluster == world.clusters.end()) return std::nullopt;
    if (name.ends_with("-head-svc")) return build_head_service(service, cluster->second, options);
    return *build_serve_service(service, cluster->second);
  }
  return std::nullopt;
}

// Records of objects that were made from an earlier state of what made them, or changed by others
// since. By scenario and record.
const std::map<std::string, std::string, std::less<>> kExcused = {
    {"bs-volcano-cluster/scaled", "a label changed after the Pods were made"},
    {"op-np-rules/ingress-only", "an annotation was added by hand"},
    {"rc-by-hand/edited", "edited by hand, and left so"},
    {"rc-ingress/changed", "the planner keeps the live Ingress' class"},
    {"rc-ingress/put right", "the planner keeps the live Ingress' class"},
    {"rc-resources/sums", "SEEN-14: GPUs of two kinds are both counted"},
    {"rc-no-upgrade/mixed", "the spec changed after the head was made"},
    {"rc-recreate/grown", "tolerations changed after the head was made"},
    {"rc-suspend-sticky/held up", "a Pod is held by a finalizer"},
    {"rj-cluster-features/running", "the cluster has got its finalizer"},
    {"rj-deletion-stages/workers-gone", "worker groups were suspended since"},
    {"rj-edits-while-running/scaled", "the RayJob changed after its objects were made"},
    {"rj-legacy-deletion/after", "worker groups were suspended since"},
    {"rs-longest-name-autoscaled/scaled", "the mask changes the length of names"},
    {"rs-longest-name-autoscaled/running", "the mask changes the length of names"},
    {"rs-scale-in-place/appended", "tolerations changed after the head was made"},
};

class Golden : public ::testing::TestWithParam<std::string> {};

TEST_P(Golden, ObjectsAreAsRecorded) {
  const fs::path folder = conformance_folder();
  if (folder.empty())
    GTEST_SKIP() << "no conformance records: set MANTA_CONFORMANCE to their folder";
  const BuildOptions options = options_of(read_scenario(GetParam()));
  const Json golden = read_yaml(folder / "golden" / (GetParam() + ".golden"));
  int compared = 0;
  for (const auto& [label, record] : golden.as_object()) {
    if (kExcused.contains(GetParam() + "/" + std::string(label))) continue;
    const JsonArray& objects = array_at(record, {"objects"});
    const World world = read_world(objects);
    for (const Json& object : objects) {
      const JsonArray& owners = array_at(object, {"metadata", "owners"});
      if (owners.empty()) continue;
      const auto owner_kind = string_at(owners[0], {"kind"});
      const std::string owner(string_at(owners[0], {"name"}));
      std::optional<Json> built;
      if (owner_kind == kKindRayCluster && world.clusters.contains(owner))
        built = build_owned(object, world.clusters.at(owner), world, options);
      else
        built = build_for_owner(object, owner_kind, owner, world, options);
      if (!built) continue;
      Json expected = object;
      expected.as_object().erase("status");
      // The RayService controller moves it with the health of the head's Serve proxy.
      JsonObject& metadata = object_in(expected.as_object(), "metadata");
      if (text_in(object_of(metadata, "labels"), kLabelNodeType) == kNodeTypeHead &&
          object_of(metadata, "labels").contains(kLabelServe))
        object_in(metadata, "labels")[kLabelServe] = "false";
      std::vector<std::string> differences;
      compare(as_record(*built), expected, "", differences);
      ++compared;
      for (const auto& difference : differences)
        ADD_FAILURE() << std::string_view(label) << " " << string_at(object, {"kind"}) << " "
                      << string_at(object, {"metadata", "name"}) << difference;
    }
  }
  RecordProperty("compared", compared);
  if (GetParam().starts_with("ob-")) EXPECT_GT(compared, 1);
}

INSTANTIATE_TEST_SUITE_P(Records, Golden, ::testing::ValuesIn(scenario_names()),
                         [](const auto& info) {
                           return std::string(replace_all(info.param, "-", "_"));
                         });

}  // namespace
}  // namespace manta::ray
