#include "ray/types.h"

#include "base/yaml.h"
#include "ray/reflect.h"
#include "ray/testing.h"

#include <gtest/gtest.h>

#include <random>

namespace manta::ray {
namespace {

using namespace std::chrono_literals;

constexpr std::string_view kFullCluster = R"(
apiVersion: ray.io/v1
kind: RayCluster
metadata:
  name: full
  namespace: team
  uid: u-1
  resourceVersion: "42"
  labels: {a: b}
  annotations: {c: d}
  finalizers: [ray.io/gcs-ft-redis-cleanup-finalizer]
spec:
  upgradeStrategy: {type: Recreate}
  authOptions: {enableK8sTokenAuth: false, secretName: "", mode: token}
  suspend: false
  managedBy: ray.io/kuberay-operator
  autoscalerOptions:
    resources: {limits: {cpu: 500m}}
    image: ray:1
    imagePullPolicy: Always
    securityContext: {runAsUser: 0}
    idleTimeoutSeconds: 0
    upscalingMode: Default
    version: v2
    env: [{name: A, value: "1"}]
    envFrom: [{secretRef: {name: s}}]
    volumeMounts: [{name: v, mountPath: /v}]
    command: [a]
    args: [b, c]
  headServiceAnnotations: {e: f}
  enableInTreeAutoscaling: true
  gcsFaultToleranceOptions:
    backend: rocksdb
    redisUsername: {value: u}
    redisPassword: {valueFrom: {secretKeyRef: {name: s, key: k}}}
    externalStorageNamespace: ns
    redisAddress: redis:6379
    storage: {claimName: c, size: 1Gi, storageClassName: "", accessModes: [ReadWriteOnce], subPath: p, deletionPolicy: Retain}
  historyServerOptions:
    collectorOptions: {image: i, imagePullPolicy: Always, resources: {}, env: [{name: STORAGE_BACKEND, value: S3}]}
  networkPolicy:
    mode: DenyAllIngress
    head: {ingressRules: [{from: []}], egressRules: []}
    worker: {}
    workerGroups: [{groupName: g, egressRules: [{}]}]
  tlsOptions: {enabled: false}
  headGroupSpec:
    template: {spec: {containers: [{name: h, unknown: {kept: [1, 2.50, null]}}]}}
    headService: {spec: {type: NodePort}}
    enableIngress: false
    ingressOptions: {host: h, path: /p, pathType: Prefix, tls: [{hosts: [h]}]}
    resources: {CPU: "1"}
    labels: {l: m}
    rayStartParams: {num-cpus: "1"}
    serviceType: ClusterIP
  rayVersion: 2.52.0
  workerGroupSpecs:
  - suspend: false
    groupName: g
    replicas: 0
    minReplicas: 0
    maxReplicas: 2147483647
    idleTimeoutSeconds: 0
    priority: -1
    resources: {GPU: "1"}
    labels: {n: o}
    rayStartParams: {}
    template: {spec: {containers: [{name: w}]}}
    scaleStrategy: {workersToDelete: [p1, p2]}
    numOfHosts: 2
status:
  state: ready
  desiredCPU: "3"
  desiredMemory: 1536Mi
  desiredGPU: "0"
  desiredTPU: "0"
  lastUpdateTime: "2026-01-02T03:04:05Z"
  stateTransitionTimes: {ready: "2026-01-02T03:04:05Z"}
  endpoints: {client: "10001"}
  head: {podIP: 10.0.0.1, serviceIP: 10.0.0.2, podName: p, serviceName: s}
  reason: r
  conditions:
  - {type: HeadPodReady, status: "True", observedGeneration: 1, lastTransitionTime: "2026-01-02T03:04:05Z", reason: Up, message: m}
  readyWorkerReplicas: 1
  availableWorkerReplicas: 2
  desiredWorkerReplicas: 3
  minWorkerReplicas: 4
  maxWorkerReplicas: 5
  observedGeneration: 6
)";

constexpr std::string_view kFullJob = R"(
apiVersion: ray.io/v1
kind: RayJob
metadata: {name: j}
spec:
  activeDeadlineSeconds: 5
  backoffLimit: 0
  rayClusterSpec: {headGroupSpec: {template: {}, rayStartParams: {}}}
  submitterPodTemplate: {spec: {}}
  metadata: {k: v}
  clusterSelector: {ray.io/cluster: c}
  submitterConfig: {backoffLimit: 0}
  managedBy: kueue.x-k8s.io/multikueue
  deletionStrategy:
    onSuccess: {policy: DeleteSelf}
    onFailure: {}
    deletionRules: [{policy: DeleteNone, condition: {jobStatus: FAILED, ttlSeconds: 3}}, {policy: DeleteSelf, condition: {jobDeploymentStatus: Failed}}]
  entrypoint: python x.py
  runtimeEnvYAML: "pip: []"
  jobId: id
  submissionMode: HTTPMode
  entrypointResources: "{}"
  entrypointNumCpus: 0.1
  entrypointNumGpus: 1.5
  ttlSecondsAfterFinished: 9
  preRunningDeadlineSeconds: 1
  shutdownAfterJobFinishes: true
  suspend: true
status:
  rayJobInfo: {startTime: "2026-01-02T03:04:05Z", endTime: "2026-01-02T03:04:06Z"}
  jobId: id
  rayClusterName: c
  dashboardURL: u
  jobStatus: RUNNING
  jobDeploymentStatus: Running
  reason: r
  message: m
  startTime: "2026-01-02T03:04:05Z"
  endTime: "2026-01-02T03:04:05Z"
  succeeded: 0
  failed: 1
  rayClusterStatus: {desiredCPU: "0", desiredMemory: "0", desiredGPU: "0", desiredTPU: "0", head: {}}
  jobStatusCheckFailureStartTime: "2026-01-02T03:04:05Z"
  observedGeneration: 1
)";

constexpr std::string_view kFullService = R"(
apiVersion: ray.io/v1
kind: RayService
metadata: {name: s}
spec:
  rayClusterDeletionDelaySeconds: 0
  serviceUnhealthySecondThreshold: 1
  deploymentUnhealthySecondThreshold: 2
  serveService: {spec: {}}
  upgradeStrategy: {type: None, clusterUpgradeOptions: {maxSurgePercent: 0, stepSizePercent: 1, intervalSeconds: 2, gatewayClassName: g}}
  managedBy: ray.io/kuberay-operator
  serveConfigV2: "applications: []"
  rayClusterConfig: {headGroupSpec: {template: {}, rayStartParams: {}}}
  excludeHeadPodFromServeSvc: true
  suspend: true
status:
  conditions: []
  lastUpdateTime: "2026-01-02T03:04:05Z"
  serviceStatus: Running
  activeServiceStatus:
    applicationStatuses:
      app: {serveDeploymentStatuses: {d: {status: HEALTHY, message: m}}, status: RUNNING, message: n}
    targetCapacity: 0
    trafficRoutedPercent: 100
    lastTrafficMigratedTime: "2026-01-02T03:04:05Z"
    rayClusterName: c
    rayClusterStatus: {desiredCPU: "0", desiredMemory: "0", desiredGPU: "0", desiredTPU: "0", head: {}}
  pendingServiceStatus:
    rayClusterStatus: {desiredCPU: "0", desiredMemory: "0", desiredGPU: "0", desiredTPU: "0", head: {}}
  numServeEndpoints: 3
  observedGeneration: 4
)";

constexpr std::string_view kFullCronJob = R"(
apiVersion: ray.io/v1
kind: RayCronJob
metadata: {name: c}
spec:
  jobTemplate: {entrypoint: x}
  schedule: "@hourly"
  timeZone: Europe/Berlin
  suspend: false
status: {lastScheduleTime: "2026-01-02T03:04:05Z"}
)";

struct RoundTrip {
  const char* name;
  std::string_view yaml;
  Result<Json> (*through)(const Json&);
};

template <auto parse>
Result<Json> through(const Json& object) {
  auto parsed = parse(object);
  if (!parsed) return failed(parsed.error());
  return to_json(*parsed);
}

const RoundTrip kRoundTrips[] = {{"RayCluster", kFullCluster, through<parse_ray_cluster>},
                                 {"RayJob", kFullJob, through<parse_ray_job>},
                                 {"RayService", kFullService, through<parse_ray_service>},
                                 {"RayCronJob", kFullCronJob, through<parse_ray_cron_job>}};

class TypesRoundTrip : public testing::TestWithParam<RoundTrip> {};

TEST_P(TypesRoundTrip, NothingIsLostOrAdded) {
  Json object = yaml(GetParam().yaml);
  const auto back = GetParam().through(object);
  ASSERT_TRUE(back) << back.error().message;
  // The only fields that may differ: empty lists of the ray types are left out.
  if (Json* status = object.as_object().if_contains("status"))
    if (const auto* list = find(*status, {"conditions"}); list && list->as_array().empty())
      status->as_object().erase("conditions");
  EXPECT_EQ(canonical_json(*back), canonical_json(object));
}

// Whatever others send, parsing answers: a value or an error, never a crash.
TEST_P(TypesRoundTrip, SurvivesRandomDamage) {
  const Json junk[] = {nullptr,
                       true,
                       -1,
                       1e300,
                       "",
                       "text",
                       JsonArray{nullptr},
                       JsonObject{{"a", 1}},
                       Json(std::uint64_t{18446744073709551615u})};
  std::mt19937 random(20260101);  // fixed: a failure replays
  const Json original = yaml(GetParam().yaml);
  for (int round = 0; round < 400; ++round) {
    Json damaged = original;
    for (int hits = 1 + static_cast<int>(random() % 4); hits > 0; --hits) {
      Json* at = &damaged;
      while (true) {
        const bool stop = random() % 6 == 0;
        if (at->is_object() && !at->as_object().empty() && !stop) {
          auto it = at->as_object().begin();
          std::advance(it, random() % at->as_object().size());
          at = &it->value();
        } else if (at->is_array() && !at->as_array().empty() && !stop) {
          at = &at->as_array()[random() % at->as_array().size()];
        } else {
          *at = junk[random() % std::size(junk)];
          break;
        }
      }
    }
    const auto once = GetParam().through(damaged);
    if (!once) {
      EXPECT_FALSE(once.error().message.empty());
      continue;
    }
    // What was understood is stable: reading it again gives the same.
    const auto twice = GetParam().through(*once);
    ASSERT_TRUE(twice) << twice.error().message << "\n" << dump_json(*once);
    EXPECT_EQ(canonical_json(*twice), canonical_json(*once));
  }
}

INSTANTIATE_TEST_SUITE_P(, TypesRoundTrip, testing::ValuesIn(kRoundTrips),
                         [](auto& info) { return info.param.name; });

struct Wrong {
  const char* name;
  std::string_view spec;
  std::string_view message;
};
const Wrong kWrong[] = {
    {"SpecIsText", "text", "spec: must be an object, found \"text\""},
    {"BoolAsText", "suspend: 'yes'", "spec.suspend: must be true or false, found \"yes\""},
    {"TextAsNumber", "rayVersion: 2.5", "spec.rayVersion: must be a string, found 2.5"},
    {"ListAsObject", "workerGroupSpecs: {}", "spec.workerGroupSpecs: must be a list, found {}"},
    {"TooLarge", "workerGroupSpecs: [{maxReplicas: 2147483648}]",
     "spec.workerGroupSpecs[0].maxReplicas: must be a whole number between -2147483648 and "
     "2147483647, found 2147483648"},
    {"Fraction", "workerGroupSpecs: [{}, {replicas: 1.5}]",
     "spec.workerGroupSpecs[1].replicas: must be a whole number between -2147483648 and "
     "2147483647, found 1.5"},
    {"ParamNotText", "headGroupSpec: {rayStartParams: {num-cpus: 1}}",
     "spec.headGroupSpec.rayStartParams[num-cpus]: must be a string, found 1"},
    {"TemplateIsList", "headGroupSpec: {template: []}",
     "spec.headGroupSpec.template: must be an object, found []"},
    {"EnvIsObject", "autoscalerOptions: {env: {}}",
     "spec.autoscalerOptions.env: must be a list, found {}"},
    {"BadQuantity", "gcsFaultToleranceOptions: {storage: {size: big}}",
     "spec.gcsFaultToleranceOptions.storage.size: must be a quantity such as 500m or 2Gi, found "
     "\"big\""},
    {"TwoFaults", "{suspend: 1, managedBy: 2}",
     "spec.suspend: must be true or false, found 1; spec.managedBy: must be a string, found 2"},
};
class TypesWrong : public testing::TestWithParam<Wrong> {};
TEST_P(TypesWrong, TellsFieldValueAndWhatIsAllowed) {
  const auto parsed = parse_part<RayClusterSpec>(yaml(GetParam().spec), "spec");
  ASSERT_FALSE(parsed);
  EXPECT_EQ(parsed.error().message, GetParam().message);
}
INSTANTIATE_TEST_SUITE_P(, TypesWrong, testing::ValuesIn(kWrong),
                         [](auto& info) { return info.param.name; });

TEST(Types, BadTimeIsNamed) {
  const auto parsed = parse_part<RayClusterStatus>(yaml("lastUpdateTime: yesterday"), "status");
  ASSERT_FALSE(parsed);
  EXPECT_EQ(parsed.error().causes.at(0).field, "status.lastUpdateTime");
}

TEST(Types, NullIsAbsentAndUnknownKeysAreNotSeen) {
  const auto spec = parse_part<RayClusterSpec>(
      yaml("{suspend: null, colour: red, workerGroupSpecs: null}"), "spec");
  ASSERT_TRUE(spec) << spec.error().message;
  EXPECT_EQ(*spec, RayClusterSpec{});
}

TEST(Types, MissingSpecReadsAsZero) {
  const auto cluster = parse_ray_cluster(yaml("{metadata: {name: bare}}"));
  ASSERT_TRUE(cluster) << cluster.error().message;
  EXPECT_EQ(cluster->spec, RayClusterSpec{});
}

TEST(Types, LongOffendingValuesAreCutBetweenCharacters) {
  Json value(JsonObject{{"suspend", std::string(79, 'x') + "äää"}});
  const auto parsed = parse_part<RayClusterSpec>(value, "spec");
  ASSERT_FALSE(parsed);
  EXPECT_TRUE(parsed.error().message.ends_with("x…")) << parsed.error().message;
}

TEST(Types, WritesToTheServerLeaveOutWhatIsAbsent) {
  EXPECT_EQ(dump_json(part_to_json(WorkerGroupSpec{.groupName = "g"})),
            R"({"groupName":"g","template":{},"scaleStrategy":{}})");
}

TEST(Conditions, TransitionTimeMovesOnlyWithTheStatus) {
  const Time early{1000s}, late{2000s};
  std::vector<Condition> conditions;
  EXPECT_TRUE(set_condition(conditions, {.type = "A", .status = "True", .reason = "R"}, early));
  EXPECT_FALSE(set_condition(conditions, {.type = "A", .status = "True", .reason = "R"}, late));
  EXPECT_TRUE(set_condition(conditions, {.type = "A", .status = "True", .reason = "S"}, late));
  EXPECT_EQ(find_condition(conditions, "A")->lastTransitionTime, early);
  EXPECT_TRUE(set_condition(conditions, {.type = "A", .status = "False", .reason = "S"}, late));
  EXPECT_EQ(find_condition(conditions, "A")->lastTransitionTime, late);
  EXPECT_FALSE(condition_is_true(conditions, "A"));
  EXPECT_TRUE(remove_condition(conditions, "A"));
  EXPECT_FALSE(remove_condition(conditions, "A"));
}

// The CRDs refuse a status with a longer one, and with it everything else that it says.
TEST(Conditions, AMessageOfOthersIsShortened) {
  std::vector<Condition> conditions;
  set_condition(conditions, {.type = "A", .message = std::string(40'000, 'x') + "\nthe error"}, {});
  const auto& message = find_condition(conditions, "A")->message;
  EXPECT_LE(message.size(), 8192u);
  EXPECT_TRUE(message.ends_with("the error")) << message;
}

TEST(ManagedBy, OnlyAbsentAndOursAreOurs) {
  EXPECT_TRUE(is_managed_by_us({}));
  EXPECT_TRUE(is_managed_by_us("ray.io/kuberay-operator"));
  EXPECT_FALSE(is_managed_by_us(""));
  EXPECT_FALSE(is_managed_by_us("kueue.x-k8s.io/multikueue"));
}

TEST(ParseRayJob, AnEmptyModeIsTheDefault) {
  const auto job = parse_ray_job(
      Json{{"metadata", {{"name", "j"}, {"namespace", "n"}}}, {"spec", {{"submissionMode", ""}}}});
  ASSERT_TRUE(job);
  EXPECT_EQ(job->spec.submissionMode, "K8sJobMode");
}

// What cannot be read could not be deleted either, and the API server takes any number.
TEST(ParseRayJob, NumbersBeyond32BitsAreTheLargestThere) {
  const auto job = parse_ray_job(Json{{"metadata", {{"name", "j"}, {"namespace", "n"}}},
                                      {"spec", {{"entrypointNumGpus", 1e39}}}});
  ASSERT_TRUE(job);
  EXPECT_EQ(job->spec.entrypointNumGpus, std::numeric_limits<float>::max());
}

}  // namespace
}  // namespace manta::ray
