// RayCluster: one row a refusal of spec/01 §6.1, and what must still pass.
#include "ray/testing.h"
#include "ray/validation.h"

#include <gtest/gtest.h>

namespace manta::ray {
namespace {

constexpr std::string_view kValid = R"(
rayVersion: 2.52.0
headGroupSpec:
  rayStartParams: {}
  template: {spec: {containers: [{name: h}]}}
workerGroupSpecs:
- {groupName: w, minReplicas: 0, maxReplicas: 2, template: {spec: {containers: [{name: w}]}}}
)";

constexpr ValidationGates kAll{
    .embedded_gcs_storage = true, .history_server = true, .network_policy = true, .mtls = true};

// A merge patch cannot reach into a list, so these spell worker groups and head containers out.
std::string worker(std::string_view more) {
  Json group = yaml(
      "{groupName: w, minReplicas: 0, maxReplicas: 2, template: {spec: {containers: [{name: "
      "w}]}}}");
  merge_patch(group, yaml("{" + std::string(more) + "}"));
  return "workerGroupSpecs: [" + dump_json(group) + "]";
}
std::string head_env(std::string_view entries) {
  return "headGroupSpec: {template: {spec: {containers: [{name: h, env: [" + std::string(entries) +
         "]}]}}}";
}

struct Case {
  const char* name;
  std::string patch;
  std::string message;  // "" when valid
  StringMap annotations = {};
  ValidationGates gates = kAll;
};

std::string judge(const Case& test) {
  Json spec = yaml(kValid);
  merge_patch(spec, yaml(test.patch));
  const auto parsed = parse_part<RayClusterSpec>(spec, "spec");
  EXPECT_TRUE(parsed) << (parsed ? "" : parsed.error().message);
  return message_of(validate_cluster_spec(*parsed, test.annotations, test.gates));
}

class ClusterSpec : public testing::TestWithParam<Case> {};
TEST_P(ClusterSpec, Row) { EXPECT_EQ(judge(GetParam()), GetParam().message); }
constexpr auto kName = [](const auto& info) { return std::string(info.param.name); };

// ---- B.1-4: groups
// -------------------------------------------------------------------------------
const std::string kBoth =
    "resource fields should not be set in both rayStartParams and Resources for ";
const std::string kLabelName =
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an "
    "alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for "
    "validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
const std::string kLabelValue =
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', "
    "and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or "
    "'12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";
const Case kGroups[] = {
    {"Valid", "{}", ""},
    {"NoSpecAtAll", "{headGroupSpec: null, workerGroupSpecs: null}",
     "headGroupSpec should have at least one container"},
    {"HeadWithoutContainers", "headGroupSpec: {template: {spec: {containers: []}}}",
     "headGroupSpec should have at least one container"},
    {"HeadResourcesTwice",
     "headGroupSpec: {rayStartParams: {num-cpus: '1'}, resources: {CPU: '1'}}",
     kBoth + "Head group; please use only one: rayStartParams has num-cpus, Resources has CPU"},
    {"EmptyParamIsNoConflict",
     "headGroupSpec: {rayStartParams: {num-cpus: ''}, resources: {CPU: '1'}}", ""},
    {"HeadLabelsParam", "headGroupSpec: {rayStartParams: {labels: ''}}",
     "rayStartParams['labels'] is not supported for Head group; please use the top-level Labels "
     "field instead"},
    {"HeadLabelFaultsAreJoined", "headGroupSpec: {labels: {'a b': x, c: 'd e'}}",
     "invalid label key for Head group: 'a b', error: name part " + kLabelName +
         "; invalid label value for key 'c' in Head group: 'd e', error: " + kLabelValue},
    {"WorkerWithoutContainers", worker("template: null"),
     "workerGroupSpec should have at least one container: w has none"},
    {"NoMin", worker("minReplicas: null"),
     "worker group w must set both minReplicas and maxReplicas when autoscaling is disabled"},
    {"NoMinAutoscaled", "enableInTreeAutoscaling: true\n" + worker("minReplicas: null"), ""},
    {"NegativeMin", worker("minReplicas: -1"), "worker group w has negative minReplicas -1"},
    {"NegativeMax", worker("maxReplicas: -2"), "worker group w has negative maxReplicas -2"},
    {"TooManyHosts", worker("numOfHosts: 10001"),
     "worker group w has numOfHosts 10001, which must be 10000 at most"},
    {"MinAboveMax", worker("minReplicas: 3"),
     "worker group w has minReplicas 3 greater than maxReplicas 2"},
    {"NegativeReplicasPass", worker("replicas: -4"), ""},
    {"WorkerResourcesTwice", worker("rayStartParams: {memory: '1'}, resources: {memory: '1'}"),
     kBoth + "w group; please use only one: rayStartParams has memory, Resources has memory"},
    {"WorkerLabelsParam", worker("rayStartParams: {labels: a=b}"),
     "rayStartParams['labels'] is not supported for w group; please use the top-level Labels field "
     "instead"},
    {"IdleNegative", worker("idleTimeoutSeconds: -1"),
     "worker group w: idleTimeoutSeconds must be non-negative, got -1"},
    {"IdleWithoutV2", worker("idleTimeoutSeconds: 0"),
     "worker group w: idleTimeoutSeconds is set, but autoscaler v2 is not enabled. Please set "
     ".spec.autoscalerOptions.version to 'v2' (or set RAY_enable_autoscaler_v2 environment "
     "variable to 'true' in the head pod if using KubeRay < 1.4.0)"},
    {"IdleWithV2", "autoscalerOptions: {version: v2}\n" + worker("idleTimeoutSeconds: 0"), ""},
    {"IdleWithEnv",
     "enableInTreeAutoscaling: true\n" + head_env("{name: RAY_enable_autoscaler_v2, value: '1'}") +
         "\n" + worker("idleTimeoutSeconds: 1"),
     ""},
    {"PriorityZero", worker("priority: 0"), ""},
    {"PriorityNoVersion", "rayVersion: ''\n" + worker("priority: 1"),
     "worker group w: priority is set, but RayVersion was not specified. Ray version 2.56.0 or "
     "later is required"},
    {"PriorityBadVersion", "rayVersion: nightly\n" + worker("priority: 1"),
     "worker group w: priority is set, but RayVersion format is invalid: nightly, could not parse "
     "\"nightly\" as version"},
    {"PriorityOldVersion", worker("priority: 1"),
     "worker group w: priority is set, but minimum Ray version is 2.56.0, got 2.52.0"},
    {"PriorityWithoutV2", "rayVersion: 2.56.0\n" + worker("priority: -3"),
     "worker group w: priority is set to -3, but autoscaler v2 is not enabled. Priority is only "
     "supported with autoscaler v2 enabled"},
    {"PriorityWithV2",
     "{rayVersion: 2.56.1rc1, autoscalerOptions: {version: v2}, " + worker("priority: 7") + "}",
     ""},
};
INSTANTIATE_TEST_SUITE_P(Groups, ClusterSpec, testing::ValuesIn(kGroups), kName);

// ---- B.5-8: GCS fault tolerance
// --------------------------------------------------------------------
const std::string kFt = "gcsFaultToleranceOptions: {}\n";
const std::string kRocks = "gcsFaultToleranceOptions: {backend: rocksdb}\n";
std::string instead(std::string_view what, std::string_view where, std::string_view field) {
  return "cannot set `" + std::string(what) + "` " + std::string(where) +
         " when GcsFaultToleranceOptions is enabled - use GcsFaultToleranceOptions." +
         std::string(field) + " instead";
}
const std::string kUsername =
    "cannot set redis username in rayStartParams or environment variables - use "
    "GcsFaultToleranceOptions.RedisUsername instead";
const Case kGcs[] = {
    {"EmptyOptionsPass", kFt, ""},
    {"AnnotationAndOptions",
     kFt,
     "ray.io/ft-enabled annotation and GcsFaultToleranceOptions are both set. Please use only "
     "GcsFaultToleranceOptions to configure GCS fault tolerance",
     {{"ray.io/ft-enabled", "false"}}},
    {"ImplicitRedis", head_env("{name: RAY_REDIS_ADDRESS, value: ''}"),
     "RAY_REDIS_ADDRESS is set which implicitly enables GCS fault tolerance, but "
     "GcsFaultToleranceOptions is not set. Please set GcsFaultToleranceOptions to enable GCS fault "
     "tolerance"},
    {"AnnotatedRedis", head_env("{name: RAY_REDIS_ADDRESS}"), "", {{"ray.io/ft-enabled", "TRUE"}}},
    {"PasswordParam", kFt + "headGroupSpec: {rayStartParams: {redis-password: x}}",
     instead("redis-password", "in rayStartParams", "RedisPassword")},
    {"PasswordEnv", kFt + head_env("{name: REDIS_PASSWORD}"),
     instead("REDIS_PASSWORD", "env var in head Pod", "RedisPassword")},
    {"AddressEnv", kFt + head_env("{name: RAY_REDIS_ADDRESS}"),
     instead("RAY_REDIS_ADDRESS", "env var in head Pod", "RedisAddress")},
    {"NamespaceAnnotation",
     kFt,
     instead("ray.io/external-storage-namespace", "annotation", "ExternalStorageNamespace"),
     {{"ray.io/external-storage-namespace", "x"}}},
    {"StorageWithRedis", "gcsFaultToleranceOptions: {storage: {}}",
     "cannot set GcsFaultToleranceOptions.Storage when backend is 'redis' - it only applies to the "
     "'rocksdb' backend"},
    {"UsernameParam", "headGroupSpec: {rayStartParams: {redis-username: x}}", kUsername},
    {"UsernameEnv", head_env("{name: REDIS_USERNAME}"), kUsername},
    {"RocksGate",
     kRocks,
     "the embedded RocksDB GCS fault tolerance backend (GcsFaultToleranceOptions.Backend: "
     "'rocksdb') requires the GCSFaultToleranceEmbeddedStorage feature gate to be enabled",
     {},
     {}},
    {"Rocks", kRocks, ""},
    {"RocksAddress", "gcsFaultToleranceOptions: {backend: rocksdb, redisAddress: x}",
     "cannot set GcsFaultToleranceOptions.RedisAddress when backend is 'rocksdb'"},
    {"RocksUsername", "gcsFaultToleranceOptions: {backend: rocksdb, redisUsername: {}}",
     "cannot set GcsFaultToleranceOptions.RedisUsername when backend is 'rocksdb'"},
    {"RocksPassword", "gcsFaultToleranceOptions: {backend: rocksdb, redisPassword: {}}",
     "cannot set GcsFaultToleranceOptions.RedisPassword when backend is 'rocksdb'"},
    {"RocksNamespace", "gcsFaultToleranceOptions: {backend: rocksdb, externalStorageNamespace: x}",
     "cannot set GcsFaultToleranceOptions.ExternalStorageNamespace when backend is 'rocksdb'"},
    {"RocksClaimAndSize",
     "gcsFaultToleranceOptions: {backend: rocksdb, storage: {claimName: c, size: 1Gi}}",
     "GcsFaultToleranceOptions.Storage.ClaimName is mutually exclusive with size, "
     "storageClassName, and accessModes"},
    {"RocksClaimAndEmptyClass",
     "gcsFaultToleranceOptions: {backend: rocksdb, storage: {claimName: c, storageClassName: ''}}",
     "GcsFaultToleranceOptions.Storage.ClaimName is mutually exclusive with size, "
     "storageClassName, and accessModes"},
    {"RocksClaimAndPath",
     "gcsFaultToleranceOptions: {backend: rocksdb, storage: {claimName: c, subPath: p}}", ""},
    {"RocksEnv", kRocks + head_env("{name: RAY_gcs_storage_path}"),
     "cannot set `RAY_gcs_storage` or `RAY_gcs_storage_path` env var in head Pod when the embedded "
     "GCS FT backend is used - these are managed by KubeRay"},
    {"RocksMount",
     kRocks + "headGroupSpec: {template: {spec: {containers: [{name: h, volumeMounts: [{name: v, "
              "mountPath: /data/gcs}]}]}}}",
     "cannot set a volume mount named \"gcs-storage\" or mounted at /data/gcs in the head "
     "container when the embedded GCS FT backend is used - it is managed by KubeRay"},
    {"RocksVolume", kRocks + "headGroupSpec: {template: {spec: {volumes: [{name: gcs-storage}]}}}",
     "cannot set a volume named \"gcs-storage\" in the head Pod when the embedded GCS FT backend "
     "is used - it is managed by KubeRay"},
};
INSTANTIATE_TEST_SUITE_P(Gcs, ClusterSpec, testing::ValuesIn(kGcs), kName);

// ---- B.9-13: autoscaler
// ----------------------------------------------------------------------------
const std::string kScaled = "enableInTreeAutoscaling: true\n";
const Case kAutoscaler[] = {
    {"SuspendNeedsGate",
     worker("suspend: true"),
     "worker group w can be suspended only when the RayJobDeletionPolicy feature gate is enabled",
     {},
     {.job_deletion_policy = false}},
    {"Suspend", worker("suspend: true"), ""},
    {"EnvWithoutAutoscaling", head_env("{name: RAY_enable_autoscaler_v2, value: 'true'}"),
     "environment variable RAY_enable_autoscaler_v2 cannot be set to 'true' when "
     "enableInTreeAutoscaling is false. Please set enableInTreeAutoscaling: true to use autoscaler "
     "v2"},
    {"CapitalTrueDoesNotCount", head_env("{name: RAY_enable_autoscaler_v2, value: 'True'}"), ""},
    {"SuspendedAndScaled", kScaled + worker("suspend: true"),
     "worker group w cannot be suspended with Autoscaler enabled"},
    {"VersionAndEnv",
     kScaled + "autoscalerOptions: {version: v1}\n" + head_env("{name: RAY_enable_autoscaler_v2}"),
     "both .spec.autoscalerOptions.version and head Pod env var RAY_enable_autoscaler_v2 are set, "
     "please only use the former"},
    {"HeadRestarts",
     kScaled + "autoscalerOptions: {version: v2}\nheadGroupSpec: {template: {spec: {restartPolicy: "
               "Always}}}",
     "restartPolicy for head Pod should be Never or unset when using autoscaler V2: got Always"},
    {"WorkerRestarts",
     kScaled + "autoscalerOptions: {version: v2}\n" +
         worker("template: {spec: {restartPolicy: OnFailure, containers: [{name: w}]}}"),
     "restartPolicy for worker group w should be Never or unset when using autoscaler V2: got "
     "OnFailure"},
    {"WorkerRestartsV1",
     kScaled + "autoscalerOptions: {version: v1}\n" +
         worker("template: {spec: {restartPolicy: OnFailure, containers: [{name: w}]}}"),
     ""},
    {"IdleNegativeEvenWhenOff", "autoscalerOptions: {idleTimeoutSeconds: -9}",
     "autoscalerOptions.idleTimeoutSeconds must be non-negative, got -9"},
    {"ManagedCommand", "autoscalerOptions: {env: [{name: KUBERAY_GEN_AUTOSCALER_START_CMD}]}",
     "autoscalerOptions.env must not contain KUBERAY_GEN_AUTOSCALER_START_CMD: it is managed by "
     "KubeRay and injected automatically into the autoscaler container"},
};
INSTANTIATE_TEST_SUITE_P(Autoscaler, ClusterSpec, testing::ValuesIn(kAutoscaler), kName);

// ---- B.14: history server
// --------------------------------------------------------------------------
std::string collector(std::string_view env) {
  return "historyServerOptions: {collectorOptions: {image: i, env: [" + std::string(env) + "]}}\n";
}
std::string backend(std::string_view name, std::string_view more = "") {
  return collector("{name: STORAGE_BACKEND, value: " + std::string(name) + "}" +
                   (more.empty() ? "" : ", " + std::string(more)));
}
const Case kHistory[] = {
    {"HistoryGate",
     "historyServerOptions: {}",
     "RayClusterHistoryServer feature gate is not enabled",
     {},
     {}},
    {"NoCollector", "historyServerOptions: {}",
     "historyServerOptions.collectorOptions must be set"},
    {"NoImage", "historyServerOptions: {collectorOptions: {image: ''}}",
     "historyServerOptions.collectorOptions.image must be set"},
    {"ManagedEnv", collector("{name: EVENTS_PORT}, {name: RAY_ROLE}"),
     "historyServerOptions.collectorOptions.env must not contain RAY_ROLE: it is managed by "
     "KubeRay and injected automatically into the collector container"},
    {"BackendFromElsewhere", collector("{name: STORAGE_BACKEND, valueFrom: {}}"),
     "STORAGE_BACKEND environment variable must be set with a literal string value in "
     "historyServerOptions.collectorOptions.env"},
    {"Gcs", backend("gcs"),
     "GCS_BUCKET environment variable must be set when STORAGE_BACKEND is GCS"},
    {"GcsFromElsewhere", backend("GCS", "{name: GCS_BUCKET, valueFrom: {}}"), ""},
    {"S3", backend("s3"), "S3_REGION environment variable must be set when STORAGE_BACKEND is S3"},
    {"LastBackendWins", backend("s3", "{name: STORAGE_BACKEND, value: other}"), ""},
    {"Azure", backend("AzureBlob"),
     "either AZURE_STORAGE_CONNECTION_STRING or AZURE_STORAGE_ACCOUNT_URL environment variable "
     "must be set when STORAGE_BACKEND is AZUREBLOB"},
    {"AzureConnection",
     backend("azureblob", "{name: AZURE_STORAGE_AUTH_MODE, value: ' Connection_String '}"),
     "AZURE_STORAGE_CONNECTION_STRING environment variable must be set when STORAGE_BACKEND is "
     "AZUREBLOB and AZURE_STORAGE_AUTH_MODE is connection_string"},
    {"AzureIdentity", backend("azureblob", "{name: AZURE_STORAGE_AUTH_MODE, value: default}"),
     "AZURE_STORAGE_ACCOUNT_URL environment variable must be set when STORAGE_BACKEND is AZUREBLOB "
     "and AZURE_STORAGE_AUTH_MODE is default"},
    {"Aliyun", backend("aliyunoss", "{name: OSS_BUCKET, value: b}"),
     "OSS_ENDPOINT environment variable must be set when STORAGE_BACKEND is ALIYUNOSS"},
    {"OtherBackend", backend("floppy"), ""},
    {"HeadCollector",
     backend("floppy") + "headGroupSpec: {template: {spec: {containers: [{name: h}, {name: "
                         "ray-history-collector}]}}}",
     "head pod template must not define a container with name 'ray-history-collector' when history "
     "server collector options are enabled"},
    {"WorkerCollector",
     backend("floppy") + worker("template: {spec: {containers: [{name: ray-history-collector}]}}"),
     "worker group w pod template must not define a container with name 'ray-history-collector' "
     "when history server collector options are enabled"},
};
INSTANTIATE_TEST_SUITE_P(History, ClusterSpec, testing::ValuesIn(kHistory), kName);

// ---- B.15: auth
// ------------------------------------------------------------------------------------
const Case kAuth[] = {
    {"Token", "authOptions: {mode: token}", ""},
    {"NoMode", "{rayVersion: '', authOptions: {}}", ""},
    {"TokenNoVersion", "{rayVersion: '', authOptions: {mode: token}}",
     "authOptions.mode is 'token' but RayVersion was not specified. Ray version 2.52.0 or later is "
     "required"},
    {"TokenBadVersion", "{rayVersion: '2', authOptions: {mode: token}}",
     "authOptions.mode is 'token' but RayVersion format is invalid: 2, illegal version string "
     "\"2\""},
    {"TokenOldVersion", "{rayVersion: 2.51.9, authOptions: {mode: token}}",
     "authOptions.mode is 'token' but minimum Ray version is 2.52.0, got 2.51.9"},
    {"KubernetesOldVersion", "authOptions: {mode: token, enableK8sTokenAuth: true}",
     "authOptions.enableK8sTokenAuth is enabled but minimum Ray version is 2.55.0, got 2.52.0"},
    {"KubernetesAndSecret",
     "{rayVersion: '2.55', authOptions: {mode: token, enableK8sTokenAuth: true, secretName: s}}",
     "authOptions.enableK8sTokenAuth is enabled and authOptions.secretName is also set: got s"},
    {"KubernetesWithoutToken", "authOptions: {mode: disabled, enableK8sTokenAuth: true}",
     "authOptions.enableK8sTokenAuth is enabled but authOptions.mode not set to 'token': got "
     "'disabled'"},
};
INSTANTIATE_TEST_SUITE_P(Auth, ClusterSpec, testing::ValuesIn(kAuth), kName);

// ---- B.16-17: network policy, TLS
// ------------------------------------------------------------------
const std::string kAutomatic = " when tlsOptions is set - the operator manages TLS configuration ";
const std::string kTls = "tlsOptions: {enabled: true}\n";
const Case kNetwork[] = {
    {"PolicyGate",
     "networkPolicy: {}",
     "spec.networkPolicy requires the RayClusterNetworkPolicy feature gate to be enabled",
     {},
     {}},
    {"Policy", "networkPolicy: {head: {ingressRules: [{}], egressRules: [{}]}}", ""},
    {"HeadIngress", "networkPolicy: {mode: DenyAllEgress, head: {ingressRules: [{}]}}",
     "networkPolicy.head.ingressRules cannot be set when mode is \"DenyAllEgress\" (ingress is not "
     "restricted)"},
    {"WorkerEgress", "networkPolicy: {mode: DenyAllIngress, worker: {egressRules: [{}]}}",
     "networkPolicy.worker.egressRules cannot be set when mode is \"DenyAllIngress\" (egress is "
     "not restricted)"},
    {"UpperCaseGroup", "networkPolicy: {}\n" + worker("groupName: W"),
     "worker group name \"W\" must be a valid DNS1123 label when networkPolicy is enabled (it is "
     "embedded in the NetworkPolicy name): [a lowercase RFC 1123 label must consist of lower case "
     "alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. "
     "'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')]"},
    {"UpperCaseGroupWithoutPolicy", worker("groupName: W"), ""},
    {"GroupRules",
     "networkPolicy: {mode: DenyAllEgress, workerGroups: [{groupName: w, ingressRules: [{}]}]}",
     "networkPolicy.workerGroups[\"w\"].ingressRules cannot be set when mode is \"DenyAllEgress\" "
     "(ingress is not restricted)"},
    {"UnknownGroup", "networkPolicy: {workerGroups: [{groupName: x}]}",
     "networkPolicy.workerGroups[\"x\"] does not match any group name in workerGroupSpecs"},
    {"TlsGate",
     "tlsOptions: {enabled: false}",
     "spec.tlsOptions requires the RayClusterMTLS feature gate to be enabled",
     {},
     {}},
    {"TlsOff", "tlsOptions: {}\n" + head_env("{name: RAY_USE_TLS}"), ""},
    {"TlsHeadEnv", kTls + head_env("{name: RAY_TLS_CA_CERT}, {name: RAY_TLS_SERVER_KEY}"),
     "cannot set RAY_TLS_SERVER_KEY environment variable in head Pod" + kAutomatic +
         "automatically"},
    {"TlsHeadMount",
     kTls + "headGroupSpec: {template: {spec: {containers: [{name: h, volumeMounts: [{name: "
            "ray-tls}]}]}}}",
     "cannot use volume mount named \"ray-tls\" in head Pod" + kAutomatic + "automatically"},
    {"TlsWorkerMount",
     kTls + worker("template: {spec: {containers: [{name: w, volumeMounts: [{name: v, mountPath: "
                   "/etc/ray/tls}]}]}}"),
     "cannot use volume mount at path \"/etc/ray/tls\" in worker group \"w\"" + kAutomatic +
         "automatically"},
    {"TlsAutoscalerEnv", kTls + "autoscalerOptions: {env: [{name: RAY_USE_TLS}]}",
     "cannot set RAY_USE_TLS environment variable in autoscalerOptions.env" + kAutomatic +
         "for the autoscaler automatically"},
    {"TlsAutoscalerMount", kTls + "autoscalerOptions: {volumeMounts: [{name: ray-tls}]}",
     "cannot use volume mount named \"ray-tls\" in autoscalerOptions.volumeMounts" + kAutomatic +
         "automatically"},
};
INSTANTIATE_TEST_SUITE_P(Network, ClusterSpec, testing::ValuesIn(kNetwork), kName);

// ---- A, D, E
// ---------------------------------------------------------------------------------------
std::string judge_name(std::string name) {
  kube::ObjectMeta meta;
  meta.key.name = std::move(name);
  return message_of(validate_cluster_metadata(meta));
}

TEST(ClusterMetadata, Name) {
  EXPECT_EQ(judge_name(std::string(53, 'a')), "");
  EXPECT_EQ(judge_name(std::string(54, 'a')),
            "RayCluster name should be no more than 53 characters: got 54");
  EXPECT_EQ(judge_name("1a"),
            "RayCluster name should be a valid DNS1035 label: [a DNS-1035 label must consist of "
            "lower case alphanumeric characters or '-', start with an alphabetic character, and "
            "end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for "
            "validation is '[a-z]([-a-z0-9]*[a-z0-9])?')]");
}

TEST(ClusterUpgrade, OnlyForClustersOfTheirOwn) {
  const auto recreate = part<RayClusterSpec>("upgradeStrategy: {type: Recreate}");
  EXPECT_EQ(message_of(validate_cluster_upgrade(recreate, {})), "");
  EXPECT_EQ(message_of(validate_cluster_upgrade(recreate, {{"ray.io/originated-from-crd", "x"}})),
            "");
  EXPECT_EQ(
      message_of(validate_cluster_upgrade(recreate, {{"ray.io/originated-from-crd", "RayJob"}})),
      "upgradeStrategy cannot be set when RayCluster is created by RayJob");
  EXPECT_EQ(message_of(validate_cluster_upgrade(part<RayClusterSpec>("upgradeStrategy: {}"),
                                                {{"ray.io/originated-from-crd", "RayService"}})),
            "");
  EXPECT_EQ(
      message_of(validate_cluster_upgrade(part<RayClusterSpec>("upgradeStrategy: {type: x}"), {})),
      "The RayCluster spec is invalid: Spec.UpgradeStrategy.Type value x is invalid, valid options "
      "are Recreate or None");
}

TEST(ClusterStatus, SuspendingAndSuspendedExclude) {
  RayClusterStatus status;
  status.conditions = {{.type = "RayClusterSuspending", .status = "True"},
                       {.type = "RayClusterSuspended", .status = "False"}};
  EXPECT_EQ(message_of(validate_cluster_status(status)), "");
  status.conditions[1].status = "True";
  EXPECT_EQ(message_of(validate_cluster_status(status)),
            "invalid RayCluster State: rayv1.RayClusterSuspending and rayv1.RayClusterSuspended "
            "conditions should not be both true");
}

TEST(ClusterWarnings, RestartingWorkersUnderAutoscalerV1) {
  auto spec = part<RayClusterSpec>(
      "{enableInTreeAutoscaling: true, autoscalerOptions: {version: v1}, workerGroupSpecs: "
      "[{groupName: a, template: {spec: {restartPolicy: Always}}}, {groupName: b, template: {}}, "
      "{groupName: c, template: {spec: {restartPolicy: OnFailure}}}]}");
  EXPECT_EQ(autoscaler_v1_warning(spec),
            "restartPolicy for worker groups [a, c] should be Never or unset when using autoscaler "
            "V1");
  spec.autoscalerOptions->version = "v2";
  EXPECT_EQ(autoscaler_v1_warning(spec), std::nullopt);
}

TEST(ClusterWarnings, FirstDuplicateGroup) {
  EXPECT_EQ(duplicate_worker_group(part<RayClusterSpec>(
                "workerGroupSpecs: [{groupName: a}, {groupName: b}, {groupName: a}]")),
            2u);
  EXPECT_EQ(duplicate_worker_group(part<RayClusterSpec>("workerGroupSpecs: [{groupName: a}]")),
            std::nullopt);
}

}  // namespace
}  // namespace manta::ray
