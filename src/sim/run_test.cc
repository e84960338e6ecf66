// A few seeds, under the sanitizers; `make sim` runs thousands, optimised.
#include "sim/run.h"

#include "sim/script.h"
#include "sim/shrink.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace manta::sim {
namespace {

std::vector<std::string> trace_of(RunOptions options) {
  std::vector<std::string> lines;
  options.trace = [&](const std::string& line) { lines.push_back(line); };
  (void)run_seed(options);
  return lines;
}

class Seed : public testing::TestWithParam<int> {};

TEST_P(Seed, BreaksNoLaw) {
  const RunOptions options{.seed = static_cast<std::uint64_t>(GetParam())};
  const auto outcome = run_seed(options);
  EXPECT_TRUE(outcome.broken.empty())
      << fmt::format("{}\n", fmt::join(outcome.broken, "\n")) << replay_command(options);
}

INSTANTIATE_TEST_SUITE_P(, Seed, testing::Range(1, 9));

TEST(Run, IsTheSameEachTime) {
  const auto first = trace_of({.seed = 3});
  EXPECT_GT(first.size(), 100u);
  EXPECT_EQ(first, trace_of({.seed = 3}));
  EXPECT_NE(first, trace_of({.seed = 4}));
}

// What the product must not do, done between it and Kubernetes: a simulator that lets that pass
// would let the bug pass, too.
class PlantedBug : public testing::TestWithParam<Plant> {};

TEST_P(PlantedBug, IsFound) {
  constexpr std::uint64_t kEnough = 60;
  for (std::uint64_t seed = 1; seed <= kEnough; ++seed) {
    RunOptions options{.seed = seed, .plant = GetParam()};
    if (run_seed(options).broken.empty()) continue;
    options.plant = Plant::None;
    EXPECT_TRUE(run_seed(options).broken.empty()) << "it fails without the bug, too";
    return;
  }
  FAIL() << kEnough << " seeds did not find it";
}

INSTANTIATE_TEST_SUITE_P(, PlantedBug,
                         testing::Values(Plant::IgnoreConflicts, Plant::ForgetWrites,
                                         Plant::DropEvent),
                         [](const auto& info) {
                           std::string name(to_string(info.param));
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

TEST(Shrink, LeavesLessThatStillFails) {
  RunOptions failing{.plant = Plant::ForgetWrites};
  while (run_seed(failing).broken.empty()) ASSERT_LT(++failing.seed, 60u);
  const auto smallest = shrink(failing);
  EXPECT_FALSE(run_seed(smallest).broken.empty());
  EXPECT_GT(smallest.skipped.size() + smallest.without.size(), 0u);
  EXPECT_LE(trace_of(smallest).size(), trace_of(failing).size());
}

TEST(Script, LeavingOutAMischiefChangesNoOtherStep) {
  const auto all = write_script(11, all_mischiefs());
  auto fewer = all_mischiefs();
  fewer.erase(Mischief::PodsFail);
  const auto rest = write_script(11, fewer);
  EXPECT_LT(rest.steps.size(), all.steps.size());
  for (const auto& step : rest.steps) {
    const auto same = std::ranges::find(all.steps, step.number, &Step::number);
    ASSERT_NE(same, all.steps.end());
    EXPECT_EQ(step.to_string(), same->to_string());
    EXPECT_EQ(step.at, same->at);
  }
}

}  // namespace
}  // namespace manta::sim
