#include "controllers/raycronjob/history.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

namespace manta::controllers::raycronjob {
namespace {

// RayJobs a, b, c … by age, oldest first, each with its state; "!": it is being deleted.
Children children(std::initializer_list<std::string_view> states) {
  Children out;
  for (auto state : states) {
    ray::RayJob job;
    const auto n = static_cast<int>(out.size());
    job.meta.key = {"ns", std::string(1, static_cast<char>('a' + n))};
    job.meta.created = Time{std::chrono::seconds{1000 + n}};
    if (state.starts_with('!')) {
      job.meta.deleting = job.meta.created;
      state.remove_prefix(1);
    }
    job.status.jobDeploymentStatus = state;
    out.push_back(std::make_shared<const ray::RayJob>(job));
  }
  return out;
}
std::string names(const Children& jobs) {
  std::string text;
  for (const auto& job : jobs) text += job->meta.key.name;
  return text;
}

struct Case {
  const char* name;
  std::initializer_list<std::string_view> states;
  std::optional<int> succeeded, failed;  // limits
  const char* active;
  const char* beyond;
};
const Case kCases[] = {
    {"None", {}, 0, 0, "", ""},
    {"WithoutLimitsAllStay", {"Complete", "Failed", "Complete"}, {}, {}, "", ""},
    {"TheOldestGo", {"Complete", "Complete", "Complete"}, 1, {}, "", "ab"},
    {"EachKindHasItsLimit", {"Complete", "Failed", "Complete", "Failed"}, 1, 1, "", "ab"},
    {"ZeroKeepsNone", {"Complete", "Failed"}, 0, 0, "", "ab"},
    {"ALimitAboveTheirNumber", {"Complete", "Failed"}, 5, 5, "", ""},
    {"AnInvalidOneHasFailed", {"ValidationFailed"}, {}, 0, "", "a"},
    {"WhatRunsIsNoHistory",
     {"", "Initializing", "Waiting", "Running", "Retrying", "Suspending", "Suspended"},
     0,
     0,
     "abcdefg",
     ""},
    {"WhatGoesAlreadyCountsNowhere", {"!Running", "!Complete", "Complete"}, 1, {}, "", ""},
};
class CronHistory : public ::testing::TestWithParam<Case> {};
TEST_P(CronHistory, Row) {  // CJ-08
  const auto& row = GetParam();
  const auto jobs = children(row.states);
  ray::RayCronJobSpec spec;
  if (row.succeeded) spec.successfulJobsHistoryLimit = *row.succeeded;
  if (row.failed) spec.failedJobsHistoryLimit = *row.failed;
  EXPECT_EQ(names(active_children(jobs)), row.active);
  EXPECT_EQ(names(beyond_limits(jobs, spec)), row.beyond);
}
INSTANTIATE_TEST_SUITE_P(, CronHistory, ::testing::ValuesIn(kCases),
                         [](auto& c) { return c.param.name; });

TEST(CronHistoryOrder, IsByAgeThenName) {
  auto jobs = children({"Complete", "Complete", "Complete"});
  std::swap(jobs[0], jobs[2]);  // a cache lists in any order
  ray::RayCronJobSpec spec;
  spec.successfulJobsHistoryLimit = 1;
  EXPECT_EQ(names(beyond_limits(jobs, spec)), "ab");
}

TEST(CronHistoryCount, IsOfThoseThatEnded) {
  EXPECT_EQ(ended_children(children({"Complete", "Failed", "ValidationFailed", "Running", ""})),
            3u);
}

TEST(CronHistoryDeletion, IsOfThisOneAndSaysWhy) {
  auto job = *children({"Complete"})[0];
  job.meta.uid = "a-uid";
  const auto write = delete_child(job, "the history limit is reached");
  EXPECT_EQ(write.kind, kube::WriteKind::Delete);
  EXPECT_EQ(write.precondition_uid, "a-uid");
  EXPECT_EQ(write.done_event->note, "Deleted RayJob ns/a: the history limit is reached");
}

}  // namespace
}  // namespace manta::controllers::raycronjob
