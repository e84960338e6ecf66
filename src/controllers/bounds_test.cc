// Kubernetes takes 32,768 bytes in a condition's message and refuses the whole status for one more;
// what users write is as long as they like.
#include "controllers/raycluster/plan.h"
#include "controllers/raycronjob/plan.h"
#include "controllers/rayjob/testing.h"
#include "controllers/rayservice/testing.h"

#include <gtest/gtest.h>

namespace manta::controllers {
namespace {

constexpr std::size_t kLong = 100'000;
constexpr std::size_t kMostOfKubernetes = 32'768;

// The message of the condition of that type; of any other only that it is short.
std::string told(const kube::Plan& plan, std::string_view type) {
  std::string out = "nothing";
  if (!plan.status) return out;
  for (const auto& condition : array_at(plan.status->body, {"status", "conditions"})) {
    const auto message = string_at(condition, {"message"});
    EXPECT_LE(message.size(), kMostOfKubernetes) << string_at(condition, {"type"});
    if (string_at(condition, {"type"}) == type) out = message;
  }
  EXPECT_LE(string_at(plan.status->body, {"status", "message"}).size(), kMostOfKubernetes);
  return out;
}
void expect_bounded(const std::string& message, std::string_view words) {
  EXPECT_NE(message.find(words), std::string::npos) << message;
  EXPECT_LE(message.size(), kMostOfKubernetes);
}

ray::RayClusterSpec two_groups_of_one_long_name() {
  auto spec = raycluster::testing::cluster().spec;
  spec.workerGroupSpecs.front().groupName = std::string(kLong, 'g');
  spec.workerGroupSpecs.push_back(spec.workerGroupSpecs.front());
  return spec;
}

TEST(Bounds, OfARayClustersConditions) {
  const auto plan_of = [](const ray::RayClusterSpec& spec) {
    auto cluster = raycluster::testing::cluster();
    cluster.spec = spec;
    const kube::Facts facts;
    const kube::Failures failures;
    return raycluster::plan(
        raycluster::testing::seen(std::move(cluster)), {},
        {.now = raycluster::testing::kNow, .facts = facts, .failures = failures});
  };
  expect_bounded(told(plan_of(two_groups_of_one_long_name()), "InvalidSpec"), "ggg");
  auto spec = raycluster::testing::cluster().spec;
  spec.rayVersion = std::string(kLong, '2');
  spec.authOptions = ray::AuthOptions{.mode = "token"};
  expect_bounded(told(plan_of(spec), "InvalidSpec"), "222");
}

TEST(Bounds, OfARayJobsStatus) {
  rayjob::testing::World mode(std::string(kLong, 'M'));
  mode.settle();
  ASSERT_EQ(mode.notices(), "UnknownSubmissionMode");
  expect_bounded(mode.job.status.conditions.at(0).message, "MMM");

  rayjob::testing::World env;
  env.job.spec.runtimeEnvYAML = "- " + std::string(kLong, 'e');
  env.settle();
  ASSERT_EQ(env.state(), "ValidationFailed//ValidationFailed");
  EXPECT_LE(env.job.status.message.size(), 512u);
  expect_bounded(env.job.status.message, "eee");

  rayjob::testing::World groups;
  groups.job.spec.rayClusterSpec = two_groups_of_one_long_name();
  groups.settle();
  ASSERT_EQ(groups.state(), "ValidationFailed//ValidationFailed");
  expect_bounded(groups.job.status.message, "ggg");

  rayjob::testing::World edited;
  edited.ready().ray_says("RUNNING");
  edited.job.spec.rayClusterSpec = two_groups_of_one_long_name();
  edited.settle();
  ASSERT_EQ(edited.notices(), "InvalidUpdate");
  expect_bounded(edited.job.status.conditions.at(0).message, "ggg");
}

struct RayServiceBounds : rayservice::testing::Table {};
TEST_F(RayServiceBounds, OfItsConditions) {
  rs.meta.annotations["ray.io/initializing-timeout"] = std::string(kLong, '9');
  expect_bounded(told(make(), "Ready"), "999");
  rs = rayservice::testing::service();
  rs.spec.rayClusterConfig = two_groups_of_one_long_name();
  expect_bounded(told(make(), "Ready"), "ggg");
}

TEST(Bounds, OfARayCronJobsConditions) {
  for (const bool zone : {false, true}) {
    ray::RayCronJob cron_job;
    cron_job.meta = {.key = {"ns", "k"}, .uid = "u", .created = raycluster::testing::kNow};
    cron_job.spec.schedule = zone ? "* * * * *" : std::string(kLong, 'x');
    if (zone) cron_job.spec.timeZone = std::string(kLong, 'x');
    cron_job.spec.jobTemplate.entrypoint = "python a.py";
    cron_job.spec.jobTemplate.rayClusterSpec = raycluster::testing::cluster().spec;
    const kube::Facts facts;
    const kube::Failures failures;
    const auto plan = raycronjob::plan(
        {.cron_job = std::make_shared<const ray::RayCronJob>(cron_job),
         .has_job = [](const kube::ObjectKey&) { return false; }},
        {}, {.now = raycluster::testing::kNow, .facts = facts, .failures = failures});
    expect_bounded(told(plan, "Invalid"), "xxx");
  }
}

}  // namespace
}  // namespace manta::controllers
