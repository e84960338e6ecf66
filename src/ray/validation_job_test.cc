// RayJob and RayService: one row a refusal of spec/01 §6.2 and §6.3.
#include "ray/testing.h"
#include "ray/validation.h"

#include <gtest/gtest.h>

namespace manta::ray {
namespace {

constexpr std::string_view kCluster =
    "{rayVersion: 2.52.0, headGroupSpec: {template: {spec: {containers: [{name: h}]}}}}";

struct Case {
  const char* name;
  std::string patch;
  std::string message;
  ValidationGates gates = {};
};
constexpr auto kName = [](const auto& info) { return std::string(info.param.name); };

const std::string kInvalid = "The RayJob spec is invalid: ";
const std::string kSelector = "{rayClusterSpec: null, clusterSelector: {ray.io/cluster: c}, ";
std::string rules(std::string_view list) {
  return "deletionStrategy: {deletionRules: [" + std::string(list) + "]}";
}

class JobSpec : public testing::TestWithParam<Case> {};
TEST_P(JobSpec, Row) {
  Json spec(JsonObject{{"entrypoint", "x"}, {"rayClusterSpec", yaml(kCluster)}});
  merge_patch(spec, yaml(GetParam().patch));
  const auto parsed = parse_part<RayJobSpec>(spec, "spec");
  ASSERT_TRUE(parsed) << parsed.error().message;
  EXPECT_EQ(message_of(validate_job_spec(*parsed, {}, GetParam().gates)), GetParam().message);
}

const Case kJobs[] = {
    {"Valid", "{}", ""},
    {"OddModeAndEmptyEntrypoint", "{submissionMode: Pigeon, entrypoint: ''}", ""},
    {"SuspendWithoutShutdown", "suspend: true",
     kInvalid +
         "a RayJob with shutdownAfterJobFinishes set to false is not allowed to be suspended"},
    {"NegativeTtl", "ttlSecondsAfterFinished: -1",
     kInvalid + "TTLSecondsAfterFinished must be a non-negative integer: got -1"},
    {"TtlWithoutShutdown", "ttlSecondsAfterFinished: 1",
     kInvalid +
         "a RayJob with shutdownAfterJobFinishes set to false cannot have TTLSecondsAfterFinished: "
         "got 1; 0 is allowed"},
    {"TtlWithShutdown", "{ttlSecondsAfterFinished: 1, shutdownAfterJobFinishes: true}", ""},
    {"SuspendedSelector", kSelector + "suspend: true, shutdownAfterJobFinishes: true}",
     kInvalid + "the ClusterSelector mode doesn't support the suspend operation"},
    {"SuspendWithRules",  // SEEN-36
     "{suspend: true, " + rules("{policy: DeleteSelf, condition: {jobStatus: FAILED}}") + "}",
     "",
     {.suspend_with_rules = true}},
    {"SuspendedSelectorUnderItsGate",  // RJ-25
     kSelector + "suspend: true}",
     "",
     {.selector_suspend = true}},
    {"SidecarSubmitterConfigWithRestarts",  // RJ-35
     "{submissionMode: SidecarMode, submitterConfig: {backoffLimit: 5}}",
     "",
     {.sidecar_submitter_restart = true}},
    {"UpgradeStrategy", "rayClusterSpec: {upgradeStrategy: {type: None}}",  // SEEN-35
     kInvalid + "spec.rayClusterSpec.upgradeStrategy.type cannot be set: the cluster of a RayJob "
                "is not upgraded"},
    {"EmptyUpgradeStrategy", "rayClusterSpec: {upgradeStrategy: {}}", ""},
    {"TwoGroupsOfOneName",  // SEEN-38
     "rayClusterSpec: {workerGroupSpecs: [{groupName: g, minReplicas: 0, maxReplicas: 1, replicas: "
     "1, template: {spec: {containers: [{name: w}]}}}, {groupName: g, minReplicas: 0, maxReplicas: "
     "1, replicas: 1, template: {spec: {containers: [{name: w}]}}}]}",
     kInvalid + "spec.rayClusterSpec.workerGroupSpecs[1].groupName: worker group names must be "
                "unique, g is there twice"},
    {"GroupNamedAsTheHeads",  // SEEN-04
     "rayClusterSpec: {workerGroupSpecs: [{groupName: headgroup, minReplicas: 0, maxReplicas: 1, "
     "template: {spec: {containers: [{name: w}]}}}]}",
     kInvalid + "spec.rayClusterSpec.workerGroupSpecs[0].groupName: headgroup is the head's group"},
    {"NoCluster", "rayClusterSpec: null",
     kInvalid + "one of RayClusterSpec or ClusterSelector must be set"},
    {"EmptySelector", "{rayClusterSpec: null, clusterSelector: {}}",
     kInvalid + "one of RayClusterSpec or ClusterSelector must be set"},
    {"SelectorWithoutName", "clusterSelector: {other: x}",
     "cluster name in ClusterSelector should not be empty: its key must be ray.io/cluster, and "
     "there "
     "is only other"},
    {"SelectorWithEmptyName", "clusterSelector: {ray.io/cluster: ''}",
     "cluster name in ClusterSelector should not be empty: its key must be ray.io/cluster, and "
     "there "
     "its value is empty"},
    {"SelectorSidecar", kSelector + "submissionMode: SidecarMode, submitterConfig: {}}",
     "ClusterSelector is not supported in SidecarMode"},
    {"SelectorRetries", kSelector + "backoffLimit: 1}",
     kInvalid + "BackoffLimit is incompatible with ClusterSelector mode: got 1; 0 is allowed"},
    {"Selector", kSelector + "backoffLimit: 0}", ""},
    {"SelectorStillChecksTheSpec",
     "{clusterSelector: {ray.io/cluster: c}, rayClusterSpec: {headGroupSpec: {template: null}}}",
     kInvalid + "headGroupSpec should have at least one container"},
    {"InteractiveRetries", "{submissionMode: InteractiveMode, backoffLimit: 2}",
     kInvalid + "BackoffLimit is incompatible with InteractiveMode: got 2; 0 is allowed"},
    {"SidecarTemplate", "{submissionMode: SidecarMode, submitterPodTemplate: {}}",
     "Currently, SidecarMode doesn't support SubmitterPodTemplate"},
    {"SidecarConfig", "{submissionMode: SidecarMode, submitterConfig: {}}",
     "Currently, SidecarMode doesn't support SubmitterConfig"},
    {"SidecarRestart",
     "{submissionMode: SidecarMode, rayClusterSpec: {headGroupSpec: {template: {spec: "
     "{restartPolicy: Always}}}}}",
     "restartPolicy for head Pod should be Never or unset when using SidecarMode: got Always"},
    {"KubernetesAuth",
     "rayClusterSpec: {authOptions: {enableK8sTokenAuth: true}, headGroupSpec: null}",
     kInvalid + "K8s token auth mode is currently not supported for RayJob: "
                "rayClusterSpec.authOptions.enableK8sTokenAuth is true"},
    {"RuntimeEnv", "runtimeEnvYAML: 'pip: [a]'", ""},
    {"RuntimeEnvComment", "runtimeEnvYAML: '# nothing'", ""},
    {"RuntimeEnvNull", "runtimeEnvYAML: 'null'", ""},
    {"RuntimeEnvTwice", "runtimeEnvYAML: \"a: 1\\na: 2\"", ""},
    {"RuntimeEnvText", "runtimeEnvYAML: invalid_yaml_str",
     "failed to unmarshal RuntimeEnvYAML: invalid_yaml_str: must be a mapping of keys to values"},
    {"RuntimeEnvList", "runtimeEnvYAML: '[a]'",
     "failed to unmarshal RuntimeEnvYAML: [a]: must be a mapping of keys to values"},
    {"Deadline", "activeDeadlineSeconds: 0",
     kInvalid + "activeDeadlineSeconds must be a positive integer: got 0"},
    {"PreRunning", "preRunningDeadlineSeconds: 0",
     kInvalid + "preRunningDeadlineSeconds must be a positive integer: got 0"},
    {"Backoff", "backoffLimit: -1",
     kInvalid + "backoffLimit must be a positive integer: got -1; 0 is allowed, too"},
};
INSTANTIATE_TEST_SUITE_P(, JobSpec, testing::ValuesIn(kJobs), kName);

const Case kDeletions[] = {
    {"Gate",
     "deletionStrategy: {}",
     "RayJobDeletionPolicy feature gate must be enabled to use DeletionStrategy",
     {.job_deletion_policy = false}},
    {"Neither", "deletionStrategy: {deletionRules: []}",
     kInvalid + "DeletionStrategy requires either BOTH onSuccess and onFailure, OR the "
                "deletionRules field (cannot be empty)"},
    {"RulesAndShutdown",
     "shutdownAfterJobFinishes: true\n" +
         rules("{policy: DeleteSelf, condition: {jobStatus: FAILED}}"),
     kInvalid + "spec.shutdownAfterJobFinishes and spec.deletionStrategy.deletionRules are "
                "mutually exclusive"},
    {"RulesAndLegacy",
     "deletionStrategy: {onSuccess: {}, deletionRules: [{policy: DeleteSelf, condition: {}}]}",
     kInvalid + "Cannot use both legacy onSuccess/onFailure fields and deletionRules "
                "simultaneously"},
    {"HalfLegacy", "deletionStrategy: {onSuccess: {policy: DeleteSelf}}",
     "both DeletionStrategy.OnSuccess and DeletionStrategy.OnFailure must be set when using the "
     "legacy deletion policy fields of DeletionStrategy"},
    {"NoPolicy", "deletionStrategy: {onSuccess: {policy: DeleteSelf}, onFailure: {}}",
     "the DeletionPolicyType field of DeletionStrategy.OnFailure cannot be unset when "
     "DeletionStrategy is enabled"},
    {"LegacySelector",
     kSelector + "deletionStrategy: {onSuccess: {policy: DeleteSelf}, onFailure: {policy: "
                 "DeleteCluster}}}",
     "the ClusterSelector mode doesn't support DeletionStrategy=DeleteCluster on failure"},
    {"LegacyWorkersScaled",
     "{rayClusterSpec: {enableInTreeAutoscaling: true}, deletionStrategy: {onSuccess: {policy: "
     "DeleteWorkers}, onFailure: {policy: DeleteSelf}}}",
     "DeletionStrategy=DeleteWorkers currently does not support RayCluster with autoscaling "
     "enabled"},
    {"LegacyNoneAndShutdown",
     "{shutdownAfterJobFinishes: true, deletionStrategy: {onSuccess: {policy: DeleteNone}, "
     "onFailure: {policy: DeleteSelf}}}",
     kInvalid + "shutdownAfterJobFinshes is set to 'true' while deletion policy is 'DeleteNone'"},
    {"Legacy",
     "deletionStrategy: {onSuccess: {policy: DeleteNone}, onFailure: {policy: DeleteWorkers}}", ""},
    {"Rules",
     rules("{policy: DeleteWorkers, condition: {jobStatus: FAILED}}, {policy: DeleteCluster, "
           "condition: {jobStatus: FAILED, ttlSeconds: 5}}, {policy: DeleteWorkers, condition: "
           "{jobDeploymentStatus: Failed, ttlSeconds: 9}}"),
     ""},
    {"AllRuleFaultsAreTold",
     rules("{policy: DeleteSelf, condition: {jobStatus: FAILED, jobDeploymentStatus: Failed}}, "
           "{policy: DeleteSelf, condition: {}}, "
           "{policy: DeleteSelf, condition: {jobStatus: FAILED, ttlSeconds: -1}}, "
           "{policy: DeleteSelf, condition: {jobStatus: FAILED, ttlSeconds: 1}}, "
           "{policy: DeleteSelf, condition: {jobStatus: FAILED}}, "
           "{policy: DeleteNone, condition: {jobDeploymentStatus: Failed}}, "
           "{policy: DeleteNone, condition: {jobDeploymentStatus: Failed}}, "
           "{policy: DeleteCluster, condition: {jobStatus: FAILED, ttlSeconds: 7}}, "
           "{policy: DeleteWorkers, condition: {jobStatus: FAILED, ttlSeconds: 8}}"),
     "deletionRules[0]: cannot set both JobStatus and JobDeploymentStatus at the same time: got "
     "FAILED "
     "and Failed\n"
     "deletionRules[1]: exactly one of JobStatus and JobDeploymentStatus must be set\n"
     "deletionRules[2]: TTLSeconds must be non-negative: got -1\n"
     "deletionRules[4]: duplicate rule for DeletionPolicyType 'DeleteSelf' and JobStatus 'FAILED'\n"
     "deletionRules[6]: duplicate rule for DeletionPolicyType 'DeleteNone' and JobDeploymentStatus "
     "'Failed'\n"
     "for JobStatus 'FAILED': DeleteCluster TTL (7) must be >= DeleteWorkers TTL (8)\n"
     "for JobStatus 'FAILED': DeleteSelf TTL (1) must be >= DeleteCluster TTL (7)"},
    {"RuleSelector",
     kSelector + rules("{policy: DeleteWorkers, condition: {jobStatus: FAILED}}") + "}",
     "deletionRules[0]: DeletionPolicyType 'DeleteWorkers' not supported when ClusterSelector is "
     "set"},
    {"RuleScaled",
     "rayClusterSpec: {enableInTreeAutoscaling: true}\n" +
         rules("{policy: DeleteWorkers, condition: {jobStatus: FAILED}}"),
     "deletionRules[0]: DeletionPolicyType 'DeleteWorkers' not supported with autoscaling enabled"},
};
INSTANTIATE_TEST_SUITE_P(Deletion, JobSpec, testing::ValuesIn(kDeletions), kName);

TEST(JobRuntimeEnv, OfALongRuntimeEnvironmentOnlySoMuchIsRepeated) {
  RayJobSpec spec;
  spec.clusterSelector = {{"ray.io/cluster", "c"}};
  spec.runtimeEnvYAML = "pip:\n- a\n" + std::string(50'000, ' ') + "\n  b: [";
  const auto message = message_of(validate_job_spec(spec, {}, {}));
  EXPECT_LT(message.size(), 500u);
  EXPECT_TRUE(message.starts_with("failed to unmarshal RuntimeEnvYAML: pip: … (")) << message;
  EXPECT_NE(message.find("line 4, column "), std::string::npos) << message;
}

kube::ObjectMeta named(std::string name, StringMap annotations = {}) {
  kube::ObjectMeta meta;
  meta.key.name = std::move(name);
  meta.annotations = std::move(annotations);
  return meta;
}

TEST(JobMetadata, Name) {
  EXPECT_EQ(message_of(validate_job_metadata(named(std::string(47, 'a')))), "");
  EXPECT_EQ(message_of(validate_job_metadata(named(std::string(48, 'a')))),
            "The RayJob metadata is invalid: RayJob name should be no more than 47 characters: "
            "got 48");
  EXPECT_TRUE(message_of(validate_job_metadata(named("A")))
                  .starts_with("The RayJob metadata is invalid: RayJob name should be a valid "
                               "DNS1035 label: [a DNS-1035 label must"));
}

TEST(JobStatus, OnlyInteractiveJobsWait) {
  RayJobSpec spec;
  RayJobStatus status;
  status.jobDeploymentStatus = "Waiting";
  EXPECT_EQ(message_of(validate_job_status(spec, status)),
            "The RayJob status is invalid: JobDeploymentStatus cannot be `Waiting` when "
            "SubmissionMode is not InteractiveMode");
  spec.submissionMode = "InteractiveMode";
  EXPECT_EQ(message_of(validate_job_status(spec, status)), "");
}

// ---- RayService
// ------------------------------------------------------------------------------------
struct Timeout {
  const char* name;
  std::string text;
  std::string message;  // after the common beginning; "" when valid
};
const std::string kPositive = "must be a positive duration, got: ";
const std::string kSeconds = "must be a positive integer (seconds), got: ";
const auto kFormat = [](std::string_view text) {
  return "has invalid format: " + std::string(text) +
         ". Expected Go duration format (e.g., '5m', '1h') or positive integer seconds";
};
const Timeout kTimeouts[] = {{"Unset", "", ""},
                             {"Minutes", "5m", ""},
                             {"Fraction", "1.5h", ""},
                             {"Seconds", "300", ""},
                             {"Plus", "+5", ""},
                             {"Zero", "0", kPositive + "0"},
                             {"Negative", "-100", kSeconds + "-100"},
                             {"NegativeMinutes", "-5m", kPositive + "-5m"},
                             {"Days", "1d", kFormat("1d")},
                             {"Blank", " 5", kFormat(" 5")},
                             {"Word", "invalid", kFormat("invalid")}};
class ServiceTimeout : public testing::TestWithParam<Timeout> {};
TEST_P(ServiceTimeout, Row) {
  const auto& [name, text, message] = GetParam();
  const auto meta = named("s", {{"ray.io/initializing-timeout", text}});
  EXPECT_EQ(message_of(validate_service_metadata(meta)),
            message.empty() ? ""
                            : "The RayService metadata is invalid: RayService annotations is "
                              "invalid: annotation ray.io/initializing-timeout " +
                                  message);
}
INSTANTIATE_TEST_SUITE_P(, ServiceTimeout, testing::ValuesIn(kTimeouts), kName);

TEST(ServiceInitializingTimeout, IsReadAsDuration) {
  using namespace std::chrono_literals;
  EXPECT_EQ(*initializing_timeout(named("s", {{"ray.io/initializing-timeout", "90s"}})), 90s);
  EXPECT_EQ(*initializing_timeout(named("s", {{"ray.io/initializing-timeout", "90"}})), 90s);
  EXPECT_EQ(*initializing_timeout(named("s")), std::nullopt);
}

const std::string kBad = "The RayService spec is invalid: ";
std::string incremental(std::string_view more) {
  Json options =
      yaml("{maxSurgePercent: 50, stepSizePercent: 10, intervalSeconds: 5, gatewayClassName: g}");
  merge_patch(options, yaml("{" + std::string(more) + "}"));
  return "rayClusterConfig: {enableInTreeAutoscaling: true}\nupgradeStrategy: {type: "
         "NewClusterWithIncrementalUpgrade, clusterUpgradeOptions: " +
         dump_json(options) + "}";
}
class ServiceSpec : public testing::TestWithParam<Case> {};
TEST_P(ServiceSpec, Row) {
  Json spec(JsonObject{{"rayClusterConfig", yaml(kCluster)}});
  merge_patch(spec, yaml(GetParam().patch));
  const auto parsed = parse_part<RayServiceSpec>(spec, "spec");
  ASSERT_TRUE(parsed) << parsed.error().message;
  EXPECT_EQ(message_of(validate_service_spec(*parsed, {}, GetParam().gates)), GetParam().message);
}
const Case kServices[] = {
    {"Valid", "{}", ""},
    {"KubernetesAuth", "rayClusterConfig: {authOptions: {enableK8sTokenAuth: true}}",
     kBad + "K8s token auth mode is currently not supported for RayService: "
            "rayClusterConfig.authOptions.enableK8sTokenAuth is true"},
    {"Cluster", "rayClusterConfig: {headGroupSpec: {template: null}}",
     kBad + "headGroupSpec should have at least one container"},
    {"HeadServiceName", "rayClusterConfig: {headGroupSpec: {headService: {metadata: {name: x}}}}",
     kBad +
         "spec.rayClusterConfig.headGroupSpec.headService.metadata.name should not be set: got x"},
    {"UpgradeType", "upgradeStrategy: {type: Rolling}",
     kBad + "Spec.UpgradeStrategy.Type value Rolling is invalid, valid options are "
            "NewClusterWithIncrementalUpgrade, NewCluster, or None"},
    {"DeletionDelay", "rayClusterDeletionDelaySeconds: -1",
     kBad + "Spec.RayClusterDeletionDelaySeconds should be a non-negative integer, got -1"},
    {"NoAutoscaler", "upgradeStrategy: {type: NewClusterWithIncrementalUpgrade}",
     kBad + "Ray Autoscaler is required for NewClusterWithIncrementalUpgrade: set "
            "rayClusterConfig.enableInTreeAutoscaling to true"},
    {"GateOff",
     "upgradeStrategy: {type: NewClusterWithIncrementalUpgrade}",
     "",
     {.incremental_upgrade = false}},
    {"NoOptions",
     "{rayClusterConfig: {enableInTreeAutoscaling: true}, upgradeStrategy: {type: "
     "NewClusterWithIncrementalUpgrade}}",
     kBad + "ClusterUpgradeOptions are required for NewClusterWithIncrementalUpgrade"},
    {"Incremental", incremental(""), ""},
    {"NoSurgeIsAHundred", incremental("maxSurgePercent: null, stepSizePercent: 100"), ""},
    {"Surge", incremental("maxSurgePercent: 101"),
     kBad + "maxSurgePercent must be between 0 and 100: got 101"},
    {"NoStep", incremental("stepSizePercent: null"),
     kBad + "stepSizePercent must be between 0 and 100: it is not set"},
    {"StepAboveSurge", incremental("stepSizePercent: 51"),
     kBad + "stepSizePercent must be less than or equal to maxSurgePercent: got 51 and 50"},
    {"Interval", incremental("intervalSeconds: 0"),
     kBad + "intervalSeconds must be greater than 0: got 0"},
    {"GatewayClass", incremental("gatewayClassName: ''"),
     kBad + "gatewayClassName is required for NewClusterWithIncrementalUpgrade"},
};
INSTANTIATE_TEST_SUITE_P(, ServiceSpec, testing::ValuesIn(kServices), kName);

}  // namespace
}  // namespace manta::ray
