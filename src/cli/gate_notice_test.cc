#include "cli/gate_notice.h"

#include "base/async.h"
#include "base/virtual_loop.h"
#include "cli/daemon_parts.h"
#include "local/apiserver/api_server.h"
#include "local/apiserver/store.h"
#include "ray/types.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace manta::cli {
namespace {

constexpr std::string_view kCronJob =
    R"({"apiVersion":"ray.io/v1","kind":"RayCronJob","metadata":{"namespace":"default"},
        "spec":{"schedule":"* * * * *","jobTemplate":{}}})";

class GateNotice : public ::testing::Test {
 protected:
  GateNotice() { EXPECT_TRUE(loop.run(install_crds(api))); }
  ~GateNotice() override {
    scope.request_stop();
    EXPECT_TRUE(loop.run_until([&] { return scope.running() == 0; }, std::chrono::minutes{1}));
  }
  void create(std::string name) {
    auto object = *parse_json(kCronJob);
    object.as_object()["metadata"].as_object()["name"] = std::move(name);
    const auto made = loop.run(api.create(ray::kRayCronJobs, std::move(object)));
    ASSERT_TRUE(made) << made.error().message;
  }
  std::vector<std::string> told() {
    std::vector<std::string> out;
    const auto list = *loop.run(api.list(kube::kEvents, "default"));
    for (const auto& event : array_at(list, {"items"})) {
      EXPECT_EQ(string_at(event, {"type"}), "Warning");
      EXPECT_TRUE(
          string_at(event, {"note"})
              .contains("run: manta --data-dir /d down && manta --data-dir /d up --feature-gates "
                        "RayCronJob=true"));
      out.push_back(std::string(string_at(event, {"regarding", "name"})) + " " +
                    std::string(string_at(event, {"reason"})));
    }
    return out;
  }

  VirtualLoop loop;
  SeededRandom random{7};
  std::unique_ptr<local::Store> store = std::move(*local::Store::open({}));
  local::ApiServer api{loop, random, *store};
  Scope scope{loop};
};

TEST_F(GateNotice, EachCronJobIsToldOnce) {
  create("there-before");
  scope.spawn("notice", tell_of_the_cron_job_gate(loop, api, random, "manta --data-dir /d",
                                                  scope.stop_token()));
  loop.run_for(std::chrono::seconds{5});
  EXPECT_EQ(told(), std::vector<std::string>{"there-before RayCronJobGateOff"});
  create("later");
  const auto edited =
      loop.run(api.patch(ray::kRayCronJobs, {"default", "there-before"}, kube::PatchType::Merge,
                         JsonObject{{"spec", {{"schedule", "0 * * * *"}}}}));
  ASSERT_TRUE(edited) << edited.error().message;
  loop.run_for(std::chrono::minutes{5});
  auto both = told();
  std::ranges::sort(both);
  EXPECT_EQ(both, (std::vector<std::string>{"later RayCronJobGateOff",
                                            "there-before RayCronJobGateOff"}));
}

}  // namespace
}  // namespace manta::cli
