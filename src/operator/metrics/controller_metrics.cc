#include "operator/metrics/controller_metrics.h"

#include <algorithm>

namespace manta::operator_ {
namespace {

using enum MetricType;

constexpr double kPassBounds[] = {0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3,  0.35,
                                  0.4,   0.45, 0.5,   0.6,  0.7, 0.8,  0.9, 1,    1.25, 1.5,
                                  1.75,  2,    2.5,   3,    3.5, 4,    4.5, 5,    6,    7,
                                  8,     9,    10,    15,   20,  25,   30,  40,   50,   60};
constexpr double kQueueBounds[] = {1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3,
                                   1e-2, 1e-1, 1,    10,   100,  1000};

double seconds(Duration span) { return std::chrono::duration<double>(span).count(); }

// How long ago, and no less than nothing when the clock was set back.
double seconds_since(Time then, Time now) { return std::max(0.0, seconds(now - then)); }

std::string of_controller(std::string_view name) { return metric_labels({{"controller", name}}); }
std::string of_queue(std::string_view name) {
  return metric_labels({{"controller", name}, {"name", name}});
}

}  // namespace

ControllerMetrics::Controller::Controller()
    : pass_seconds(kPassBounds), queue_seconds(kQueueBounds), work_seconds(kQueueBounds) {}

ControllerMetrics::Controller& ControllerMetrics::of(std::string_view name) {
  const auto found = controllers_.find(name);
  return found != controllers_.end() ? found->second : controllers_[std::string(name)];
}

void ControllerMetrics::started(std::string_view controller) { of(controller); }

void ControllerMetrics::queued(std::string_view controller, const kube::ObjectKey& key) {
  auto& counts = of(controller);
  ++counts.adds;
  counts.waiting[key] = clock_();
}

void ControllerMetrics::began(std::string_view controller, const kube::ObjectKey& key) {
  auto& counts = of(controller);
  const auto now = clock_();
  if (const auto since = counts.waiting.find(key); since != counts.waiting.end()) {
    counts.queue_seconds.observe(seconds_since(since->second, now));
    counts.waiting.erase(since);
  }
  counts.working[key] = now;
}

void ControllerMetrics::ended(std::string_view controller, const kube::ObjectKey& key,
                              kube::PassEnd end) {
  auto& counts = of(controller);
  ++counts.ends[static_cast<std::size_t>(end)];
  if (end != kube::PassEnd::Success) ++counts.retries;
  const auto since = counts.working.find(key);
  if (since == counts.working.end()) return;
  const auto took = seconds_since(since->second, clock_());
  counts.pass_seconds.observe(took);
  counts.work_seconds.observe(took);
  counts.working.erase(since);
}

void ControllerMetrics::planned(std::string_view controller, const kube::ObjectKey&,
                                Duration took) {
  of(controller).plan_seconds += std::max(0.0, seconds(took));
}

void ControllerMetrics::wrote(std::string_view controller, const kube::Write&,
                              const Result<Json>&) {
  ++of(controller).writes;
}

void ControllerMetrics::write_reconciles(MetricsPage& page) const {
  page.family("controller_runtime_reconcile_total", Counter,
              "Passes over objects, by how they ended");
  for (const auto& [name, counts] : controllers_) {
    const auto result = [&](std::string_view text, std::uint64_t count) {
      page.sample(metric_labels({{"controller", name}, {"result", text}}),
                  static_cast<double>(count));
    };
    result("error", counts.ends[static_cast<std::size_t>(kube::PassEnd::Error)]);
    result("requeue", 0);  // nothing of ours asks for it
    result("requeue_after", counts.ends[static_cast<std::size_t>(kube::PassEnd::RequeueAfter)]);
    result("success", counts.ends[static_cast<std::size_t>(kube::PassEnd::Success)]);
  }
  const auto each = [&](std::string_view family, MetricType type, std::string_view help,
                        auto value) {
    page.family(family, type, help);
    for (const auto& [name, counts] : controllers_) page.sample(of_controller(name), value(counts));
  };
  const auto count = [](auto number) { return static_cast<double>(number); };
  const auto none = [](const Controller&) { return 0.0; };
  each("controller_runtime_reconcile_errors_total", Counter, "Passes in which a write failed",
       [&](const Controller& c) {
         return count(c.ends[static_cast<std::size_t>(kube::PassEnd::Error)]);
       });
  each("controller_runtime_terminal_reconcile_errors_total", Counter,
       "Errors that are not tried again: none are", none);
  each("controller_runtime_reconcile_panics_total", Counter, "A panic ends the process", none);
  each("controller_runtime_reconcile_timeouts_total", Counter, "Passes have no time limit", none);
  each("controller_runtime_max_concurrent_reconciles", Gauge, "The configured concurrency",
       [&](const Controller&) { return count(concurrency_); });
  each("controller_runtime_active_workers", Gauge, "Objects that are worked on now",
       [&](const Controller& c) { return count(c.working.size()); });
  each("controller_runtime_reconcile_time_seconds", Histogram, "How long a pass took",
       [](const Controller& c) -> const auto& { return c.pass_seconds; });
  each("manta_plan_seconds_total", Counter, "Time spent in planners",
       [](const Controller& c) { return c.plan_seconds; });
  each("manta_writes_total", Counter, "Writes that planners asked for",
       [&](const Controller& c) { return count(c.writes); });
}

void ControllerMetrics::write_queues(MetricsPage& page) const {
  const auto now = clock_();
  page.family("workqueue_depth", Gauge, "Objects that wait for their turn");
  for (const auto& [name, counts] : controllers_)
    page.sample(metric_labels({{"controller", name}, {"name", name}, {"priority", "0"}}),
                static_cast<double>(counts.waiting.size()));
  const auto each = [&](std::string_view family, MetricType type, std::string_view help,
                        auto value) {
    page.family(family, type, help);
    for (const auto& [name, counts] : controllers_) page.sample(of_queue(name), value(counts));
  };
  each("workqueue_adds_total", Counter, "Times that an object had something to do",
       [](const Controller& c) { return static_cast<double>(c.adds); });
  each("workqueue_retries_total", Counter, "Times that an object was put off",
       [](const Controller& c) { return static_cast<double>(c.retries); });
  each("workqueue_queue_duration_seconds", Histogram, "How long an object waited for its turn",
       [](const Controller& c) -> const auto& { return c.queue_seconds; });
  each("workqueue_work_duration_seconds", Histogram, "How long a pass took",
       [](const Controller& c) -> const auto& { return c.work_seconds; });
  each("workqueue_unfinished_work_seconds", Gauge, "Age of all passes under way together",
       [now](const Controller& c) {
         double sum = 0;
         for (const auto& [key, since] : c.working) sum += seconds_since(since, now);
         return sum;
       });
  each("workqueue_longest_running_processor_seconds", Gauge, "Age of the oldest pass under way",
       [now](const Controller& c) {
         double longest = 0;
         for (const auto& [key, since] : c.working)
           longest = std::max(longest, seconds_since(since, now));
         return longest;
       });
}

void ControllerMetrics::write_to(MetricsPage& page) const {
  write_reconciles(page);
  write_queues(page);
}

}  // namespace manta::operator_
