#include "cli/pod_words.h"

#include <gtest/gtest.h>

namespace manta::cli {
namespace {

struct Case {
  const char* name;
  const char* status;
  const char* state;
  const char* trouble;
};

const Case kCases[] = {
    {"Fresh", "{}", "Pending", ""},
    {"Unschedulable",
     R"({"conditions":[{"type":"PodScheduled","status":"False","reason":"Unschedulable","message":"0/1 nodes"}]})",
     "Pending", "Unschedulable: 0/1 nodes"},
    {"ImageMissing",
     R"({"phase":"Pending","conditions":[{"type":"PodScheduled","status":"True"}],
         "containerStatuses":[{"name":"c","state":{"waiting":{"reason":"ErrImagePull","message":"run manta image add"}}}]})",
     "ContainerCreating", "container c: ErrImagePull: run manta image add"},
    {"InitRunning",
     R"({"phase":"Pending","conditions":[{"type":"PodScheduled","status":"True"}],
         "initContainerStatuses":[{"name":"i","state":{"running":{}}}],
         "containerStatuses":[{"name":"c","state":{"waiting":{"reason":"PodInitializing"}}}]})",
     "Init:0/1", ""},
    {"InitFailed",
     R"({"phase":"Pending","conditions":[{"type":"PodScheduled","status":"True"}],
         "initContainerStatuses":[{"name":"i","state":{"terminated":{"exitCode":3,"reason":"Error"}}}]})",
     "Init:0/1", "init container i: exit code 3 (Error)"},
    {"CrashLoop",
     R"({"phase":"Running","containerStatuses":[{"name":"c",
         "state":{"waiting":{"reason":"CrashLoopBackOff","message":"back-off 10s"}},
         "lastState":{"terminated":{"exitCode":137,"reason":"OOMKilled"}}}]})",
     "Running", "container c: CrashLoopBackOff: back-off 10s; before: exit code 137 (OOMKilled)"},
    {"Ready",
     R"({"phase":"Running","conditions":[{"type":"Ready","status":"True"}],
         "containerStatuses":[{"name":"c","state":{"running":{}},"lastState":{"terminated":{"exitCode":1}}}]})",
     "Ready", ""},
    {"Evicted", R"({"phase":"Failed","reason":"Evicted","message":"low on memory"})", "Failed",
     "Evicted: low on memory"},
    {"Done", R"({"phase":"Succeeded"})", "Completed", ""},
};

class PodWords : public testing::TestWithParam<Case> {};
TEST_P(PodWords, Row) {
  const Json pod = JsonObject{{"status", *parse_json(GetParam().status)}};
  EXPECT_EQ(pod_state(pod), GetParam().state);
  EXPECT_EQ(pod_trouble(pod), GetParam().trouble);
}
INSTANTIATE_TEST_SUITE_P(, PodWords, testing::ValuesIn(kCases),
                         [](const auto& row) { return row.param.name; });

TEST(PodCrashes, OfAContainerTheLastBadEnd) {
  const auto crashes = pod_crashes(*parse_json(R"({"status":{"phase":"Failed",
    "initContainerStatuses":[{"name":"fetch","state":{"terminated":{"exitCode":3,"reason":"Error"}},
      "lastState":{"terminated":{"exitCode":4}}},{"name":"done","state":{"terminated":{"exitCode":0}}}],
    "containerStatuses":[{"name":"head","state":{"waiting":{"reason":"CrashLoopBackOff"}},
      "lastState":{"terminated":{"exitCode":137,"reason":"OOMKilled"}}},
      {"name":"again","state":{"running":{}},"lastState":{"terminated":{"exitCode":1}}},
      {"name":"fine","state":{"running":{}}}]}})"));
  ASSERT_EQ(crashes.size(), 3u);
  EXPECT_EQ(crashes[0].container, "fetch");
  EXPECT_EQ(crashes[0].why, "exit code 3 (Error)");
  EXPECT_FALSE(crashes[0].previous);
  EXPECT_EQ(crashes[1].container, "head");
  EXPECT_EQ(crashes[1].why, "exit code 137 (OOMKilled)");
  EXPECT_TRUE(crashes[1].previous) << "by the time it is read, it may run again";
  EXPECT_EQ(crashes[2].container, "again");
  EXPECT_TRUE(crashes[2].previous);
}

TEST(PodCrashes, WhatIsStartedAgainIsGivenTheTimeToWriteItsLastWords) {
  EXPECT_TRUE(pod_crashes(*parse_json(R"({"status":{"phase":"Running","containerStatuses":[
      {"name":"head","state":{"terminated":{"exitCode":2}}}]}})"))
                  .empty());
}

TEST(PodTrouble, NamesASchedulerThatIsNotHere) {
  EXPECT_NE(pod_trouble(*parse_json(R"({"spec":{"schedulerName":"volcano"}})")).find("volcano"),
            std::string::npos);
}

}  // namespace
}  // namespace manta::cli
