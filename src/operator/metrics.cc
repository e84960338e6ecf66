#include "operator/metrics.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>

namespace manta::operator_ {
namespace {

std::string family(std::string_view name, std::string_view type, std::string_view help) {
  return fmt::format("# HELP {0} {1}\n# TYPE {0} {2}\n", name, help, type);
}

double seconds_of(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
}

}  // namespace

void Metrics::planned(std::string_view controller, const kube::ObjectKey&, Duration took) {
  auto& counts = controllers_[std::string(controller)];
  ++counts.plans;
  counts.plan_seconds += std::chrono::duration<double>(took).count();
}

void Metrics::wrote(std::string_view controller, const kube::Write&, const Result<Json>& answer) {
  auto& counts = controllers_[std::string(controller)];
  ++counts.writes;
  if (!answer) ++counts.write_errors;
}

std::string process_metrics() {
  std::string text;
  std::size_t virtual_pages = 0, resident_pages = 0;
  std::ifstream("/proc/self/statm") >> virtual_pages >> resident_pages;
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  std::size_t files = 0;
  std::error_code ignored;
  for ([[maybe_unused]] const auto& entry :
       std::filesystem::directory_iterator("/proc/self/fd", ignored))
    ++files;
  text += family("process_cpu_seconds_total", "counter",
                 "Total user and system CPU time spent in seconds.");
  text += fmt::format("process_cpu_seconds_total {}\n",
                      seconds_of(usage.ru_utime) + seconds_of(usage.ru_stime));
  text += family("process_open_fds", "gauge", "Number of open file descriptors.");
  text += fmt::format("process_open_fds {}\n", files);
  text += family("process_resident_memory_bytes", "gauge", "Resident memory size in bytes.");
  text += fmt::format("process_resident_memory_bytes {}\n", resident_pages * page);
  text += family("process_virtual_memory_bytes", "gauge", "Virtual memory size in bytes.");
  text += fmt::format("process_virtual_memory_bytes {}\n", virtual_pages * page);
  return text;
}

std::string Metrics::text() const {
  auto text = process_metrics();
  text += family("controller_runtime_reconcile_total", "counter",
                 "Total number of reconciliations per controller");
  for (const auto& [name, counts] : controllers_)
    text += fmt::format(
        "controller_runtime_reconcile_total{{controller=\"{}\",result=\"success\"}} {}\n", name,
        counts.plans);
  text += family("controller_runtime_reconcile_errors_total", "counter",
                 "Total number of reconciliation errors per controller");
  for (const auto& [name, counts] : controllers_)
    text += fmt::format("controller_runtime_reconcile_errors_total{{controller=\"{}\"}} {}\n", name,
                        counts.write_errors);
  text += family("manta_plan_seconds_total", "counter", "Time spent in planners");
  for (const auto& [name, counts] : controllers_)
    text += fmt::format("manta_plan_seconds_total{{controller=\"{}\"}} {}\n", name,
                        counts.plan_seconds);
  text += family("manta_writes_total", "counter", "Writes that planners asked for");
  for (const auto& [name, counts] : controllers_)
    text += fmt::format("manta_writes_total{{controller=\"{}\"}} {}\n", name, counts.writes);
  return text;
}

}  // namespace manta::operator_
