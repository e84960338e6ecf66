// The smaller pure parts of the node: hosts files, service rules, cgroup numbers, addresses, QoS,
// wget.
#include "local/node/cgroups.h"
#include "local/node/leftovers.h"
#include "local/node/network.h"
#include "local/node/pod_spec.h"
#include "local/node/prober.h"
#include "local/node/services.h"
#include "local/node/volumes.h"
#include "local/node/wget.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <filesystem>
#include <set>

namespace manta::local {
namespace {

struct CgroupCase {
  const char* name;
  Resources resources;
  std::int64_t shares, weight, quota, memory;
};
const CgroupCase kCgroups[] = {
    {"BestEffort", {}, 2, 1, -1, -1},
    {"OneCpu", {.cpu_request_milli = 1000, .cpu_limit_milli = 1000}, 1024, 39, 100'000, -1},
    {"TinyRequest", {.cpu_request_milli = 1}, 2, 1, -1, -1},
    {"HalfACpuLimit", {.cpu_request_milli = 100, .cpu_limit_milli = 500}, 102, 4, 50'000, -1},
    {"TinyLimitGetsTheLeastQuota", {.cpu_limit_milli = 1}, 2, 1, 1000, -1},
    {"Memory", {.memory_request = 1, .memory_limit = 64 << 20}, 2, 1, -1, 64 << 20},
};
class CgroupNumbers : public testing::TestWithParam<CgroupCase> {};
TEST_P(CgroupNumbers, Row) {
  const auto& c = GetParam();
  const auto v = compute_cgroup_values(c.resources);
  EXPECT_EQ(v.cpu_shares, c.shares);
  EXPECT_EQ(v.cpu_weight, c.weight);
  EXPECT_EQ(v.cpu_quota_us, c.quota);
  EXPECT_EQ(v.memory_bytes, c.memory);
}
INSTANTIATE_TEST_SUITE_P(, CgroupNumbers, testing::ValuesIn(kCgroups),
                         [](auto& c) { return c.param.name; });

std::shared_ptr<const NodeServiceView> service(std::string_view json) {
  return std::make_shared<const NodeServiceView>(*project_node_service(*parse_json(json)));
}
std::shared_ptr<const NodeSliceView> slice(std::string_view json) {
  return std::make_shared<const NodeSliceView>(*project_node_slice(*parse_json(json)));
}

const NodeServices kServicesSeen = {
    service(
        R"({"metadata":{"name":"head","namespace":"a"},"spec":{"clusterIP":"None","ports":[{"name":"gcs","port":6379}]}})"),
    service(
        R"({"metadata":{"name":"web","namespace":"b"},"spec":{"clusterIP":"10.96.0.9","ports":[{"name":"http","port":80,"nodePort":30080}]}})")};
const NodeSlices kSlicesSeen = {
    slice(
        R"({"metadata":{"name":"head-x","namespace":"a","labels":{"kubernetes.io/service-name":"head"}},
      "endpoints":[{"addresses":["10.244.0.2"],"conditions":{"ready":true}},{"addresses":["10.244.0.3"],"conditions":{"ready":false}}],"ports":[{"name":"gcs","port":6379}]})"),
    slice(
        R"({"metadata":{"name":"web-x","namespace":"b","labels":{"kubernetes.io/service-name":"web"}},
      "endpoints":[{"addresses":["10.244.0.4"]}],"ports":[{"name":"http","port":8080}]})")};

TEST(ServiceHosts, HeadlessNamesLeadToReadyPodsAndOthersToTheClusterIp) {
  const std::vector<HostsEntry> want = {
      {"10.244.0.2", {"head.a.svc.cluster.local", "head.a.svc", "head.a", "head"}},
      {"10.96.0.9", {"web.b.svc.cluster.local", "web.b.svc", "web.b"}}};
  EXPECT_EQ(service_hosts(kServicesSeen, kSlicesSeen, "a", "cluster.local"), want);
}

TEST(ProxyRules, ListenOnTheServicesPortsAndLeadToTheTargets) {
  const auto rules = proxy_rules(kServicesSeen, kSlicesSeen);
  const std::vector<ProxyRule> want = {{"", 30080, {{"10.244.0.4", 8080}}},
                                       {"10.96.0.9", 80, {{"10.244.0.4", 8080}}}};
  EXPECT_EQ(rules, want);
}

TEST(HostsBlock, IsReplacedAndRemovedWithoutTouchingTheRest) {
  const std::string original = "127.0.0.1 localhost\n10.0.0.1 mine";
  const auto once = replace_hosts_block(original, "ab", {{"10.96.0.9", {"web.b"}}});
  EXPECT_EQ(
      once,
      "127.0.0.1 localhost\n10.0.0.1 mine\n# BEGIN manta ab\n10.96.0.9\tweb.b\n# END manta ab\n");
  const auto twice = replace_hosts_block(once, "ab", {{"10.96.0.8", {"web.b"}}});
  EXPECT_EQ(twice.find("10.96.0.9"), std::string::npos);
  EXPECT_EQ(replace_hosts_block(twice, "ab", {}), original + "\n");
  EXPECT_EQ(replace_hosts_block(twice, "other", {}), twice) << "another instance's block stays";
}

TEST(ChooseSubnet, AvoidsWhatTheHostRoutes) {
  EXPECT_EQ(format_ipv4(choose_subnet({})->address), "10.244.0.0");
  EXPECT_EQ(format_ipv4(choose_subnet({*parse_ipv4_net("10.244.3.0/24")})->address), "10.245.0.0");
  EXPECT_FALSE(choose_subnet({*parse_ipv4_net("10.0.0.0/8")}));
}

TEST(AddressPool, ReusesAnAddressOnlyWhenAllHaveBeenUsed) {
  AddressPool pool(*parse_ipv4_net("10.1.0.0/29"));
  std::set<std::uint32_t> taken;
  for (int i = 0; i < 5; ++i) taken.insert(*pool.take());
  EXPECT_EQ(taken.size(), 5u);
  EXPECT_EQ(format_ipv4(*taken.begin()), "10.1.0.2");
  EXPECT_EQ(format_ipv4(*taken.rbegin()), "10.1.0.6");
  EXPECT_FALSE(pool.take());
  pool.give_back(*taken.begin());
  EXPECT_EQ(*pool.take(), *taken.begin());
}

PodSpec pod(std::string_view resources) {
  const auto text =
      std::string(
          R"({"metadata":{"name":"p","namespace":"n"},"spec":{"containers":[{"name":"c","resources":)") +
      std::string(resources) + "}]}}";
  return *parse_pod(std::make_shared<const Json>(*parse_json(text)));
}

TEST(QosClass, FollowsRequestsAndLimits) {
  EXPECT_EQ(qos_class(pod("{}")), "BestEffort");
  EXPECT_EQ(qos_class(pod(R"({"limits":{"cpu":1,"memory":"1Gi"}})")), "Guaranteed");
  EXPECT_EQ(qos_class(pod(R"({"limits":{"cpu":1}})")), "Burstable");
  EXPECT_EQ(qos_class(pod(
                R"({"requests":{"cpu":"500m","memory":"1Gi"},"limits":{"cpu":1,"memory":"1Gi"}})")),
            "Burstable");
}

TEST(ParsePod, ReadsPortsByName) {
  const auto spec = parse_pod(std::make_shared<const Json>(*parse_json(
      R"({"metadata":{"name":"p","namespace":"n"},"spec":{"containers":[{"name":"c","ports":[{"name":"web","containerPort":8080}],
      "readinessProbe":{"httpGet":{"port":"web"},"periodSeconds":3}}]}})")));
  ASSERT_TRUE(spec);
  EXPECT_EQ(spec->containers[0].readiness->handler.port, 8080);
  EXPECT_EQ(spec->containers[0].readiness->period, std::chrono::seconds{3});
}

TEST(ParsePod, NamesABadQuantity) {
  const auto spec = parse_pod(std::make_shared<const Json>(*parse_json(
      R"({"metadata":{"name":"p","namespace":"n"},"spec":{"containers":[{"name":"c","resources":{"limits":{"memory":"lots"}}}]}})")));
  ASSERT_FALSE(spec);
  EXPECT_NE(spec.error().message.find("resources.limits.memory"), std::string::npos)
      << spec.error().message;
}

TEST(Volumes, UnknownKindsSayWhatThereIs) {
  const auto kind = volume_kind(*parse_json(R"({"name":"v","nfs":{"server":"s"}})"));
  ASSERT_FALSE(kind);
  EXPECT_NE(kind.error().message.find("type nfs"), std::string::npos);
}

TEST(Volumes, FilesOfASecretWithItemsAndModes) {
  PodObjects objects;
  objects.secrets["s"] = *parse_json(R"({"data":{"a":"MQ==","b":"Mg=="}})");
  const auto volume = *parse_json(
      R"({"name":"v","secret":{"secretName":"s","defaultMode":256,"items":[{"key":"a","path":"x/a","mode":420}]}})");
  const PodSpec spec = pod("{}");
  const NodeFacts node;
  const auto files = build_volume_files(spec, volume, {objects, node});
  ASSERT_TRUE(files);
  EXPECT_EQ(*files, (std::vector<VolumeFile>{{"x/a", "1", 0644}}));
}

TEST(Volumes, AMissingKeyIsNamedAndAPathMayNotLeave) {
  PodObjects objects;
  objects.config_maps["m"] = *parse_json(R"({"data":{"a":"1"}})");
  const PodSpec spec = pod("{}");
  const NodeFacts node;
  const auto missing = build_volume_files(
      spec,
      *parse_json(R"({"name":"v","configMap":{"name":"m","items":[{"key":"z","path":"z"}]}})"),
      {objects, node});
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().message, "references non-existent config key: z");
  EXPECT_FALSE(build_volume_files(
      spec,
      *parse_json(R"({"name":"v","configMap":{"name":"m","items":[{"key":"a","path":"../a"}]}})"),
      {objects, node}));
}

TEST(HttpProbe, AsksAsTheKubeletAndJudgesTheStatus) {
  Handler handler;
  handler.port = 8265;
  handler.path = "/x";
  handler.headers = {{"Host", "h"}};
  EXPECT_EQ(build_probe_request(handler, "10.0.0.1"),
            "GET /x HTTP/1.1\r\nHost: h\r\nUser-Agent: kube-probe/1.35\r\nAccept: "
            "*/*\r\nConnection: close\r\n\r\n");
  EXPECT_TRUE(judge_probe_answer("HTTP/1.1 302 Found\r\n").ok);
  EXPECT_EQ(judge_probe_answer("HTTP/1.1 503 Busy\r\n").message,
            "HTTP probe failed with statuscode: 503");
  EXPECT_FALSE(judge_probe_answer("hello").ok);
}

TEST(Wget, UnderstandsWhatRaysProbesSay) {
  const char* argv[] = {
      "wget", "--tries", "1",   "-T",
      "2",    "-q",      "-O-", "http://localhost:52365/api/local_raylet_healthz"};
  const auto call = parse_wget(8, argv);
  ASSERT_TRUE(call) << call.error().message;
  EXPECT_EQ(call->host, "localhost");
  EXPECT_EQ(call->port, "52365");
  EXPECT_EQ(call->path, "/api/local_raylet_healthz");
  EXPECT_EQ(call->output, "-");
  EXPECT_EQ(call->timeout_seconds, 2);
  EXPECT_TRUE(call->quiet);
  const char* secure[] = {"wget", "https://x"};
  EXPECT_FALSE(parse_wget(2, secure));
}

TEST(Leftovers, FilesOfPodsThatAreNoMore) {
  char name[] = "/tmp/manta-node-XXXXXX";
  ASSERT_NE(mkdtemp(name), nullptr);
  const std::string folder = name;
  for (const auto* path :
       {"/pods/a-1/volumes", "/pods/b-2", "/logs/ns_pod_a-1/c", "/logs/ns_x_b-2"})
    std::filesystem::create_directories(folder + path);
  auto paths = abandoned_pod_files(folder, {"a-1"});
  std::ranges::sort(paths);
  EXPECT_EQ(paths, (std::vector<std::string>{folder + "/logs/ns_x_b-2", folder + "/pods/b-2"}));
  EXPECT_TRUE(abandoned_pod_files(folder + "/none", {}).empty());
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace manta::local
