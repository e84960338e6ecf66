// Runs seeds of the simulator, or replays one. What a seed is, and what must hold in it:
// src/sim/README.md.
#include "base/log.h"
#include "base/text.h"
#include "sim/run.h"
#include "sim/served_kinds.h"
#include "sim/shrink.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <charconv>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace {

using manta::sim::RunOptions;

constexpr std::string_view kUsage =
    R"(manta-sim [--seeds N] [--first K] [--jobs J] [--minutes M] [--plant P]
    runs seeds K … K+N-1; exits 1 when one fails, having printed what replays it
manta-sim --replay SEED [--plant P] [--without A,B] [--skip 1,2] [--faults N]
    runs one seed and prints all that happens
)";

struct Flags {
  std::uint64_t seeds = 100;
  std::uint64_t first = 1;
  unsigned jobs = std::max(1u, std::thread::hardware_concurrency());
  std::uint64_t minutes = 0;  // 0: as long as it takes
  bool replay = false;
  RunOptions run = {};
};

manta::Result<std::uint64_t> number(std::string_view flag, std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size())
    return manta::failed(manta::ErrorCode::Invalid,
                         fmt::format("{} takes a number, not \"{}\"", flag, text));
  return value;
}

manta::Result<void> read_flag(Flags& flags, std::string_view flag, std::string_view value) {
  if (flag == "--plant") {
    auto plant = manta::sim::parse_plant(value);
    if (!plant) return std::unexpected(plant.error());
    flags.run.plant = *plant;
    return {};
  }
  if (flag == "--without") {
    for (const auto& name : manta::split(value, ',')) {
      auto mischief = manta::sim::parse_mischief(name);
      if (!mischief) return std::unexpected(mischief.error());
      flags.run.without.insert(*mischief);
    }
    return {};
  }
  for (const auto& text : manta::split(value, ',')) {
    auto parsed = number(flag, text);
    if (!parsed) return std::unexpected(parsed.error());
    if (flag == "--seeds")
      flags.seeds = *parsed;
    else if (flag == "--first")
      flags.first = *parsed;
    else if (flag == "--jobs")
      flags.jobs = static_cast<unsigned>(std::max<std::uint64_t>(1, *parsed));
    else if (flag == "--minutes")
      flags.minutes = *parsed;
    else if (flag == "--faults")
      flags.run.most_faults = *parsed;
    else if (flag == "--skip")
      flags.run.skipped.insert(static_cast<int>(*parsed));
    else if (flag == "--replay")
      flags.replay = true, flags.run.seed = *parsed;
    else
      return manta::failed(manta::ErrorCode::Invalid, fmt::format("there is no flag {}", flag));
  }
  return {};
}

/// Seeds are full of what an operator calls an error; the failures would drown in it.
struct NoLog final : manta::log::Sink {
  void write(manta::log::Level, std::string_view,
             std::initializer_list<manta::log::Field>) override {}
};

int replay(RunOptions options) {
  options.trace = [](const std::string& line) { fmt::print("{}\n", line); };
  const auto outcome = manta::sim::run_seed(options);
  for (const auto& law : outcome.broken) fmt::print("BROKEN: {}\n", law);
  fmt::print("seed {}: {} (mischief: {}; {} faults, {} writes)\n", options.seed,
             outcome.broken.empty() ? "all laws hold" : "fails", to_string(outcome.mischiefs),
             outcome.faults, outcome.writes);
  return outcome.broken.empty() ? 0 : 1;
}

/// What a worker tells the parent, in memory that they share: so the parent knows even of a worker
/// that died which seed it was at.
struct Progress {
  std::uint64_t seed = 0;  // that it runs, or runs next
  std::uint64_t passed = 0;
  std::uint64_t failed = 0;
  std::uint64_t faults = 0;
  std::uint64_t writes = 0;
};

constexpr std::uint64_t kFailuresEnough = 5;  // of one worker

void report(const RunOptions& options, bool shrink) {
  const auto smallest = shrink ? manta::sim::shrink(options) : options;
  const auto outcome = manta::sim::run_seed(smallest);
  std::string text = fmt::format("seed {} fails. Replay: {}\n", options.seed,
                                 manta::sim::replay_command(smallest));
  for (const auto& law : outcome.broken) text += "  " + law + "\n";
  fmt::print("{}", text);
  std::fflush(stdout);
}

void work(const Flags& flags, Progress& progress, std::chrono::steady_clock::time_point end) {
  const auto last = flags.first + flags.seeds;
  for (; progress.seed < last; progress.seed += flags.jobs) {
    if (std::chrono::steady_clock::now() > end || progress.failed >= kFailuresEnough) return;
    auto options = flags.run;
    options.seed = progress.seed;
    const auto outcome = manta::sim::run_seed(options);
    progress.faults += outcome.faults;
    progress.writes += outcome.writes;
    if (outcome.broken.empty()) {
      ++progress.passed;
    } else {
      report(options, ++progress.failed == 1);
    }
  }
}

pid_t start(const Flags& flags, Progress& progress, std::chrono::steady_clock::time_point end) {
  std::fflush(stdout);
  const pid_t pid = fork();
  if (pid != 0) return pid;
  prctl(PR_SET_PDEATHSIG, SIGKILL);  // a run that is ended leaves nobody behind
  work(flags, progress, end);
  std::fflush(stdout);
  _exit(0);
}

int run_all(const Flags& flags) {
  const auto began = std::chrono::steady_clock::now();
  const auto end = flags.minutes == 0 ? std::chrono::steady_clock::time_point::max()
                                      : began + std::chrono::minutes{flags.minutes};
  void* shared = mmap(nullptr, sizeof(Progress) * flags.jobs, PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) {
    std::perror("manta-sim: mmap");
    return 2;
  }
  auto* progress = static_cast<Progress*>(shared);
  manta::sim::served_kinds(false);  // the workers have them in common
  std::vector<pid_t> workers;
  for (unsigned i = 0; i < flags.jobs; ++i) {
    progress[i] = {.seed = flags.first + i};
    workers.push_back(start(flags, progress[i], end));
  }
  for (unsigned i = 0; i < flags.jobs; ++i) {
    int status = 0;
    while (waitpid(workers[i], &status, 0) == workers[i] && status != 0) {
      fmt::print("seed {} ends the process (status {}). Replay: build/bin/manta-sim --replay {}\n",
                 progress[i].seed, status, progress[i].seed);
      ++progress[i].failed;
      progress[i].seed += flags.jobs;
      workers[i] = start(flags, progress[i], end);
    }
  }
  Progress all;
  for (unsigned i = 0; i < flags.jobs; ++i) {
    all.passed += progress[i].passed;
    all.failed += progress[i].failed;
    all.faults += progress[i].faults;
    all.writes += progress[i].writes;
  }
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
  fmt::print("{} faults, {} writes of the operator, {:.1f} seeds/s\n", all.faults, all.writes,
             static_cast<double>(all.passed + all.failed) / took.count());
  fmt::print("{} passed, {} failed\n", all.passed, all.failed);
  return all.failed == 0 && all.passed > 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  manta::log::set_sink(std::make_unique<NoLog>());
  Flags flags;
  for (int i = 1; i < argc; i += 2) {
    if (argv[i] == std::string_view("--help")) {
      fmt::print("{}", kUsage);
      return 0;
    }
    if (i + 1 == argc) {
      fmt::print(stderr, "manta-sim: {} needs a value\n", argv[i]);
      return 2;
    }
    if (auto read = read_flag(flags, argv[i], argv[i + 1]); !read) {
      fmt::print(stderr, "manta-sim: {}\n", read.error().message);
      return 2;
    }
  }
  return flags.replay ? replay(flags.run) : run_all(flags);
}
