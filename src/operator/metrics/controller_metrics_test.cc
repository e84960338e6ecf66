#include "operator/metrics/controller_metrics.h"

#include <gtest/gtest.h>

namespace manta::operator_ {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

const kube::ObjectKey kA{"n", "a"}, kB{"n", "b"};

struct Desk {
  Time now{seconds{1000}};
  ControllerMetrics metrics{[this] { return now; }, 3};
  bool shows(std::string_view line) const {
    MetricsPage page(MetricsFormat::Text);
    metrics.write_to(page);
    const auto text = "\n" + std::move(page).finish();
    return text.find("\n" + std::string(line) + "\n") != std::string::npos;
  }
};

TEST(ControllerMetrics, BeginAtNothingWhenStarted) {
  Desk desk;
  EXPECT_FALSE(
      desk.shows(R"(controller_runtime_reconcile_total{controller="c",result="success"} 0)"));
  desk.metrics.started("c");
  for (const auto* result : {"success", "error", "requeue", "requeue_after"})
    EXPECT_TRUE(
        desk.shows(std::string(R"(controller_runtime_reconcile_total{controller="c",result=")") +
                   result + "\"} 0"));
  EXPECT_TRUE(desk.shows(R"(controller_runtime_max_concurrent_reconciles{controller="c"} 3)"));
  EXPECT_TRUE(desk.shows(R"(controller_runtime_reconcile_panics_total{controller="c"} 0)"));
  EXPECT_TRUE(desk.shows(R"(workqueue_depth{controller="c",name="c",priority="0"} 0)"));
}

TEST(ControllerMetrics, FollowAnObject) {
  Desk desk;
  desk.metrics.queued("c", kA);
  desk.metrics.queued("c", kB);
  EXPECT_TRUE(desk.shows(R"(workqueue_depth{controller="c",name="c",priority="0"} 2)"));
  desk.now += milliseconds{20};
  desk.metrics.began("c", kA);
  desk.now += seconds{2};
  EXPECT_TRUE(desk.shows(R"(controller_runtime_active_workers{controller="c"} 1)"));
  EXPECT_TRUE(desk.shows(R"(workqueue_unfinished_work_seconds{controller="c",name="c"} 2)"));
  desk.metrics.ended("c", kA, kube::PassEnd::Error);
  EXPECT_TRUE(desk.shows(R"(controller_runtime_active_workers{controller="c"} 0)"));
  EXPECT_TRUE(desk.shows(R"(controller_runtime_reconcile_errors_total{controller="c"} 1)"));
  EXPECT_TRUE(desk.shows(R"(controller_runtime_reconcile_time_seconds_sum{controller="c"} 2)"));
  EXPECT_TRUE(
      desk.shows(R"(workqueue_queue_duration_seconds_bucket{controller="c",name="c",le="0.1"} 1)"));
  EXPECT_TRUE(desk.shows(
      R"(workqueue_queue_duration_seconds_bucket{controller="c",name="c",le="0.01"} 0)"));
  EXPECT_TRUE(desk.shows(R"(workqueue_adds_total{controller="c",name="c"} 2)"));
  EXPECT_TRUE(desk.shows(R"(workqueue_retries_total{controller="c",name="c"} 1)"));
}

TEST(ControllerMetrics, AClockThatWasSetBackTakesNothing) {
  Desk desk;
  desk.metrics.queued("c", kA);
  desk.now -= seconds{100};
  desk.metrics.began("c", kA);
  desk.now -= seconds{100};
  desk.metrics.ended("c", kA, kube::PassEnd::Success);
  EXPECT_TRUE(desk.shows(R"(controller_runtime_reconcile_time_seconds_sum{controller="c"} 0)"));
}

}  // namespace
}  // namespace manta::operator_
