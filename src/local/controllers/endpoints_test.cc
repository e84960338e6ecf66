#include "local/controllers/endpoints.h"

#include <gtest/gtest.h>

namespace manta::local {
namespace {

struct PodSpec {
  bool ready = true;
  bool deleting = false;
  const char* phase = "Running";
  const char* ip = "10.0.0.1";
  std::int64_t named_port = 8080;
};

struct Case {
  const char* name;
  const char* spec;
  std::vector<PodSpec> pods;
  const char* subsets;
  const char* slice;  // "ip ready serving terminating port; …" of each slice
};

const char* const kPlain = R"({"selector":{"a":"b"},"ports":[{"port":80,"targetPort":"http"}]})";

const Case kCases[] = {
    {"Ready", kPlain, {{}}, "10.0.0.1:8080", "10.0.0.1 +ready +serving :8080"},
    {"NotReady", kPlain, {{.ready = false}}, "(10.0.0.1):8080", "10.0.0.1 :8080"},
    {"PublishedThoughNotReady",
     R"({"selector":{"a":"b"},"publishNotReadyAddresses":true,"ports":[{"port":80}]})",
     {{.ready = false}},
     "10.0.0.1:80",
     "10.0.0.1 +ready :80"},
    {"Terminating", kPlain, {{.deleting = true}}, "", "10.0.0.1 +serving +terminating :8080"},
    {"Ended", kPlain, {{.phase = "Succeeded"}}, "", ""},
    {"NoAddressYet", kPlain, {{.ip = ""}}, "", ""},
    {"HeadlessWithoutPorts",
     R"({"clusterIP":"None","selector":{"a":"b"}})",
     {{}},
     "10.0.0.1",
     "10.0.0.1 +ready +serving"},
    {"PortsThatDifferMakeGroups",
     kPlain,
     {{}, {.ip = "10.0.0.2", .named_port = 9}},
     "10.0.0.1:8080 10.0.0.2:9",
     "10.0.0.1 +ready +serving :8080; 10.0.0.2 +ready +serving :9"},
    {"WithoutSelectorTheyAreTheUsers", R"({"ports":[{"port":80}]})", {{}}, "none", "none"},
};

EndpointsSeen see(const Case& row) {
  ServiceView service{.spec = *parse_json(row.spec)};
  service.meta.key = {"ns", "svc"};
  EndpointsSeen seen{.service = std::make_shared<ServiceView>(service)};
  for (const auto& spec : row.pods) {
    PodView pod{.phase = spec.phase, .pod_ip = spec.ip, .ready = spec.ready};
    pod.named_ports = {{"http", spec.named_port}};
    if (spec.deleting) pod.meta.deleting = Time{};
    seen.pods.push_back(std::make_shared<PodView>(std::move(pod)));
  }
  return seen;
}

std::string ports(const Json& object) {
  std::string text;
  for (const auto& port : array_at(object, {"ports"}))
    text += ":" + std::to_string(int_at(port, {"port"}));
  return text;
}

std::string subsets_of(const kube::Plan& plan) {
  for (const auto& stage : plan.stages)
    for (const auto& write : stage) {
      if (write.resource != kube::kEndpoints) continue;
      std::string text;
      for (const auto& subset : array_at(write.body, {"subsets"})) {
        text += text.empty() ? "" : " ";
        for (const auto& address : array_at(subset, {"addresses"}))
          text += string_at(address, {"ip"});
        for (const auto& address : array_at(subset, {"notReadyAddresses"}))
          text += "(" + std::string(string_at(address, {"ip"})) + ")";
        text += ports(subset);
      }
      return text;
    }
  return "none";
}

std::string slices_of(const kube::Plan& plan) {
  std::string text;
  bool any = false;
  for (const auto& stage : plan.stages)
    for (const auto& write : stage) {
      if (write.resource != kube::kEndpointSlices) continue;
      text += any ? "; " : "";
      any = true;
      for (const auto& endpoint : array_at(write.body, {"endpoints"})) {
        text += array_at(endpoint, {"addresses"})[0].as_string();
        for (const auto* condition : {"ready", "serving", "terminating"})
          if (bool_at(endpoint, {"conditions", condition})) text += std::string(" +") + condition;
      }
      if (const auto listed = ports(write.body); !listed.empty()) text += " " + listed;
    }
  return any ? text : "none";
}

class PlanEndpoints : public testing::TestWithParam<Case> {};
TEST_P(PlanEndpoints, Row) {
  const auto plan = plan_endpoints(see(GetParam()), {Time{}, {}, {}});
  EXPECT_EQ(subsets_of(plan), GetParam().subsets);
  EXPECT_EQ(slices_of(plan), GetParam().slice);
}
INSTANTIATE_TEST_SUITE_P(, PlanEndpoints, testing::ValuesIn(kCases),
                         [](const auto& row) { return row.param.name; });

TEST(PlanEndpointsLaw, SettledWorldNeedsNoWrite) {
  auto seen = see(kCases[0]);
  const auto first = plan_endpoints(seen, {Time{}, {}, {}});
  for (const auto& write : first.stages.at(0)) {
    EndpointsView view{.object = write.body};
    if (write.resource == kube::kEndpoints)
      seen.endpoints = std::make_shared<EndpointsView>(view);
    else
      seen.slices.push_back(std::make_shared<EndpointsView>(view));
  }
  EXPECT_TRUE(plan_endpoints(seen, {Time{}, {}, {}}).stages.empty());
}

}  // namespace
}  // namespace manta::local
