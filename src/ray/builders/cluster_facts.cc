#include "ray/builders/cluster_facts.h"

#include "ray/builders/start_params.h"
#include "ray/labels.h"
#include "ray/names.h"

#include <fmt/format.h>

namespace manta::ray {
namespace {

const StringMap kNoParams;

}  // namespace

std::string head_service_name(const RayCluster& cluster) {
  const auto name = string_at(cluster.spec.headGroupSpec.headService, {"metadata", "name"});
  return name.empty() ? default_head_service_name(cluster.meta.key.name) : std::string(name);
}

std::string head_host(const RayCluster& cluster, const BuildOptions& options) {
  return service_host(head_service_name(cluster), cluster.meta.key.namespace_,
                      options.cluster_domain);
}

std::string gcs_address(const RayCluster& cluster, const BuildOptions& options) {
  return fmt::format("{}:{}", head_host(cluster, options),
                     gcs_port(start_params(cluster.spec.headGroupSpec)));
}

std::string_view creator_kind(const RayCluster& cluster) {
  const auto kind = cluster.meta.label(kLabelOriginCrd);
  if (kind == kKindRayJob) return kKindRayJob;
  return kind == kKindRayService ? kKindRayService : kKindRayCluster;
}

bool made_by_ray_service(const RayCluster& cluster) {
  return creator_kind(cluster) == kKindRayService;
}

bool autoscaling_enabled(const RayClusterSpec& spec) {
  return is_true(spec.enableInTreeAutoscaling);
}

GcsStore gcs_store(const RayCluster& cluster) {
  const auto& options = cluster.spec.gcsFaultToleranceOptions;
  if (options) return options->backend == "rocksdb" ? GcsStore::RocksDb : GcsStore::Redis;
  return is_true_text(cluster.meta.annotation(kAnnotationFtEnabled)) ? GcsStore::Redis
                                                                     : GcsStore::None;
}

std::string gcs_claim_name(const RayCluster& cluster) {
  const auto& options = cluster.spec.gcsFaultToleranceOptions;
  if (options && options->storage && !options->storage->claimName.empty())
    return options->storage->claimName;
  return gcs_claim_name(std::string_view(cluster.meta.key.name));
}

bool token_auth_enabled(const RayClusterSpec& spec) {
  return spec.authOptions && spec.authOptions->mode == "token";
}

bool kubernetes_token_auth(const RayClusterSpec& spec) {
  return spec.authOptions && is_true(spec.authOptions->enableK8sTokenAuth);
}

std::string access_name(const RayCluster& cluster) {
  const auto& name = cluster.meta.key.name;
  return cluster.clipped_name_taken ? distinct_name(name) : check_name(name);
}

std::string auth_secret_name(const RayCluster& cluster) {
  const auto& auth = cluster.spec.authOptions;
  if (auth && auth->secretName && !auth->secretName->empty()) return *auth->secretName;
  return access_name(cluster);
}

bool mtls_enabled(const RayClusterSpec& spec, const BuildOptions& options) {
  return options.mtls && spec.tlsOptions && is_true(spec.tlsOptions->enabled);
}

const CollectorOptions* collector_options(const RayClusterSpec& spec, const BuildOptions& options) {
  if (!options.history_server || !spec.historyServerOptions) return nullptr;
  const auto& collector = spec.historyServerOptions->collectorOptions;
  return collector ? &*collector : nullptr;
}

const StringMap& start_params(const HeadGroupSpec& group) {
  return group.rayStartParams ? *group.rayStartParams : kNoParams;
}

const StringMap& start_params(const WorkerGroupSpec& group) {
  return group.rayStartParams ? *group.rayStartParams : kNoParams;
}

Json owner_json(const kube::ObjectMeta& owner, std::string_view kind) {
  return JsonObject{{"apiVersion", kGroupVersion}, {"kind", kind},
                    {"name", owner.key.name},      {"uid", owner.uid},
                    {"controller", true},          {"blockOwnerDeletion", true}};
}

StringMap cluster_labels(const RayCluster& cluster) {
  return {{std::string(kLabelCluster), cluster.meta.key.name},
          {std::string(kLabelAppName), std::string(kAppName)},
          {std::string(kLabelCreatedBy), std::string(kCreatedBy)}};
}

bool is_true_text(std::string_view text) {
  return text.size() == 4 && (text[0] | 0x20) == 't' && (text[1] | 0x20) == 'r' &&
         (text[2] | 0x20) == 'u' && (text[3] | 0x20) == 'e';
}

}  // namespace manta::ray
