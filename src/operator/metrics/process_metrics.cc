#include "operator/metrics/process_metrics.h"

#include <malloc.h>
#include <sys/resource.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <limits>
#include <sstream>

namespace manta::operator_ {
namespace {

double seconds_of(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
}

double limit_of(int what) {
  rlimit limit{};
  ::getrlimit(static_cast<__rlimit_resource>(what), &limit);
  return limit.rlim_cur == RLIM_INFINITY
             ? static_cast<double>(std::numeric_limits<std::uint64_t>::max())
             : static_cast<double>(limit.rlim_cur);
}

std::size_t open_files() {
  std::size_t count = 0;
  std::error_code failure;
  std::filesystem::directory_iterator file("/proc/self/fd", failure);
  for (; !failure && file != std::filesystem::directory_iterator(); file.increment(failure))
    ++count;
  return count;
}

// Field 22 of /proc/self/stat, in ticks since boot. The command, field 2, may hold blanks.
double start_seconds() {
  std::ifstream stat("/proc/self/stat");
  std::string text;
  std::getline(stat, text);
  const auto command_end = text.rfind(')');
  if (command_end == std::string::npos) return 0;
  std::istringstream fields(text.substr(command_end + 1));
  std::string skipped;
  for (int field = 3; field < 22; ++field) fields >> skipped;
  double ticks = 0;
  fields >> ticks;
  std::ifstream system("/proc/stat");
  std::string word;
  double boot = 0;
  while (system >> word)
    if (word == "btime") {
      system >> boot;
      break;
    }
  return boot + ticks / static_cast<double>(::sysconf(_SC_CLK_TCK));
}

// Of /proc/self/status.
double threads() {
  std::ifstream status("/proc/self/status");
  std::string line;
  while (std::getline(status, line))
    if (line.starts_with("Threads:")) return std::strtod(line.c_str() + 8, nullptr);
  return 0;
}

// Dashboards made for the reference ask for these of Go's runtime. Those are served that mean the
// same of a C++ program's heap; there is no garbage collector and are no goroutines to tell of.
void write_heap_metrics(MetricsPage& page) {
  using enum MetricType;
  const auto heap = ::mallinfo2();
  const auto one = [&](std::string_view family, std::string_view help, std::size_t value) {
    page.family(family, Gauge, help);
    page.sample("", static_cast<double>(value));
  };
  const auto allocated = heap.uordblks + heap.hblkhd, system = heap.arena + heap.hblkhd;
  one("go_memstats_alloc_bytes", "Bytes allocated on the heap and in use", allocated);
  one("go_memstats_heap_alloc_bytes", "Bytes allocated on the heap and in use", allocated);
  one("go_memstats_heap_inuse_bytes", "Bytes allocated on the heap and in use", allocated);
  one("go_memstats_heap_idle_bytes", "Bytes of the heap that wait to be used", heap.fordblks);
  one("go_memstats_heap_sys_bytes", "Bytes of the heap, taken from the system", system);
  one("go_memstats_sys_bytes", "Bytes taken from the system", system);
  one("go_threads", "Threads of the process", static_cast<std::size_t>(threads()));
}

struct Network {
  double received = 0, sent = 0;
};
// The namespace's IP octets: a line of names, then a line of numbers.
Network network() {
  std::ifstream file("/proc/self/net/netstat");
  std::string names, numbers;
  while (std::getline(file, names) && std::getline(file, numbers)) {
    if (!names.starts_with("IpExt:")) continue;
    std::istringstream name_words(names), number_words(numbers);
    std::string name, number;
    Network out;
    while (name_words >> name && number_words >> number) {
      if (name == "InOctets") out.received = std::strtod(number.c_str(), nullptr);
      if (name == "OutOctets") out.sent = std::strtod(number.c_str(), nullptr);
    }
    return out;
  }
  return {};
}

}  // namespace

void write_process_metrics(MetricsPage& page) {
  using enum MetricType;
  const auto one = [&](std::string_view family, MetricType type, std::string_view help,
                       double value) {
    page.family(family, type, help);
    page.sample("", value);
  };
  double virtual_pages = 0, resident_pages = 0;
  std::ifstream("/proc/self/statm") >> virtual_pages >> resident_pages;
  const auto page_bytes = static_cast<double>(::sysconf(_SC_PAGESIZE));
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto octets = network();
  one("process_cpu_seconds_total", Counter, "User and system CPU time",
      seconds_of(usage.ru_utime) + seconds_of(usage.ru_stime));
  one("process_max_fds", Gauge, "How many files may be open", limit_of(RLIMIT_NOFILE));
  one("process_open_fds", Gauge, "Open files", static_cast<double>(open_files()));
  one("process_resident_memory_bytes", Gauge, "Resident memory", resident_pages * page_bytes);
  one("process_start_time_seconds", Gauge, "When the process began, since 1970", start_seconds());
  one("process_virtual_memory_bytes", Gauge, "Virtual memory", virtual_pages * page_bytes);
  one("process_virtual_memory_max_bytes", Gauge, "How much virtual memory there may be",
      limit_of(RLIMIT_AS));
  one("process_network_receive_bytes_total", Counter, "Bytes that came over the network",
      octets.received);
  one("process_network_transmit_bytes_total", Counter, "Bytes that left over the network",
      octets.sent);
  write_heap_metrics(page);
}

}  // namespace manta::operator_
