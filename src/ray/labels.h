// Names that cross the process's edge: label, annotation and finalizer keys, environment variables,
// ports, container and volume names. Only names that two files need stand here. Source: spec/03 §1.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace manta::ray {

// ---- API ---------------------------------------------------------------------------------------
inline constexpr std::string_view kGroupVersion = "ray.io/v1";
inline constexpr std::string_view kManagedByOperator = "ray.io/kuberay-operator";
inline constexpr std::string_view kManagedByMultiKueue = "kueue.x-k8s.io/multikueue";

// ---- Label keys and values ---------------------------------------------------------------------
inline constexpr std::string_view kLabelCluster = "ray.io/cluster";
inline constexpr std::string_view kLabelNodeType = "ray.io/node-type";
inline constexpr std::string_view kLabelGroup = "ray.io/group";
inline constexpr std::string_view kLabelIsRayNode = "ray.io/is-ray-node";
inline constexpr std::string_view kLabelIdentifier = "ray.io/identifier";
inline constexpr std::string_view kLabelServe = "ray.io/serve";
inline constexpr std::string_view kLabelHeadlessWorkerService = "ray.io/headless-worker-svc";
inline constexpr std::string_view kLabelOriginCrName = "ray.io/originated-from-cr-name";
inline constexpr std::string_view kLabelOriginCrd = "ray.io/originated-from-crd";
inline constexpr std::string_view kLabelJobSubmissionMode = "ray.io/job-submission-mode";
inline constexpr std::string_view kLabelCronJobName = "ray.io/cronjob-name";
inline constexpr std::string_view kLabelReplicaName = "ray.io/worker-group-replica-name";
inline constexpr std::string_view kLabelReplicaIndex = "ray.io/worker-group-replica-index";
inline constexpr std::string_view kLabelHostIndex = "ray.io/replica-host-index";
inline constexpr std::string_view kLabelPriorityClass = "ray.io/priority-class-name";
inline constexpr std::string_view kLabelGangScheduling = "ray.io/gang-scheduling-enabled";
inline constexpr std::string_view kLabelAppName = "app.kubernetes.io/name";
inline constexpr std::string_view kLabelCreatedBy = "app.kubernetes.io/created-by";
inline constexpr std::string_view kLabelComponent = "app.kubernetes.io/component";
inline constexpr std::string_view kLabelValueYes = "yes";    // of kLabelIsRayNode
inline constexpr std::string_view kLabelValueTrue = "true";  // of kLabelServe
inline constexpr std::string_view kLabelValueFalse = "false";
inline constexpr std::string_view kAppName = "kuberay";
inline constexpr std::string_view kCreatedBy = "kuberay-operator";

// Values of kLabelNodeType.
inline constexpr std::string_view kNodeTypeHead = "head";
inline constexpr std::string_view kNodeTypeWorker = "worker";
inline constexpr std::string_view kNodeTypeRedisCleanup = "redis-cleanup";

// Values of kLabelOriginCrd.
inline constexpr std::string_view kKindRayCluster = "RayCluster";
inline constexpr std::string_view kKindRayJob = "RayJob";
inline constexpr std::string_view kKindRayService = "RayService";
inline constexpr std::string_view kKindRayCronJob = "RayCronJob";

// ---- Annotation keys ---------------------------------------------------------------------------
inline constexpr std::string_view kAnnotationOverwriteCmd = "ray.io/overwrite-container-cmd";
inline constexpr std::string_view kAnnotationFtEnabled = "ray.io/ft-enabled";
inline constexpr std::string_view kAnnotationExternalStorageNamespace =
    "ray.io/external-storage-namespace";
inline constexpr std::string_view kAnnotationGcsFtDeletionTimeout =
    "ray.io/gcs-ft-deletion-timeout";
inline constexpr std::string_view kAnnotationEnableServeService = "ray.io/enable-serve-service";
inline constexpr std::string_view kAnnotationDisableHeadRestart =
    "ray.io/disable-provisioned-head-restart";
inline constexpr std::string_view kAnnotationSpecHash =
    "ray.io/hash-without-replicas-and-workers-to-delete";
inline constexpr std::string_view kAnnotationNumWorkerGroups = "ray.io/num-worker-groups";
inline constexpr std::string_view kAnnotationVersion = "ray.io/kuberay-version";
inline constexpr std::string_view kAnnotationRecreateHash = "ray.io/upgrade-strategy-recreate-hash";
inline constexpr std::string_view kAnnotationInitializingTimeout = "ray.io/initializing-timeout";
/// Ours: since when a RayService's cluster has not been needed (RFC 3339).
inline constexpr std::string_view kAnnotationDroppedSince = "ray.io/dropped-since";
inline constexpr std::string_view kAnnotationCronJobTimestamp =
    "ray.io/cronjob-scheduled-timestamp";
inline constexpr std::string_view kAnnotationIngressClass = "kubernetes.io/ingress.class";
// Ours, behind gates.
inline constexpr std::string_view kAnnotationWorkerAttempt = "ray.io/worker-attempt";    // RC-10
inline constexpr std::string_view kAnnotationServiceApplied = "ray.io/service-applied";  // RC-23

// ---- Finalizers --------------------------------------------------------------------------------
inline constexpr std::string_view kFinalizerRedisCleanup = "ray.io/gcs-ft-redis-cleanup-finalizer";
inline constexpr std::string_view kFinalizerRayJob = "ray.io/rayjob-finalizer";
inline constexpr std::string_view kFinalizerRayService = "ray.io/rayservice-finalizer";

// ---- Groups, containers, volumes ---------------------------------------------------------------
inline constexpr std::string_view kHeadGroup = "headgroup";
inline constexpr std::string_view kSubmitterGroup = "submittergroup";
inline constexpr std::string_view kContainerAutoscaler = "autoscaler";
inline constexpr std::string_view kContainerSubmitter = "ray-job-submitter";
inline constexpr std::string_view kContainerCollector = "ray-history-collector";
inline constexpr std::string_view kContainerWaitGcs = "wait-gcs-ready";
inline constexpr std::string_view kContainerWaitTls = "wait-for-tls-ip-san";
inline constexpr std::string_view kVolumeSharedMemory = "shared-mem";
inline constexpr std::string_view kPathSharedMemory = "/dev/shm";
inline constexpr std::string_view kVolumeRayLogs = "ray-logs";
inline constexpr std::string_view kPathRayLogs = "/tmp/ray";
inline constexpr std::string_view kVolumeTls = "ray-tls";
inline constexpr std::string_view kPathTls = "/etc/ray/tls";
inline constexpr std::string_view kVolumeToken = "ray-token";
inline constexpr std::string_view kPathToken = "/var/run/secrets/ray.io/serviceaccount";
inline constexpr std::string_view kVolumeGcsStorage = "gcs-storage";
inline constexpr std::string_view kPathGcsStorage = "/data/gcs";
inline constexpr std::string_view kGcsPvcSuffix = "-gcs-pvc";
inline constexpr std::string_view kAuthTokenKey = "auth_token";
inline constexpr std::string_view kHeadlessSuffix = "headless";
inline constexpr std::string_view kDefaultServeApplication = "default";
inline constexpr std::string_view kLocalHost = "127.0.0.1";
inline constexpr std::string_view kDefaultClusterDomain = "cluster.local";

// ---- Ports -------------------------------------------------------------------------------------
inline constexpr std::string_view kPortGcsName = "gcs-server";
inline constexpr std::string_view kPortDashboardName = "dashboard";
inline constexpr std::string_view kPortClientName = "client";
inline constexpr std::string_view kPortMetricsName = "metrics";
inline constexpr std::string_view kPortServeName = "serve";
inline constexpr std::int32_t kPortGcs = 6379;
inline constexpr std::int32_t kPortDashboard = 8265;
inline constexpr std::int32_t kPortClient = 10001;
inline constexpr std::int32_t kPortMetrics = 8080;
inline constexpr std::int32_t kPortServe = 8000;
inline constexpr std::int32_t kPortDashboardAgent = 52365;
inline constexpr std::int32_t kPortCollectorEvents = 8084;
inline constexpr std::string_view kServiceAppProtocol = "tcp";

// ---- rayStartParams with special handling
// --------------------------------------------------------
inline constexpr std::string_view kParamPort = "port";
inline constexpr std::string_view kParamAddress = "address";
inline constexpr std::string_view kParamBlock = "block";
inline constexpr std::string_view kParamDashboardHost = "dashboard-host";
inline constexpr std::string_view kParamDashboardPort = "dashboard-port";
inline constexpr std::string_view kParamDashboardAgentPort = "dashboard-agent-listen-port";
inline constexpr std::string_view kParamMetricsPort = "metrics-export-port";
inline constexpr std::string_view kParamNumCpus = "num-cpus";
inline constexpr std::string_view kParamNumGpus = "num-gpus";
inline constexpr std::string_view kParamMemory = "memory";
inline constexpr std::string_view kParamResources = "resources";
inline constexpr std::string_view kParamLabels = "labels";
inline constexpr std::string_view kParamNoMonitor = "no-monitor";
inline constexpr std::string_view kParamPlasmaDirectory = "plasma-directory";
inline constexpr std::string_view kParamRedisUsername = "redis-username";
inline constexpr std::string_view kParamRedisPassword = "redis-password";
inline constexpr std::string_view kParamAutoscalingConfig = "autoscaling-config";
inline constexpr std::string_view kParamLogColor = "log-color";
inline constexpr std::string_view kParamIncludeDashboard = "include-dashboard";
inline constexpr std::string_view kParamIncludeLogMonitor = "include-log-monitor";

// ---- Environment variables of Ray containers
// -----------------------------------------------------
inline constexpr std::string_view kEnvClusterName = "RAY_CLUSTER_NAME";
inline constexpr std::string_view kEnvClusterNamespace = "RAY_CLUSTER_NAMESPACE";
inline constexpr std::string_view kEnvCloudInstanceId = "RAY_CLOUD_INSTANCE_ID";
inline constexpr std::string_view kEnvNodeTypeName = "RAY_NODE_TYPE_NAME";
inline constexpr std::string_view kEnvGenRayStartCmd = "KUBERAY_GEN_RAY_START_CMD";
inline constexpr std::string_view kEnvRayPort = "RAY_PORT";
inline constexpr std::string_view kEnvRayAddress = "RAY_ADDRESS";
inline constexpr std::string_view kEnvFqRayIp = "FQ_RAY_IP";
inline constexpr std::string_view kEnvRayIp = "RAY_IP";
inline constexpr std::string_view kEnvUsageStatsInUse = "RAY_USAGE_STATS_KUBERAY_IN_USE";
inline constexpr std::string_view kEnvUsageStatsExtraTags = "RAY_USAGE_STATS_EXTRA_TAGS";
inline constexpr std::string_view kEnvDashboardDiskUsage = "RAY_DASHBOARD_ENABLE_K8S_DISK_USAGE";
inline constexpr std::string_view kEnvEnableAutoscalerV2 = "RAY_enable_autoscaler_v2";
inline constexpr std::string_view kEnvExternalStorageNamespace = "RAY_external_storage_namespace";
inline constexpr std::string_view kEnvRedisAddress = "RAY_REDIS_ADDRESS";
inline constexpr std::string_view kEnvRedisUsername = "REDIS_USERNAME";
inline constexpr std::string_view kEnvRedisPassword = "REDIS_PASSWORD";
inline constexpr std::string_view kEnvGcsStorage = "RAY_gcs_storage";
inline constexpr std::string_view kEnvGcsStoragePath = "RAY_gcs_storage_path";
inline constexpr std::string_view kEnvGcsReconnectTimeout =
    "RAY_gcs_rpc_server_reconnect_timeout_s";
inline constexpr std::string_view kEnvTaskDeathInfoTimeout =
    "RAY_timeout_ms_task_wait_for_death_info";
inline constexpr std::string_view kEnvGcsRequestTimeout = "RAY_gcs_server_request_timeout_seconds";
inline constexpr std::string_view kEnvServeKvTimeout = "RAY_SERVE_KV_TIMEOUT_S";
inline constexpr std::string_view kEnvAuthMode = "RAY_AUTH_MODE";
inline constexpr std::string_view kEnvAuthToken = "RAY_AUTH_TOKEN";
inline constexpr std::string_view kEnvK8sTokenAuth = "RAY_ENABLE_K8S_TOKEN_AUTH";
inline constexpr std::string_view kEnvUseTls = "RAY_USE_TLS";
inline constexpr std::string_view kEnvTlsCert = "RAY_TLS_SERVER_CERT";
inline constexpr std::string_view kEnvTlsKey = "RAY_TLS_SERVER_KEY";
inline constexpr std::string_view kEnvTlsCa = "RAY_TLS_CA_CERT";
inline constexpr std::string_view kEnvRayEvent = "RAY_enable_ray_event";
inline constexpr std::string_view kEnvCoreWorkerRayEvent =
    "RAY_enable_core_worker_ray_event_to_aggregator";
inline constexpr std::string_view kEnvEventsExportAddress =
    "RAY_DASHBOARD_AGGREGATOR_AGENT_EVENTS_EXPORT_ADDR";
inline constexpr std::string_view kEnvExposableEventTypes =
    "RAY_DASHBOARD_AGGREGATOR_AGENT_EXPOSABLE_EVENT_TYPES";
inline constexpr std::string_view kEnvHttpExposableEventTypes =
    "RAY_DASHBOARD_AGGREGATOR_AGENT_PUBLISHER_HTTP_ENDPOINT_EXPOSABLE_EVENT_TYPES";
inline constexpr std::string_view kRayEventTypes =
    "TASK_DEFINITION_EVENT,TASK_LIFECYCLE_EVENT,ACTOR_TASK_DEFINITION_EVENT,TASK_PROFILE_EVENT,"
    "DRIVER_JOB_DEFINITION_EVENT,DRIVER_JOB_LIFECYCLE_EVENT,ACTOR_DEFINITION_EVENT,"
    "ACTOR_LIFECYCLE_EVENT,NODE_DEFINITION_EVENT,NODE_LIFECYCLE_EVENT";
inline constexpr std::string_view kEnvUlimitOpenFiles = "RAY_START_ULIMIT_OPEN_FILES";

// Autoscaler, collector, submitter, Redis cleanup.
inline constexpr std::string_view kEnvHeadPodName = "RAY_HEAD_POD_NAME";
inline constexpr std::string_view kEnvCrdVersion = "KUBERAY_CRD_VER";
inline constexpr std::string_view kEnvGenAutoscalerCmd = "KUBERAY_GEN_AUTOSCALER_START_CMD";
inline constexpr std::string_view kEnvPodIp = "POD_IP";
inline constexpr std::string_view kEnvRayRole = "RAY_ROLE";
inline constexpr std::string_view kEnvEventsPort = "EVENTS_PORT";
inline constexpr std::string_view kEnvOwnerKind = "OWNER_KIND";
inline constexpr std::string_view kEnvOwnerName = "OWNER_NAME";
inline constexpr std::string_view kEnvDashboardAddress = "RAY_DASHBOARD_ADDRESS";
inline constexpr std::string_view kEnvSubmissionId = "RAY_JOB_SUBMISSION_ID";
inline constexpr std::string_view kEnvPythonUnbuffered = "PYTHONUNBUFFERED";
inline constexpr std::string_view kEnvRedisConnectRetries = "RAY_redis_db_connect_retries";
inline constexpr std::string_view kEnvRedisConnectWait = "RAY_redis_db_connect_wait_milliseconds";

// ---- Environment variables of the operator
// -------------------------------------------------------
inline constexpr std::string_view kOperatorEnvInitContainer = "ENABLE_INIT_CONTAINER_INJECTION";
inline constexpr std::string_view kOperatorEnvProbes = "ENABLE_PROBES_INJECTION";
inline constexpr std::string_view kOperatorEnvLoginShell = "ENABLE_LOGIN_SHELL";
inline constexpr std::string_view kOperatorEnvHeadPodName = "ENABLE_DETERMINISTIC_HEAD_POD_NAME";
inline constexpr std::string_view kOperatorEnvHeadClusterIp = "ENABLE_RAY_HEAD_CLUSTER_IP_SERVICE";
inline constexpr std::string_view kOperatorEnvClusterDomain = "CLUSTER_DOMAIN";
inline constexpr std::string_view kOperatorEnvOpenShiftIngress = "USE_INGRESS_ON_OPENSHIFT";
inline constexpr std::string_view kOperatorEnvRandomDelete = "ENABLE_RANDOM_POD_DELETE";
inline constexpr std::string_view kOperatorEnvRedisCleanup = "ENABLE_GCS_FT_REDIS_CLEANUP";
inline constexpr std::string_view kOperatorEnvZeroDowntime = "ENABLE_ZERO_DOWNTIME";
inline constexpr std::string_view kOperatorEnvRequeueSeconds =
    "RAYCLUSTER_DEFAULT_REQUEUE_SECONDS_ENV";
inline constexpr std::string_view kOperatorEnvDeleteRayJob = "DELETE_RAYJOB_CR_AFTER_JOB_FINISHES";
inline constexpr std::string_view kOperatorEnvJobTransitionGrace =
    "RAYJOB_DEPLOYMENT_STATUS_TRANSITION_GRACE_PERIOD_SECONDS";
inline constexpr std::string_view kOperatorEnvJobCheckTimeout =
    "RAYJOB_STATUS_CHECK_TIMEOUT_SECONDS";
inline constexpr std::string_view kOperatorEnvJobDefaultDeletion = "RAYJOB_DEFAULT_DELETION_RULE";
inline constexpr std::string_view kOperatorEnvLostHeadWait = "RAYCLUSTER_LOST_HEAD_WAIT_SECONDS";
inline constexpr std::string_view kOperatorEnvWebhooks = "ENABLE_WEBHOOKS";

// ---- Name limits, bytes
// --------------------------------------------------------------------------
inline constexpr std::size_t kMaxRayClusterName = 53;
inline constexpr std::size_t kMaxRayServiceName = 47;
inline constexpr std::size_t kMaxRayJobName = 47;
inline constexpr std::size_t kMaxRayCronJobName = 36;

}  // namespace manta::ray
