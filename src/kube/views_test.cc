// What a Pod's view says of its trouble. Source: the statuses that kubelet and scheduler write.
#include "kube/views.h"

#include <gtest/gtest.h>

namespace manta::kube {
namespace {

std::string trouble(std::string_view status) {
  const Json pod = JsonObject{{"metadata", {{"name", "p"}}}, {"status", *parse_json(status)}};
  const auto view = project_pod(pod);
  EXPECT_TRUE(view);
  return view && view->trouble ? *view->trouble : "";
}

TEST(PodTrouble, IsInTheWordsOfSchedulerAndNode) {
  EXPECT_EQ(trouble(R"({"containerStatuses":[{"name":"c","state":{"running":{}}}]})"), "");
  EXPECT_EQ(trouble(R"({"conditions":[{"type":"PodScheduled","status":"False",
                        "reason":"Unschedulable","message":"0/1 nodes"}]})"),
            "Unschedulable: 0/1 nodes");
  EXPECT_EQ(trouble(R"({"containerStatuses":[{"name":"c","state":{"terminated":{
                        "exitCode":3,"reason":"Error","message":"no key"}}}]})"),
            "container c exited with code 3: Error: no key");
}

TEST(PodTrouble, ABackOffSaysWhatItIsFor) {
  EXPECT_EQ(
      trouble(R"({"containerStatuses":[{"name":"c",
                        "state":{"waiting":{"reason":"CrashLoopBackOff","message":"back-off 10s"}},
                        "lastState":{"terminated":{"exitCode":137,"reason":"OOMKilled"}}}]})"),
      "container c is waiting: CrashLoopBackOff: back-off 10s; before: exit code 137 (OOMKilled)");
  EXPECT_EQ(trouble(R"({"initContainerStatuses":[{"name":"i",
                        "state":{"waiting":{"reason":"CrashLoopBackOff"}},
                        "lastState":{"terminated":{"exitCode":2}}}]})"),
            "init container i is waiting: CrashLoopBackOff; before: exit code 2");
}

TEST(PodTrouble, IsShortAndItsEndStays) {
  const auto text = trouble(R"({"phase":"Failed","reason":"Evicted","message":")" +
                            std::string(5000, 'x') + R"( low on memory"})");
  EXPECT_LE(text.size(), 512u);
  EXPECT_TRUE(text.ends_with(" low on memory")) << text;
}

}  // namespace
}  // namespace manta::kube
