// The ray.io/v1 API as C++ structs: RayCluster, RayJob, RayService, RayCronJob.
//
//   auto cluster = parse_ray_cluster(object);   // Result: wrong types are errors with their path
//   if (cluster->spec.suspend.value_or(false)) …
//   Json body = to_json(*cluster);
//
// Fields are spelt and ordered as upstream's serializer emits them, because spec hashes are taken
// over that text (spec_hash.h). std::optional tells absent from zero where the API does; elsewhere
// absent equals zero. What Kubernetes owns (Pod templates, Services, env lists, …) stays Json, as
// the user wrote it; a null Json is "absent". Unknown keys are not seen by the typed view.
// What a field means, what it may hold and its CRD default: types_describe_*.cc. Source: spec/01.
#pragma once

#include "base/json.h"
#include "base/quantity.h"
#include "base/result.h"
#include "base/time.h"
#include "kube/object.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace manta::ray {

using kube::StringMap;
using Int32 = std::int32_t;
template <class T>
using Opt = std::optional<T>;

extern const kube::Resource kRayClusters, kRayJobs, kRayServices, kRayCronJobs;  // ray.io/v1

// ---- RayCluster

struct RayClusterUpgradeStrategy {
  Opt<std::string> type = {};  // Recreate, None
  bool operator==(const RayClusterUpgradeStrategy&) const = default;
};

struct AuthOptions {
  Opt<bool> enableK8sTokenAuth = {};
  Opt<std::string> secretName = {};
  std::string mode = {};  // disabled, token; auth is on only when exactly token
  bool operator==(const AuthOptions&) const = default;
};

struct AutoscalerOptions {
  Json resources = {};  // ResourceRequirements
  Opt<std::string> image = {};
  Opt<std::string> imagePullPolicy = {};
  Json securityContext = {};
  Opt<Int32> idleTimeoutSeconds = {};
  Opt<std::string> upscalingMode = {};  // Default, Aggressive, Conservative
  Opt<std::string> version = {};        // v1, v2
  Json env = {};                        // list of EnvVar
  Json envFrom = {};                    // list of EnvFromSource
  Json volumeMounts = {};               // list of VolumeMount
  std::vector<std::string> command = {};
  std::vector<std::string> args = {};
  bool operator==(const AutoscalerOptions&) const = default;
};

struct RedisCredential {
  Json valueFrom = {};  // EnvVarSource
  std::string value = {};
  bool operator==(const RedisCredential&) const = default;
};

struct GcsEmbeddedStorage {
  std::string claimName = {};
  Opt<Quantity> size = {};
  Opt<std::string> storageClassName = {};
  std::vector<std::string> accessModes = {};
  std::string subPath = {};
  Opt<std::string> deletionPolicy = {};  // DeleteWithCluster, Retain
  bool operator==(const GcsEmbeddedStorage&) const = default;
};

struct GcsFaultToleranceOptions {
  std::string backend = {};  // redis, rocksdb; empty reads as redis
  Opt<RedisCredential> redisUsername = {};
  Opt<RedisCredential> redisPassword = {};
  std::string externalStorageNamespace = {};
  std::string redisAddress = {};
  Opt<GcsEmbeddedStorage> storage = {};
  bool operator==(const GcsFaultToleranceOptions&) const = default;
};

struct CollectorOptions {
  Opt<std::string> image = {};
  Opt<std::string> imagePullPolicy = {};
  Json resources = {};  // ResourceRequirements
  Json env = {};        // list of EnvVar
  bool operator==(const CollectorOptions&) const = default;
};

struct HistoryServerOptions {
  Opt<CollectorOptions> collectorOptions = {};
  bool operator==(const HistoryServerOptions&) const = default;
};

struct NetworkPolicyRules {
  Json ingressRules = {};  // list of NetworkPolicyIngressRule
  Json egressRules = {};   // list of NetworkPolicyEgressRule
  bool operator==(const NetworkPolicyRules&) const = default;
};

struct NetworkPolicyWorkerGroup {
  std::string groupName = {};
  Json ingressRules = {};
  Json egressRules = {};
  bool operator==(const NetworkPolicyWorkerGroup&) const = default;
};

struct NetworkPolicyConfig {
  Opt<std::string> mode = {};  // DenyAll (also when absent), DenyAllIngress, DenyAllEgress
  Opt<NetworkPolicyRules> head = {};
  Opt<NetworkPolicyRules> worker = {};
  std::vector<NetworkPolicyWorkerGroup> workerGroups = {};
  bool operator==(const NetworkPolicyConfig&) const = default;
};

struct TlsOptions {
  Opt<bool> enabled = {};
  bool operator==(const TlsOptions&) const = default;
};

struct IngressOptions {
  Opt<std::string> host = {};
  Opt<std::string> path = {};
  Opt<std::string> pathType = {};  // Exact, Prefix, ImplementationSpecific
  Json tls = {};                   // list of IngressTLS
  bool operator==(const IngressOptions&) const = default;
};

struct HeadGroupSpec {
  Json template_ = {};    // PodTemplateSpec; container 0 is Ray's
  Json headService = {};  // Service
  Opt<bool> enableIngress = {};
  Opt<IngressOptions> ingressOptions = {};
  StringMap resources = {};  // Ray's logical resources, quantities as text
  StringMap labels = {};
  Opt<StringMap> rayStartParams = {};  // absent and {} hash differently
  std::string serviceType = {};
  bool operator==(const HeadGroupSpec&) const = default;
};

struct ScaleStrategy {
  std::vector<std::string> workersToDelete = {};  // Pod names
  bool operator==(const ScaleStrategy&) const = default;
};

struct WorkerGroupSpec {
  Opt<bool> suspend = {};
  std::string groupName = {};
  Opt<Int32> replicas = {};
  Opt<Int32> minReplicas = {};  // absent reads as 0
  Opt<Int32> maxReplicas = {};  // absent reads as 2147483647
  Opt<Int32> idleTimeoutSeconds = {};
  Opt<Int32> priority = {};
  StringMap resources = {};
  StringMap labels = {};
  Opt<StringMap> rayStartParams = {};
  Json template_ = {};  // PodTemplateSpec
  ScaleStrategy scaleStrategy = {};
  Int32 numOfHosts = 0;  // Pods per replica; the CRD's default makes it 1, ≤ 0 acts as 1
  bool operator==(const WorkerGroupSpec&) const = default;
};

struct RayClusterSpec {
  Opt<RayClusterUpgradeStrategy> upgradeStrategy = {};
  Opt<AuthOptions> authOptions = {};
  Opt<bool> suspend = {};
  Opt<std::string> managedBy = {};
  Opt<AutoscalerOptions> autoscalerOptions = {};
  StringMap headServiceAnnotations = {};
  Opt<bool> enableInTreeAutoscaling = {};
  Opt<GcsFaultToleranceOptions> gcsFaultToleranceOptions = {};
  Opt<HistoryServerOptions> historyServerOptions = {};
  Opt<NetworkPolicyConfig> networkPolicy = {};
  Opt<TlsOptions> tlsOptions = {};
  HeadGroupSpec headGroupSpec = {};
  std::string rayVersion = {};
  std::vector<WorkerGroupSpec> workerGroupSpecs = {};
  bool operator==(const RayClusterSpec&) const = default;
};

/// metav1.Condition.
struct Condition {
  std::string type = {};
  std::string status = {};  // True, False, Unknown
  std::int64_t observedGeneration = 0;
  Opt<Time> lastTransitionTime = {};
  std::string reason = {};
  std::string message = {};
  bool operator==(const Condition&) const = default;
};

struct HeadInfo {
  std::string podIP = {};
  std::string serviceIP = {};
  std::string podName = {};
  std::string serviceName = {};
  bool operator==(const HeadInfo&) const = default;
};

struct RayClusterStatus {
  std::string state = {};  // ready, suspended, failed; deprecated
  Quantity desiredCPU = {};
  Quantity desiredMemory = {};
  Quantity desiredGPU = {};
  Quantity desiredTPU = {};
  Opt<Time> lastUpdateTime = {};
  std::map<std::string, Time, std::less<>> stateTransitionTimes = {};
  StringMap endpoints = {};
  HeadInfo head = {};
  std::string reason = {};
  std::vector<Condition> conditions = {};
  Int32 readyWorkerReplicas = 0;
  Int32 availableWorkerReplicas = 0;
  Int32 desiredWorkerReplicas = 0;
  Int32 minWorkerReplicas = 0;
  Int32 maxWorkerReplicas = 0;
  std::int64_t observedGeneration = 0;
  bool operator==(const RayClusterStatus&) const = default;
};

struct RayCluster {
  kube::ObjectMeta meta = {};
  RayClusterSpec spec = {};
  RayClusterStatus status = {};
  /// Ours, never on the wire: KubeRay's clipped name for the cluster's ServiceAccount, Role,
  /// RoleBinding and token Secret is another cluster's. RC-25
  bool clipped_name_taken = false;
  /// Ours: who else than the autoscaler applies the groups' replicas, and what of the spec that is.
  /// Known with its gate only. AS-01
  std::string replicas_owner = {};
};

// ---- RayJob

struct SubmitterConfig {
  Opt<Int32> backoffLimit = {};  // absent reads as 2
  bool operator==(const SubmitterConfig&) const = default;
};

struct DeletionPolicy {
  Opt<std::string> policy = {};  // DeleteCluster, DeleteWorkers, DeleteSelf, DeleteNone
  bool operator==(const DeletionPolicy&) const = default;
};

struct DeletionCondition {
  Opt<std::string> jobStatus = {};            // SUCCEEDED, FAILED
  Opt<std::string> jobDeploymentStatus = {};  // Failed
  Int32 ttlSeconds = 0;
  bool operator==(const DeletionCondition&) const = default;
};

struct DeletionRule {
  std::string policy = {};
  DeletionCondition condition = {};
  bool operator==(const DeletionRule&) const = default;
};

struct DeletionStrategy {
  Opt<DeletionPolicy> onSuccess = {};
  Opt<DeletionPolicy> onFailure = {};
  std::vector<DeletionRule> deletionRules = {};
  bool operator==(const DeletionStrategy&) const = default;
};

struct RayJobSpec {
  Opt<Int32> activeDeadlineSeconds = {};
  Opt<Int32> backoffLimit = {};
  Opt<RayClusterSpec> rayClusterSpec = {};
  Json submitterPodTemplate = {};  // PodTemplateSpec
  StringMap metadata = {};
  StringMap clusterSelector = {};
  Opt<SubmitterConfig> submitterConfig = {};
  Opt<std::string> managedBy = {};
  Opt<DeletionStrategy> deletionStrategy = {};
  std::string entrypoint = {};
  std::string runtimeEnvYAML = {};
  std::string jobId = {};
  std::string submissionMode = {};  // K8sJobMode, HTTPMode, InteractiveMode, SidecarMode; no enum
  std::string entrypointResources = {};
  float entrypointNumCpus = 0;
  float entrypointNumGpus = 0;
  Int32 ttlSecondsAfterFinished = 0;
  Opt<Int32> preRunningDeadlineSeconds = {};
  bool shutdownAfterJobFinishes = false;
  bool suspend = false;
  /// Not upstream's: RecreateRayCluster (also when absent), ReuseRayCluster. Gate
  /// RayJobReuseCluster.
  Opt<std::string> retryStrategy = {};
  bool operator==(const RayJobSpec&) const = default;
};

struct RayJobInfo {
  Opt<Time> startTime = {};
  Opt<Time> endTime = {};
  bool operator==(const RayJobInfo&) const = default;
};

struct RayJobStatus {
  RayJobInfo rayJobInfo = {};
  std::string jobId = {};
  std::string rayClusterName = {};
  std::string dashboardURL = {};
  std::string jobStatus = {};            // spec/01 §3.4
  std::string jobDeploymentStatus = {};  // spec/01 §3.5
  std::string reason = {};               // spec/01 §3.6
  std::string message = {};
  Opt<Time> startTime = {};
  Opt<Time> endTime = {};
  Opt<Int32> succeeded = {};
  Opt<Int32> failed = {};
  RayClusterStatus rayClusterStatus = {};
  Opt<Time> jobStatusCheckFailureStartTime = {};
  std::int64_t observedGeneration = 0;
  /// Not upstream's: what users should know and no other field tells. Empty while all is well.
  std::vector<Condition> conditions = {};
  bool operator==(const RayJobStatus&) const = default;
};

struct RayJob {
  kube::ObjectMeta meta = {};
  RayJobSpec spec = {};
  RayJobStatus status = {};
};

// ---- RayService

struct ClusterUpgradeOptions {
  Opt<Int32> maxSurgePercent = {};  // absent reads as 100
  Opt<Int32> stepSizePercent = {};
  Opt<Int32> intervalSeconds = {};
  std::string gatewayClassName = {};
  bool operator==(const ClusterUpgradeOptions&) const = default;
};

struct RayServiceUpgradeStrategy {
  Opt<std::string> type = {};  // NewClusterWithIncrementalUpgrade, NewCluster, None; no enum
  Opt<ClusterUpgradeOptions> clusterUpgradeOptions = {};
  bool operator==(const RayServiceUpgradeStrategy&) const = default;
};

struct RayServiceSpec {
  Opt<Int32> rayClusterDeletionDelaySeconds = {};
  Opt<Int32> serviceUnhealthySecondThreshold = {};     // ignored
  Opt<Int32> deploymentUnhealthySecondThreshold = {};  // ignored
  Json serveService = {};                              // Service
  Opt<RayServiceUpgradeStrategy> upgradeStrategy = {};
  Opt<std::string> managedBy = {};
  std::string serveConfigV2 = {};
  RayClusterSpec rayClusterConfig = {};
  bool excludeHeadPodFromServeSvc = false;
  bool suspend = false;
  bool operator==(const RayServiceSpec&) const = default;
};

struct ServeDeploymentStatus {
  std::string status = {};
  std::string message = {};
  bool operator==(const ServeDeploymentStatus&) const = default;
};

struct ServeApplicationStatus {
  std::map<std::string, ServeDeploymentStatus, std::less<>> serveDeploymentStatuses = {};
  std::string status = {};
  std::string message = {};
  bool operator==(const ServeApplicationStatus&) const = default;
};

/// Of one of a RayService's clusters, active or pending (upstream's name: RayServiceStatus).
struct ServeClusterStatus {
  std::map<std::string, ServeApplicationStatus, std::less<>> applicationStatuses = {};
  Opt<Int32> targetCapacity = {};
  Opt<Int32> trafficRoutedPercent = {};
  Opt<Time> lastTrafficMigratedTime = {};
  std::string rayClusterName = {};
  RayClusterStatus rayClusterStatus = {};
  bool operator==(const ServeClusterStatus&) const = default;
};

struct RayServiceStatus {
  std::vector<Condition> conditions = {};
  Opt<Time> lastUpdateTime = {};
  std::string serviceStatus = {};  // Running or empty; deprecated
  ServeClusterStatus activeServiceStatus = {};
  ServeClusterStatus pendingServiceStatus = {};
  Int32 numServeEndpoints = 0;
  std::int64_t observedGeneration = 0;
  bool operator==(const RayServiceStatus&) const = default;
};

struct RayService {
  kube::ObjectMeta meta = {};
  RayServiceSpec spec = {};
  RayServiceStatus status = {};
};

// ---- RayCronJob

struct RayCronJobSpec {
  RayJobSpec jobTemplate = {};
  std::string schedule = {};
  Opt<std::string> timeZone = {};
  Opt<bool> suspend = {};
  // Not upstream's; as of a batch CronJob. Gate RayCronJobPolicies.
  Opt<std::string> concurrencyPolicy = {};  // Allow (also when absent), Forbid, Replace
  Opt<Int32> startingDeadlineSeconds = {};
  Opt<Int32> successfulJobsHistoryLimit = {};  // absent: all are kept
  Opt<Int32> failedJobsHistoryLimit = {};
  bool operator==(const RayCronJobSpec&) const = default;
};

struct RayCronJobStatus {
  Opt<Time> lastScheduleTime = {};
  std::vector<Condition> conditions = {};  // not upstream's
  bool operator==(const RayCronJobStatus&) const = default;
};

struct RayCronJob {
  kube::ObjectMeta meta = {};
  RayCronJobSpec spec = {};
  RayCronJobStatus status = {};
};

// ---- JSON

/// Whole objects. Annotations are kept. A missing spec or status reads as zero values. Fails with
/// one cause per wrong type: field path, the value found, what is allowed.
Result<RayCluster> parse_ray_cluster(const Json& object);
Result<RayJob> parse_ray_job(const Json& object);
Result<RayService> parse_ray_service(const Json& object);
Result<RayCronJob> parse_ray_cron_job(const Json& object);

/// Parts, e.g. parse_part<RayClusterSpec>(value, "spec"). For every struct above up to the kinds.
template <class T>
Result<T> parse_part(const Json& value, std::string_view path);

/// apiVersion, kind, metadata, spec and status, zero fields left out as spec/01 §0.1 says.
Json to_json(const RayCluster& cluster);
Json to_json(const RayJob& job);
Json to_json(const RayService& service);
Json to_json(const RayCronJob& cron_job);
/// name, namespace, uid, resourceVersion, labels, annotations, ownerReferences, finalizers: those
/// that are set. What ObjectMeta does not hold (managedFields, generateName) is not written.
Json to_json(const kube::ObjectMeta& meta);

/// Parts: the specs, the statuses, and every struct that stands between.
template <class T>
Json part_to_json(const T& part);

// ---- Reading what may be absent
// ------------------------------------------------------------------

inline bool is_true(const Opt<bool>& flag) { return flag.value_or(false); }

/// The condition of that type, or null.
const Condition* find_condition(const std::vector<Condition>& conditions, std::string_view type);
bool condition_is_true(const std::vector<Condition>& conditions, std::string_view type);
/// Sets or adds; lastTransitionTime moves only when the status does (apimachinery's rule). An
/// absent lastTransitionTime in `wanted` becomes `now`. True when anything changed.
bool set_condition(std::vector<Condition>& conditions, Condition wanted, Time now);
bool remove_condition(std::vector<Condition>& conditions, std::string_view type);

/// managedBy is absent or ours; any other value, also "", leaves the object to someone else.
bool is_managed_by_us(const Opt<std::string>& managed_by);

}  // namespace manta::ray
