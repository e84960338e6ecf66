// /metrics: what the process uses, and what its controllers did, in Prometheus' text format.
#pragma once

#include "kube/runtime.h"

#include <cstdint>
#include <map>
#include <string>

namespace manta::operator_ {

/// Counts what the runtimes report.
class Metrics final : public kube::RuntimeObserver {
 public:
  void planned(std::string_view controller, const kube::ObjectKey& key, Duration took) override;
  void wrote(std::string_view controller, const kube::Write& write,
             const Result<Json>& answer) override;

  /// The whole page.
  std::string text() const;

 private:
  struct Counts {
    std::uint64_t plans = 0;
    double plan_seconds = 0;
    std::uint64_t writes = 0;
    std::uint64_t write_errors = 0;
  };
  std::map<std::string, Counts, std::less<>> controllers_ = {};
};

/// Resident memory, CPU time, open files and start time of this process.
std::string process_metrics();

}  // namespace manta::operator_
