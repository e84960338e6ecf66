#include "controllers/rayservice/serve_config_faults.h"

#include "controllers/rayservice/serve_config.h"
#include "controllers/rayservice/testing.h"

#include <gmock/gmock.h>

namespace manta::controllers::rayservice {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

std::vector<std::string> faults(std::string_view yaml) {
  return serve_config_faults(*parse_serve_config(yaml));
}

TEST(ServeConfigFaults, WhatRayTakesHasNone) {
  for (const auto* yaml : {
           "applications: [{import_path: 'a:b'}]",
           "applications: [{import_path: a.b, name: x, route_prefix: null, deployments: null}]",
           "applications: [{import_path: 'a:b', name: x, route_prefix: /x, runtime_env: {pip: []}, "
           "deployments: [{name: D, num_replicas: auto}], unheard_of: 7}, {import_path: 'a:c'}]",
           "{http_options: {port: 9000}, proxy_location: EveryNode, applications: "
           "[{import_path: 'a:b'}]}",
       })
    EXPECT_THAT(faults(yaml), ElementsAre()) << yaml;
}

TEST(ServeConfigFaults, EachNamesItsPlaceWhatStandsThereAndWhatMay) {
  struct Case {
    const char* yaml;
    const char* fault;
  };
  for (const auto& [yaml, fault] : {
           Case{"a: 1", "applications: it is missing; it lists what is served"},
           {"import_path: 'a:b'",
            "applications: it is missing; an import_path stands in one of its "
            "entries, not beside it"},
           {"applications:", "applications: it is null, and must be a list"},
           {"applications: {name: x}", R"(applications: it is {"name":"x"}, and must be a list)"},
           {"applications: []", "applications: it is empty, so nothing is served"},
           {"applications: [x]",
            R"(applications[0]: it is "x", and must be a mapping with the key import_path)"},
           {"applications: [{name: x}]",
            "applications[0].import_path: it is missing; it says what is served, as module:app"},
           {"applications: [{import_path: app}]",
            R"(applications[0].import_path: it is "app", and must be a text like module:app)"},
           {"applications: [{import_path: 7}]",
            "applications[0].import_path: it is 7, and must be a text like module:app"},
           {"applications: [{import_path: 'a:b', name: 3}]",
            "applications[0].name: it is 3, and must be a text"},
           {"applications: [{import_path: 'a:b', route_prefix: x}]",
            R"(applications[0].route_prefix: it is "x", and must be a path that begins with /)"},
           {"applications: [{import_path: 'a:b', runtime_env: pip}]",
            R"(applications[0].runtime_env: it is "pip", and must be a mapping)"},
           {"applications: [{import_path: 'a:b', deployments: {D: 1}}]",
            R"(applications[0].deployments: it is {"D":1}, and must be a list)"},
           {"applications: [{import_path: 'a:b', deployments: [{num_replicas: 1}]}]",
            "applications[0].deployments[0].name: it is missing"},
       })
    EXPECT_THAT(faults(yaml), ElementsAre(std::string("spec.serveConfigV2.") + fault)) << yaml;
}

TEST(ServeConfigFaults, TwoOfOneNameOrRoute) {
  EXPECT_THAT(
      faults("applications: [{import_path: 'a:b'}, {import_path: 'a:c'}]"),
      ElementsAre(R"(spec.serveConfigV2.applications[1].name: applications[0] has "default" )"
                  "as well",
                  R"(spec.serveConfigV2.applications[1].route_prefix: applications[0] has )"
                  R"("/" as well)"));
}

TEST(ServeConfigFaults, OfManyAFewAreTold) {
  EXPECT_THAT(faults("applications: [1, 2, 3, 4, 5, 6, 7, 8]"), SizeIs(5));
  EXPECT_THAT(faults("applications: '" + std::string(100'000, 'x') + "'").at(0).size(),
              ::testing::Lt(300u));
}

// The whole controller, before there is a cluster that could be asked.
struct EarlyTable : testing::Table {
  EarlyTable() { rs.status.pendingServiceStatus.rayClusterName = "s-abcde"; }
  kube::Plan with(std::string config) {
    rs.spec.serveConfigV2 = std::move(config);
    seen.pending = with_head(cluster("s-abcde", false));
    return make();
  }
  static std::string ready(const kube::Plan& plan) {
    for (const auto& condition : array_at(plan.status->body, {"status", "conditions"}))
      if (string_at(condition, {"type"}) == "Ready")
        return std::string(string_at(condition, {"message"}));
    return {};
  }
};

TEST_F(EarlyTable, TextThatIsNoYamlIsToldAtOnceWithItsLine) {
  const auto plan = with("applications:\n- name: a\n  {b");
  EXPECT_THAT(ready(plan), HasSubstr("Waiting: reading spec.serveConfigV2: YAML: line 3"));
  ASSERT_THAT(plan.events, SizeIs(1));
  EXPECT_EQ(plan.events[0].reason, "FailedToUpdateServeApplications");
  EXPECT_THAT(plan.events[0].note, HasSubstr("line 3"));
}

TEST_F(EarlyTable, AWrongShapeIsToldAtOnce) {
  EXPECT_THAT(ready(with("applications: {name: x}")),
              HasSubstr(R"(Waiting: spec.serveConfigV2.applications: it is {"name":"x"}, and must )"
                        "be a list"));
}

TEST_F(EarlyTable, WhatRayHasTakenItHasJudged) {
  rs.status.activeServiceStatus.rayClusterName = "s-abcde";
  rs.status.pendingServiceStatus = {};
  rs.spec.serveConfigV2 = "applications: [{name: a}]";
  seen.active = with_head(cluster("s-abcde", true));
  answer("s-abcde", testing::kRunning);
  const auto plan = make();
  if (plan.status) EXPECT_THAT(ready(plan), ::testing::Not(HasSubstr("import_path")));
}

}  // namespace
}  // namespace manta::controllers::rayservice
