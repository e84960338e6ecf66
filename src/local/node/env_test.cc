#include "local/node/env.h"

#include <gtest/gtest.h>

namespace manta::local {
namespace {

struct ExpandCase {
  const char* name;
  const char* text;
  const char* want;
};
const ExpandCase kExpand[] = {
    {"Known", "a $(X) b", "a 1 b"},
    {"Unknown", "$(NOPE)", "$(NOPE)"},
    {"Escaped", "$$(X)", "$(X)"},
    {"DoubleEscaped", "$$$$(X)", "$$(X)"},
    {"LoneDollar", "cost: 5$", "cost: 5$"},
    {"ShellVariable", "$X ${X}", "$X ${X}"},
    {"Unclosed", "$(X", "$(X"},
    {"Twice", "$(X)$(Y)", "12"},
    {"ValueIsNotExpandedAgain", "$(Z)", "$(X)"},
};
class Expand : public testing::TestWithParam<ExpandCase> {};
TEST_P(Expand, Row) {
  EXPECT_EQ(expand(GetParam().text, {{"X", "1"}, {"Y", "2"}, {"Z", "$(X)"}}), GetParam().want);
}
INSTANTIATE_TEST_SUITE_P(, Expand, testing::ValuesIn(kExpand),
                         [](auto& c) { return c.param.name; });

PodSpec pod_from(std::string_view text) {
  auto pod = parse_pod(std::make_shared<const Json>(*parse_json(text)));
  EXPECT_TRUE(pod) << (pod ? "" : pod.error().message);
  return std::move(*pod);
}

const NodeFacts kNode{"192.168.0.9", 4000, 8ll << 30};

std::map<std::string, std::string> env_of(const PodSpec& pod, const PodObjects& objects = {},
                                          std::vector<ServiceEnv> services = {}) {
  auto env = build_env(pod, pod.containers[0],
                       {objects, kNode, "10.244.0.5", std::move(services), {{"PATH", "/bin"}}});
  EXPECT_TRUE(env) << (env ? "" : env.error().message);
  return env ? std::map<std::string, std::string>(env->begin(), env->end())
             : std::map<std::string, std::string>{};
}

constexpr std::string_view kPod =
    R"j({"metadata":{"name":"p","namespace":"ns","uid":"u","labels":{"app":"x"}},
  "spec":{"nodeName":"n","containers":[{"name":"c","resources":{"limits":{"cpu":"1500m","memory":"2Gi"}},"env":[
  {"name":"NAME","valueFrom":{"fieldRef":{"fieldPath":"metadata.name"}}},
  {"name":"IP","valueFrom":{"fieldRef":{"fieldPath":"status.podIP"}}},
  {"name":"HOST","valueFrom":{"fieldRef":{"fieldPath":"status.hostIP"}}},
  {"name":"APP","valueFrom":{"fieldRef":{"fieldPath":"metadata.labels['app']"}}},
  {"name":"CPU","valueFrom":{"resourceFieldRef":{"resource":"limits.cpu"}}},
  {"name":"MILLI","valueFrom":{"resourceFieldRef":{"resource":"limits.cpu","divisor":"1m"}}},
  {"name":"MEM","valueFrom":{"resourceFieldRef":{"resource":"limits.memory","divisor":"1Mi"}}},
  {"name":"FULL","value":"$(NAME).$(APP)"},
  {"name":"LATER","value":"$(NOT_YET)"},{"name":"NOT_YET","value":"1"}]}]}})j";

TEST(BuildEnv, RefersToThePodAndToEarlierVariables) {
  const auto env = env_of(pod_from(kPod));
  const std::map<std::string, std::string> want = {
      {"NAME", "p"},    {"IP", "10.244.0.5"}, {"HOST", "192.168.0.9"},
      {"APP", "x"},     {"CPU", "2"},         {"MILLI", "1500"},
      {"MEM", "2048"},  {"FULL", "p.x"},      {"LATER", "$(NOT_YET)"},
      {"NOT_YET", "1"}, {"PATH", "/bin"},     {"HOSTNAME", "p"}};
  EXPECT_EQ(env, want);
}

constexpr std::string_view kRefs =
    R"({"metadata":{"name":"p","namespace":"ns"},"spec":{"containers":[{"name":"c",
  "envFrom":[{"prefix":"P_","configMapRef":{"name":"m"}},{"secretRef":{"name":"gone","optional":true}}],
  "env":[{"name":"S","valueFrom":{"secretKeyRef":{"name":"s","key":"k"}}},
         {"name":"O","valueFrom":{"configMapKeyRef":{"name":"m","key":"none","optional":true}}}]}]}})";

TEST(BuildEnv, ReadsConfigMapsAndSecrets) {
  PodObjects objects;
  const auto pod = pod_from(kRefs);
  collect_env_objects(pod, objects);
  EXPECT_TRUE(objects.config_maps.contains("m") && objects.secrets.contains("s") &&
              objects.secrets.contains("gone"));
  objects.config_maps["m"] = *parse_json(R"({"data":{"a":"1"}})");
  objects.secrets["s"] = *parse_json(R"({"data":{"k":"c2VjcmV0"}})");
  const auto env = env_of(pod, objects);
  EXPECT_EQ(env.at("P_a"), "1");
  EXPECT_EQ(env.at("S"), "secret");
  EXPECT_FALSE(env.contains("O"));
}

TEST(BuildEnv, SaysWhatIsMissingAsTheKubeletDoes) {
  const auto pod = pod_from(kRefs);
  PodObjects objects;
  auto env = build_env(pod, pod.containers[0], {objects, kNode});
  ASSERT_FALSE(env);
  EXPECT_EQ(env.error().message, "configmap \"m\" not found");
  objects.config_maps["m"] = *parse_json(R"({"data":{}})");
  objects.secrets["s"] = *parse_json(R"({"data":{}})");
  env = build_env(pod, pod.containers[0], {objects, kNode});
  ASSERT_FALSE(env);
  EXPECT_EQ(env.error().message, "couldn't find key k in Secret ns/s");
}

TEST(BuildEnv, TellsOfServices) {
  const auto pod = pod_from(
      R"({"metadata":{"name":"p","namespace":"ns"},"spec":{"containers":[{"name":"c"}]}})");
  const auto env =
      env_of(pod, {}, {{"ray-head", "10.96.0.7", {{"gcs", "TCP", 6379}, {"dash", "TCP", 8265}}}});
  EXPECT_EQ(env.at("RAY_HEAD_SERVICE_HOST"), "10.96.0.7");
  EXPECT_EQ(env.at("RAY_HEAD_SERVICE_PORT"), "6379");
  EXPECT_EQ(env.at("RAY_HEAD_SERVICE_PORT_DASH"), "8265");
  EXPECT_EQ(env.at("RAY_HEAD_PORT"), "tcp://10.96.0.7:6379");
  EXPECT_EQ(env.at("RAY_HEAD_PORT_8265_TCP_ADDR"), "10.96.0.7");
}

TEST(BuildEnv, ServiceLinksCanBeOffButTheApiServerIsStillNamed) {
  const auto pod = pod_from(
      R"({"metadata":{"name":"p","namespace":"ns"},"spec":{"enableServiceLinks":false,"containers":[{"name":"c"}]}})");
  const auto env = env_of(pod, {},
                          {{"other", "10.96.0.7", {{"", "TCP", 1}}},
                           {"kubernetes", "10.96.0.1", {{"https", "TCP", 443}}}});
  EXPECT_FALSE(env.contains("OTHER_SERVICE_HOST"));
  EXPECT_EQ(env.at("KUBERNETES_SERVICE_HOST"), "10.96.0.1");
}

TEST(BuildArgv, CommandReplacesTheEntrypointAndArgsTheImagesCommand) {
  ContainerSpec c;
  const std::vector<std::string> entry = {"/e"}, command = {"cmd"};
  using V = std::vector<std::string>;
  EXPECT_EQ(build_argv(c, entry, command, {}), (V{"/e", "cmd"}));
  c.args = {"$(A)"};
  EXPECT_EQ(build_argv(c, entry, command, {{"A", "1"}}), (V{"/e", "1"}));
  c.command = {"x"};
  EXPECT_EQ(build_argv(c, entry, command, {{"A", "1"}}), (V{"x", "1"}));
  c.args.clear();
  EXPECT_EQ(build_argv(c, entry, command, {}), (V{"x"}));
}

}  // namespace
}  // namespace manta::local
