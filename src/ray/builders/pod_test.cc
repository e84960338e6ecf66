#include "ray/builders/pod.h"

#include "ray/builders/command.h"
#include "ray/builders/edit.h"
#include "ray/builders/probes.h"
#include "ray/builders/redis_cleanup.h"
#include "ray/builders/wait_gcs.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

namespace manta::ray {
namespace {

// The cluster of spec/03 §11.
constexpr const char* kDemo = R"({
  "apiVersion": "ray.io/v1", "kind": "RayCluster",
  "metadata": {"name": "demo", "namespace": "ray", "uid": "11111111-2222-3333-4444-555555555555"},
  "spec": {
    "rayVersion": "2.52.0",
    "headGroupSpec": {"rayStartParams": {}, "template": {"spec": {"containers": [
      {"name": "ray-head", "image": "rayproject/ray:2.52.0", "resources": {
        "limits": {"cpu": "1", "memory": "2Gi"}, "requests": {"cpu": "1", "memory": "2Gi"}}}]}}},
    "workerGroupSpecs": [
      {"groupName": "gpu", "replicas": 1, "numOfHosts": 1, "rayStartParams": {},
       "template": {"spec": {"containers": [
         {"name": "ray-worker", "image": "rayproject/ray:2.52.0", "resources": {
           "limits": {"cpu": "500m", "memory": "1Gi", "nvidia.com/gpu": "1"}}}]}}}]}})";

RayCluster demo(std::string_view patch = "{}") {
  Json object = parse_json(kDemo).value();
  merge_patch(object, parse_json(patch).value());
  return parse_ray_cluster(object).value();
}

const JsonObject& container_of(const Json& pod, std::size_t index = 0) {
  return array_at(pod, {"spec", "containers"}).at(index).as_object();
}

std::vector<std::string> names(const JsonArray& list) {
  std::vector<std::string> out;
  for (const Json& item : list) out.emplace_back(string_at(item, {"name"}));
  return out;
}

std::string env_of(const JsonObject& container, std::string_view name) {
  const JsonObject* entry = find_named(array_of(container, "env"), name);
  return entry == nullptr ? "(absent)" : std::string(text_in(*entry, "value"));
}

using Strings = std::vector<std::string>;

// spec/03 §11.4.
TEST(HeadPod, OfARayServiceWithAutoscalerAuthAndRedis) {
  const RayCluster cluster = demo(R"({
    "metadata": {"labels": {"ray.io/originated-from-crd": "RayService"}},
    "spec": {"enableInTreeAutoscaling": true, "autoscalerOptions": {"version": "v2"},
      "authOptions": {"mode": "token"},
      "gcsFaultToleranceOptions": {"redisAddress": "r:6379",
        "redisPassword": {"valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}}}}})");
  const Json pod = build_head_pod(cluster, {});
  const JsonObject& ray = container_of(pod);
  EXPECT_EQ(env_of(ray, "KUBERAY_GEN_RAY_START_CMD"),
            "ray start --head  --block  --dashboard-agent-listen-port=52365  "
            "--dashboard-host=0.0.0.0  --memory=2147483648  --metrics-export-port=8080  "
            "--no-monitor  --num-cpus=1  --redis-password=$REDIS_PASSWORD ");
  EXPECT_EQ(
      names(array_of(ray, "env")),
      (Strings{"RAY_enable_autoscaler_v2", "RAY_external_storage_namespace", "RAY_REDIS_ADDRESS",
               "REDIS_PASSWORD", "RAY_AUTH_MODE", "RAY_AUTH_TOKEN", "RAY_CLUSTER_NAME",
               "RAY_CLUSTER_NAMESPACE", "RAY_CLOUD_INSTANCE_ID", "RAY_NODE_TYPE_NAME",
               "KUBERAY_GEN_RAY_START_CMD", "RAY_PORT", "RAY_timeout_ms_task_wait_for_death_info",
               "RAY_gcs_server_request_timeout_seconds", "RAY_SERVE_KV_TIMEOUT_S", "RAY_ADDRESS",
               "RAY_USAGE_STATS_KUBERAY_IN_USE", "RAY_USAGE_STATS_EXTRA_TAGS",
               "RAY_DASHBOARD_ENABLE_K8S_DISK_USAGE"}));
  EXPECT_EQ(names(array_of(ray, "volumeMounts")), (Strings{"shared-mem", "ray-logs"}));
  EXPECT_EQ(names(array_of(container_of(pod, 1), "volumeMounts")), (Strings{"ray-logs"}));
  EXPECT_EQ(names(array_at(pod, {"spec", "volumes"})), (Strings{"shared-mem", "ray-logs"}));
  EXPECT_EQ(string_at(pod, {"spec", "restartPolicy"}), "Never");
  EXPECT_EQ(string_at(pod, {"spec", "serviceAccountName"}), "demo");
  EXPECT_EQ(string_at(pod, {"metadata", "labels", "ray.io/serve"}), "false");
  EXPECT_EQ(string_at(pod, {"metadata", "annotations", "ray.io/external-storage-namespace"}),
            cluster.meta.uid);
}

TEST(HeadPod, TemplateFieldsWeDoNotKnowStay) {
  const Json pod = build_head_pod(demo(R"({"spec": {"headGroupSpec": {"template": {
      "metadata": {"annotations": {"a": "b"}},
      "spec": {"fromTheFuture": {"x": [1.50, 2]}, "nodeSelector": {"disk": "ssd"}}}}}})"),
                                  {});
  EXPECT_EQ(canonical_json(*find(pod, {"spec", "fromTheFuture"})), R"({"x":[1.5,2]})");
  EXPECT_EQ(string_at(pod, {"spec", "nodeSelector", "disk"}), "ssd");
  EXPECT_EQ(string_at(pod, {"metadata", "annotations", "a"}), "b");
}

TEST(HeadPod, DoesNotChangeItsCluster) {
  const RayCluster cluster = demo();
  const RayClusterSpec before = cluster.spec;
  build_head_pod(cluster, {});
  build_worker_pod(cluster, cluster.spec.workerGroupSpecs[0], {}, {});
  EXPECT_EQ(cluster.spec, before);
  EXPECT_EQ(build_head_pod(cluster, {}), build_head_pod(cluster, {}));
}

TEST(HeadPod, UsersLabelsWinExceptThoseWeFindPodsBy) {
  const Json pod = build_head_pod(demo(R"({"spec": {"headGroupSpec": {
      "labels": {"tier": "group", "ray.io/cluster": "stolen"},
      "template": {"metadata": {"labels": {"tier": "template", "ray.io/group": "mine",
                                           "app.kubernetes.io/name": "own"}}}}}})"),
                                  {});
  const JsonObject& labels = object_at(pod, {"metadata", "labels"});
  EXPECT_EQ(text_in(labels, "tier"), "group");
  EXPECT_EQ(text_in(labels, "app.kubernetes.io/name"), "own");
  EXPECT_EQ(text_in(labels, "ray.io/cluster"), "demo");
  EXPECT_EQ(text_in(labels, "ray.io/group"), "headgroup");
}

TEST(HeadPod, OperatorWideOptions) {
  BuildOptions options;
  options.deterministic_head_pod_name = true;
  options.login_shell = true;
  options.inject_probes = false;
  options.head_sidecar_containers = {JsonObject{{"name", "audit"}}};
  options.default_container_envs = {JsonObject{{"name", "RAY_PORT"}, {"value", "1"}}};
  options.default_pod_labels = {{"ray.io/cluster", "no"}, {"team", "blue"}};
  const Json pod = build_head_pod(demo(), options);
  EXPECT_EQ(string_at(pod, {"metadata", "name"}), "demo-head");
  EXPECT_EQ(find(pod, {"metadata", "generateName"}), nullptr);
  EXPECT_EQ(canonical_json(container_of(pod).at("command")), R"(["/bin/bash","-cl","--"])");
  EXPECT_FALSE(container_of(pod).contains("livenessProbe"));
  EXPECT_EQ(text_in(container_of(pod, 1), "name"), "audit");
  EXPECT_EQ(env_of(container_of(pod), "RAY_PORT"), "1");
  EXPECT_EQ(string_at(pod, {"metadata", "labels", "team"}), "blue");
  EXPECT_EQ(string_at(pod, {"metadata", "labels", "ray.io/cluster"}), "demo");
}

// SEEN-16, SEEN-17.
TEST(HeadPod, FaultToleranceByAnnotation) {
  const RayCluster cluster = demo(R"({
    "metadata": {"annotations": {"ray.io/ft-enabled": "true",
                                 "ray.io/external-storage-namespace": ""}},
    "spec": {"headGroupSpec": {"rayStartParams": {"redis-password": "$PASSWORD"}}}})");
  const Json pod = build_head_pod(cluster, {});
  EXPECT_EQ(env_of(container_of(pod), "RAY_external_storage_namespace"), cluster.meta.uid);
  EXPECT_EQ(string_at(pod, {"metadata", "annotations", "ray.io/external-storage-namespace"}),
            cluster.meta.uid);
  EXPECT_EQ(env_of(container_of(pod), "REDIS_PASSWORD"), "$(PASSWORD)");
  const auto password = [](std::string_view param) {
    auto noted = demo(R"({"metadata": {"annotations": {"ray.io/ft-enabled": "true"}}})");
    (*noted.spec.headGroupSpec.rayStartParams)["redis-password"] = param;
    return env_of(container_of(build_head_pod(noted, {})), "REDIS_PASSWORD");
  };
  EXPECT_EQ(password("${A_1}"), "$(A_1)");
  for (const auto* literal : {"plain", "$", "${}", "$a b", "$(id)", "a$b"})
    EXPECT_EQ(password(literal), literal);
}

// SEEN-18.
struct LogsCase {
  const char* name;
  const char* mount;  // the user's, besides its volume
  const char* env;    // of the Ray container
  const char* sidecar_mount;
  const char* sidecar_env = "";  // that it did not have
};
const LogsCase kLogsCases[] = {
    {"SubPath", R"x("mountPath": "/tmp/ray", "subPath": "logs")x", "",
     R"x({"mountPath":"/tmp/ray","name":"disk","subPath":"logs"})x"},
    {"TrailingSlash", R"x("mountPath": "/tmp/ray/")x", "",
     R"x({"mountPath":"/tmp/ray/","name":"disk"})x"},
    {"Expression", R"x("mountPath": "/tmp/ray", "subPathExpr": "$(POD)")x",
     R"x({"name": "POD", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
        {"name": "OTHER", "value": "x"})x",
     R"x({"mountPath":"/tmp/ray","name":"disk","subPathExpr":"$(POD)"})x", "POD"},
    {"ExpressionOfWhatIsMadeOfOthers",
     R"x("mountPath": "/tmp/ray", "subPathExpr": "a/$(PLACE)/$$(NOT)")x",
     R"x({"name": "POD", "value": "p"}, {"name": "PLACE", "value": "$(POD)/$(PLACE)"})x",
     R"x({"mountPath":"/tmp/ray","name":"disk","subPathExpr":"a/$(PLACE)/$$(NOT)"})x", "POD PLACE"},
    {"ExpressionOfOurOwn", R"x("mountPath": "/tmp/ray", "subPathExpr": "$(RAY_NODE_TYPE_NAME)")x",
     "", R"x({"mountPath":"/tmp/ray","name":"disk","subPathExpr":"$(RAY_NODE_TYPE_NAME)"})x",
     "RAY_NODE_TYPE_NAME"},
    {"ExpressionOfWhatTheSidecarHas",
     R"x("mountPath": "/tmp/ray", "subPathExpr": "$(RAY_CLUSTER_NAME)")x", "",
     R"x({"mountPath":"/tmp/ray","name":"disk","subPathExpr":"$(RAY_CLUSTER_NAME)"})x"},
    {"ExpressionOfWhatNobodyKnows",
     R"x("mountPath": "/tmp/ray", "subPathExpr": "$(FROM_ELSEWHERE)")x", "",
     R"x({"mountPath":"/tmp/ray","name":"ray-logs"})x"},
};
class SidecarLogs : public testing::TestWithParam<LogsCase> {};
TEST_P(SidecarLogs, AreWhereTheUserPutsThem) {
  const auto& row = GetParam();
  const auto build = [&](std::string_view mount) {
    return build_head_pod(demo(R"({"spec": {"enableInTreeAutoscaling": true,
      "headGroupSpec": {"template": {"spec": {"volumes": [{"name": "disk", "emptyDir": {}}],
        "containers": [{"name": "ray-head", "env": [)" +
                               std::string(row.env) + R"(], "volumeMounts": [{"name": "disk", )" +
                               std::string(mount) + "}]}]}}}}}"),
                          {});
  };
  const Json pod = build(row.mount);
  const JsonArray& mounts = array_of(container_of(pod, 1), "volumeMounts");
  ASSERT_EQ(mounts.size(), 1u);
  EXPECT_EQ(canonical_json(mounts[0]), row.sidecar_mount);
  EXPECT_EQ(names(array_of(container_of(pod), "volumeMounts")), (Strings{"disk", "shared-mem"}));
  EXPECT_NE(find_named(array_at(pod, {"spec", "volumes"}), text_in(mounts[0].get_object(), "name")),
            nullptr);
  const auto plain = names(array_of(container_of(build(R"("mountPath": "/x")"), 1), "env"));
  std::string more;
  for (const auto& name : names(array_of(container_of(pod, 1), "env")))
    if (std::ranges::find(plain, name) == plain.end()) more += (more.empty() ? "" : " ") + name;
  EXPECT_EQ(more, row.sidecar_env);
}
INSTANTIATE_TEST_SUITE_P(, SidecarLogs, testing::ValuesIn(kLogsCases),
                         [](const auto& row) { return row.param.name; });

// SEEN-19.
TEST(HeadPod, UsageTagsAreAddedToTheUsers) {
  const auto tags = [](std::string_view entry) {
    const Json pod =
        build_head_pod(demo(R"({"spec": {"headGroupSpec": {"template": {"spec": {"containers": [
            {"name": "ray-head", "env": [)" +
                            std::string(entry) + "]}]}}}}}"),
                       {.version = "v"});
    return std::string(text_in(container_of(pod)
                                   .at("env")
                                   .as_array()
                                   .at(array_of(container_of(pod), "env").size() - 2)
                                   .as_object(),
                               "value"));
  };
  EXPECT_EQ(tags(R"({"name": "RAY_USAGE_STATS_EXTRA_TAGS", "value": "team=blue"})"),
            "team=blue;kuberay_version=v;kuberay_crd=RayCluster");
  EXPECT_EQ(tags(R"({"name": "RAY_USAGE_STATS_EXTRA_TAGS", "valueFrom": {"x": 1}})"),
            "$(RAY_USAGE_STATS_EXTRA_TAGS);kuberay_version=v;kuberay_crd=RayCluster");
  EXPECT_EQ(tags(R"({"name": "A"})"), "kuberay_version=v;kuberay_crd=RayCluster");
}

TEST(WorkerPod, WaitsForGcsWithWhatTheUserGaveRay) {
  RayCluster cluster = demo();
  JsonObject& ray = cluster.spec.workerGroupSpecs[0]
                        .template_.as_object()["spec"]
                        .as_object()["containers"]
                        .as_array()[0]
                        .as_object();
  append_env(ray, "A", "b");
  append_mount(ray, "data", "/data");
  const Json pod = build_worker_pod(cluster, cluster.spec.workerGroupSpecs[0], {}, {});
  const JsonObject& wait = array_at(pod, {"spec", "initContainers"}).at(0).as_object();
  EXPECT_EQ(names(array_of(wait, "env")), (Strings{"A", "FQ_RAY_IP", "RAY_IP"}));
  EXPECT_EQ(names(array_of(wait, "volumeMounts")), (Strings{"data"}));
  EXPECT_EQ(env_of(wait, "RAY_IP"), "demo-head-svc");
  BuildOptions off;
  off.inject_init_container = false;
  EXPECT_EQ(find(build_worker_pod(cluster, cluster.spec.workerGroupSpecs[0], {}, off),
                 {"spec", "initContainers"}),
            nullptr);
}

// SEEN-09, behind its gate.
TEST(WorkerPod, MetricsAreWhereTheParameterPutsThem) {
  auto cluster = demo();
  WorkerGroupSpec& group = cluster.spec.workerGroupSpecs[0];
  const auto ports = [&](bool gate) {
    return canonical_json(
        container_of(build_worker_pod(cluster, group, {}, {.ports_from_params = gate}))
            .at("ports"));
  };
  EXPECT_EQ(ports(true), R"([{"containerPort":8080,"name":"metrics"}])");
  merge_patch(group.template_, parse_json(R"({"spec": {"containers": [
    {"name": "w", "ports": [{"name": "metrics", "containerPort": 1}]}]}})")
                                   .value());
  EXPECT_EQ(ports(true), R"([{"containerPort":1,"name":"metrics"}])");
  group.rayStartParams = StringMap{{"metrics-export-port", "9191"}, {"dashboard-port", "8290"}};
  EXPECT_EQ(ports(true), R"([{"containerPort":9191,"name":"metrics"}])");
  EXPECT_EQ(ports(false), R"([{"containerPort":1,"name":"metrics"}])");
}

TEST(WorkerPod, OfSeveralHostsSaysWhichItIs) {
  RayCluster cluster = demo();
  WorkerGroupSpec& group = cluster.spec.workerGroupSpecs[0];
  group.numOfHosts = 2;
  const WorkerSlot slot{.replica_index = 3, .replica_name = "gpu-abcde", .host_index = 1};
  const Json pod = build_worker_pod(cluster, group, slot, {});
  const JsonObject& labels = object_at(pod, {"metadata", "labels"});
  EXPECT_EQ(text_in(labels, "ray.io/worker-group-replica-index"), "3");
  EXPECT_EQ(text_in(labels, "ray.io/worker-group-replica-name"), "gpu-abcde");
  EXPECT_EQ(text_in(labels, "ray.io/replica-host-index"), "1");
}

TEST(RayCommand, AroundTheUsersOwn) {
  const std::string start = "ulimit -n ${RAY_START_ULIMIT_OPEN_FILES:-65536}; ray start ";
  auto args = [](JsonObject container, bool keep = false) {
    set_ray_command(container, "ray start ", keep, {});
    return canonical_json(container.contains("args") ? container.at("args") : Json());
  };
  EXPECT_EQ(args({}), canonical_json(JsonArray{start}));
  EXPECT_EQ(args({{"command", JsonArray{"echo", "hi"}}}),
            canonical_json(JsonArray{" echo  hi  && " + start}));
  EXPECT_EQ(args({{"args", JsonArray{"a; ray start --head"}}}), R"(["a; ray start --head"])");
  // SEEN-11: one start, however its words are cut, and a script stays one word.
  EXPECT_EQ(args({{"command", JsonArray{"ray", "start"}}}), "null");
  EXPECT_EQ(args({{"command", JsonArray{"/bin/sh", "-ec"}}, {"args", JsonArray{"a; b", "x y"}}}),
            canonical_json(JsonArray{" /bin/sh  -ec  'a; b'  'x y'  && " + start}));
  EXPECT_EQ(args({{"command", JsonArray{"sh", "setup.sh"}}}),
            canonical_json(JsonArray{" sh  setup.sh  && " + start}));
  EXPECT_EQ(args({{"args", JsonArray{"mine"}}}, true), R"(["mine"])");
}

// SEEN-11: what is a script to a shell stays one word; the rest is shell itself.
TEST(RayCommand, KeepsScriptsWhole) {
  const struct {
    JsonArray command;
    std::string_view text;
  } rows[] = {
      {{"sh", "-c", "a; b"}, "sh  -c  'a; b'"},
      {{"/bin/bash", "-lc", "a; b", "x y"}, "/bin/bash  -lc  'a; b'  'x y'"},
      {{"sh", "-e", "-c", "a; b"}, "sh  -e  -c  'a; b'"},
      {{"bash", "-o", "pipefail", "-c", "a | b"}, "bash  -o  pipefail  -c  'a | b'"},
      {{"bash", "-euo", "pipefail", "-c", "a; b"}, "bash  -euo  pipefail  -c  'a; b'"},
      {{"bash", "+O", "extglob", "--rcfile", "f", "--login", "-c", "a; b"},
       "bash  +O  extglob  --rcfile  f  --login  -c  'a; b'"},
      {{"/usr/bin/env", "A=$B", "sh", "-c", "a; b"}, "/usr/bin/env  A=$B  sh  -c  'a; b'"},
      {{"tini", "-g", "--", "bash", "-ec", "a; b"}, "tini  -g  --  bash  -ec  'a; b'"},
      {{"env", "tini", "--", "sh", "-c", "a; b"}, "env  tini  --  sh  -c  'a; b'"},
      {{"sh", "setup.sh", "-c", "$HOME"}, "sh  setup.sh  -c  $HOME"},
      {{"bash", "--", "setup.sh", "-c", "$X"}, "bash  --  setup.sh  -c  $X"},
      {{"echo", "sh", "-c", "$HOME"}, "echo  sh  -c  $HOME"},
      {{"tini", "--", "python", "-c", "$X"}, "tini  --  python  -c  $X"},
      {{"sh", "-c"}, "sh  -c"},
      {{"sh"}, "sh"},
      {{"env"}, "env"},
  };
  for (const auto& row : rows) {
    JsonObject container{{"command", row.command}};
    set_ray_command(container, "ray start ", false, {});
    const std::string text(array_of(container, "args").at(0).get_string());
    EXPECT_EQ(text.substr(0, text.find(" && ulimit")), " " + std::string(row.text) + " ");
  }
}

// spec/03 §3.10
TEST(Collector, IsWhateverHasItsName) {
  BuildOptions options;
  options.history_server = true;
  options.worker_sidecar_containers = {JsonObject{{"name", "ray-history-collector"}}};
  const RayCluster cluster = demo();
  const Json worker = build_worker_pod(cluster, cluster.spec.workerGroupSpecs[0], {}, options);
  EXPECT_EQ(env_of(container_of(worker), "RAY_enable_ray_event"), "true");
  EXPECT_EQ(names(array_of(container_of(worker), "volumeMounts")),
            (Strings{"shared-mem", "ray-logs"}));
  EXPECT_EQ(names(array_of(container_of(worker, 1), "volumeMounts")), (Strings{"ray-logs"}));
  const Json head = build_head_pod(cluster, options);
  EXPECT_EQ(env_of(container_of(head), "RAY_enable_ray_event"), "(absent)");
  options.history_server = false;
  const Json plain = build_worker_pod(cluster, cluster.spec.workerGroupSpecs[0], {}, options);
  EXPECT_EQ(env_of(container_of(plain), "RAY_enable_ray_event"), "(absent)");
}

TEST(Probes, ByRayVersion) {
  for (const auto* version : {"2.53.0", "v2.53", "2.53.0rc1", " 3.0", "2.100", "2.9999999999"})
    EXPECT_TRUE(version_at_least(version, 2, 53)) << version;
  for (const auto* version : {"2.52.9", "", "nightly", "2", "2.", "-2.53", "02.53", "2.-1"})
    EXPECT_FALSE(version_at_least(version, 2, 53)) << version;
}

TEST(WaitGcsScript, QuotesTheHostAndExpandsANamedPort) {
  EXPECT_TRUE(wait_gcs_script("a.b", "6379").starts_with("host=a.b port=6379\n"));
  EXPECT_TRUE(
      wait_gcs_script("x; rm", "${GCS_PORT}").starts_with("host='x; rm' port=\"${GCS_PORT}\"\n"));
  EXPECT_TRUE(wait_gcs_script("a", "$(id)").starts_with("host=a port='$(id)'\n"));
}

bool shell_accepts(const std::string& shell, const std::string& script) {
  FILE* pipe = popen((shell + " -n").c_str(), "w");
  if (pipe == nullptr) return false;
  fwrite(script.data(), 1, script.size(), pipe);
  return pclose(pipe) == 0;
}

// RS-24
TEST(WorkerPod, OfARayServiceDrainsItsNodeBeforeItGoes) {
  struct Row {
    const char* name;
    bool gate = true;
    const char* origin = "RayService";
    const char* pod_spec = "{}";
    const char* lifecycle = "null";
    bool hook = true;
    std::int64_t grace = 120;
    const char* deadline = "deadline=105\n";
  };
  const Row rows[] = {
      {"AsItIs"},
      {.name = "GateOff", .gate = false, .hook = false, .grace = 0},
      {.name = "OfARayCluster", .origin = "", .hook = false, .grace = 0},
      {.name = "UsersGrace",
       .pod_spec = R"({"terminationGracePeriodSeconds": 600})",
       .grace = 600,
       .deadline = "deadline=585\n"},
      {.name = "VeryShort",
       .pod_spec = R"({"terminationGracePeriodSeconds": 5})",
       .grace = 5,
       .deadline = "deadline=1\n"},
      {.name = "UsersHook", .lifecycle = R"({"postStart": {}})", .hook = false, .grace = 0},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    RayCluster cluster = demo();
    if (*row.origin) cluster.meta.labels["ray.io/originated-from-crd"] = row.origin;
    auto& group = cluster.spec.workerGroupSpecs[0];
    merge_patch(ensure(group.template_, {"spec"}), *parse_json(row.pod_spec));
    ensure(group.template_, {"spec", "containers"}).as_array()[0].as_object()["lifecycle"] =
        *parse_json(row.lifecycle);
    BuildOptions options;
    options.serve_drain = row.gate;
    const Json pod = build_worker_pod(cluster, group, {}, options);
    const Json& ray = array_at(pod, {"spec", "containers"}).at(0);
    const auto& command = array_at(ray, {"lifecycle", "preStop", "exec", "command"});
    ASSERT_EQ(command.size(), row.hook ? 3u : 0u);
    EXPECT_EQ(int_at(pod, {"spec", "terminationGracePeriodSeconds"}), row.grace);
    if (!row.hook) continue;
    const std::string script(command.at(2).as_string());
    EXPECT_NE(script.find(row.deadline), std::string::npos) << script;
    EXPECT_TRUE(shell_accepts("bash", script));
  }
}

TEST(Scripts, AreValidShell) {
  EXPECT_TRUE(shell_accepts("bash", wait_gcs_script("head", "6379")));
  EXPECT_TRUE(shell_accepts("sh", wait_gcs_script("head", "6379")));
  const Json job = build_redis_cleanup_job(demo(), {});
  const JsonObject& ray =
      array_at(job, {"spec", "template", "spec", "containers"}).at(0).as_object();
  EXPECT_TRUE(shell_accepts("bash", std::string(ray.at("args").as_array()[0].as_string())));
  BuildOptions options;
  options.mtls = true;
  const Json pod = build_head_pod(demo(R"({"spec": {"tlsOptions": {"enabled": true}}})"), options);
  const JsonObject& wait = array_at(pod, {"spec", "initContainers"}).at(0).as_object();
  EXPECT_EQ(text_in(wait, "name"), "wait-for-tls-ip-san");
  EXPECT_TRUE(shell_accepts("sh", std::string(wait.at("args").as_array()[0].as_string())));
}

}  // namespace
}  // namespace manta::ray
