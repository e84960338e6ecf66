// What the runtimes do, as controller-runtime's and its work queues' families. Source: spec/08 §4.
#pragma once

#include "kube/runtime.h"
#include "operator/metrics/page.h"

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <string>

namespace manta::operator_ {

/// A controller's series begin when it is started: on the leader.
class ControllerMetrics final : public kube::RuntimeObserver {
 public:
  /// `concurrency` is only told: the configured number of workers.
  ControllerMetrics(std::function<Time()> clock, int concurrency)
      : clock_(std::move(clock)), concurrency_(concurrency) {}

  void started(std::string_view controller) override;
  void queued(std::string_view controller, const kube::ObjectKey& key) override;
  void began(std::string_view controller, const kube::ObjectKey& key) override;
  void ended(std::string_view controller, const kube::ObjectKey& key, kube::PassEnd end) override;
  void planned(std::string_view controller, const kube::ObjectKey& key, Duration took) override;
  void wrote(std::string_view controller, const kube::Write& write,
             const Result<Json>& answer) override;

  void write_to(MetricsPage& page) const;

 private:
  struct Controller {
    Controller();
    std::array<std::uint64_t, 3> ends = {};  // by kube::PassEnd
    std::uint64_t adds = 0, retries = 0, writes = 0;
    double plan_seconds = 0;
    Buckets pass_seconds, queue_seconds, work_seconds;
    std::map<kube::ObjectKey, Time> waiting = {}, working = {};  // since
  };
  Controller& of(std::string_view name);
  void write_reconciles(MetricsPage& page) const;
  void write_queues(MetricsPage& page) const;

  std::function<Time()> clock_;
  int concurrency_;
  std::map<std::string, Controller, std::less<>> controllers_ = {};
};

}  // namespace manta::operator_
