#include "write_faults.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <ostream>
#include <set>

namespace manta::integration {
namespace {

using kube::CallFault;

class Purposes final : public kube::RuntimeObserver {
 public:
  void wrote(std::string_view controller, const kube::Write& write, const Result<Json>&) override {
    // Of a group's lane the group does not matter; NetworkPolicies have lanes of their own names.
    auto lane = std::string_view(write.lane).substr(0, write.lane.find('/'));
    if (lane == write.key.name) lane = "its own";
    auto purpose =
        fmt::format("{}: {} {}{}{} ({})", controller, to_string(write.kind), write.resource.kind,
                    write.subresource.empty() ? "" : "/", write.subresource, lane);
    if (in_a_life) tried.insert(purpose);
    seen.insert(std::move(purpose));
  }

  bool in_a_life = false;
  std::set<std::string> seen = {};
  std::set<std::string> tried = {};
};
Purposes& purposes() {
  static Purposes all;
  return all;
}

bool is_of_clusters(const std::string& purpose) {
  return purpose.starts_with("raycluster:") || purpose.starts_with("raycluster-mtls:") ||
         purpose.starts_with("networkpolicy:");
}

// After a run of all tests: of a selection nothing can be said.
class NoWriteGoesUntried final : public testing::Environment {
  void TearDown() override {
    if (GTEST_FLAG_GET(filter) != "*" || std::getenv("GTEST_TOTAL_SHARDS")) return;
    std::vector<std::string> untried;
    std::ranges::set_difference(purposes().seen, purposes().tried, std::back_inserter(untried));
    std::erase_if(untried, [](const auto& purpose) { return !is_of_clusters(purpose); });
    EXPECT_TRUE(untried.empty()) << "writes that no life of write_faults_test.cc has:\n  "
                                 << fmt::format("{}", fmt::join(untried, "\n  "));
  }
};
const auto* const kChecked = testing::AddGlobalTestEnvironment(new NoWriteGoesUntried);

void live_under_fault(World& world, const FaultedLife& life, CallFault fault, std::size_t row,
                      const std::vector<std::string>& wanted) {
  world.faults().writes.clear();
  const auto injected = world.injected().size();
  const auto submitted = world.ray().submissions().size();
  world.faults().on_write = [&](std::size_t number, const kube::Request&) {
    return number == row ? fault : CallFault::None;
  };
  life.live();
  EXPECT_EQ(world.injected().size(), injected + 1) << "the row's write was never made";
  EXPECT_EQ(difference(wanted, life.picture()), "");
  EXPECT_EQ(world.ray().submissions().size(),
            submitted + static_cast<std::size_t>(life.submissions));
  world.faults().on_write = {};
}

}  // namespace

void PrintTo(const FaultRow& row, std::ostream* out) {
  *out << row.name << ' ' << to_string(row.fault);
}

std::string name_of_row(const testing::TestParamInfo<FaultRow>& info) {
  return fmt::format("{}_{}", info.param.name, to_string(info.param.fault));
}

kube::RuntimeObserver& purposes_seen() { return purposes(); }

void lose_every_write(World& world, const FaultedLife& life, CallFault fault) {
  const auto nothing = life.picture();
  world.faults().writes.clear();
  purposes().in_a_life = true;
  life.live();
  const auto wanted = life.picture();
  const auto writes = world.faults().writes;
  ASSERT_GT(writes.size(), 4u);
  life.leave();
  purposes().in_a_life = false;
  ASSERT_EQ(difference(nothing, life.picture()), "");

  for (std::size_t row = 0; row < writes.size(); ++row) {
    SCOPED_TRACE(fmt::format("{} of write {}: {}", to_string(fault), row, writes[row]));
    live_under_fault(world, life, fault, row, wanted);
    life.leave();
    EXPECT_EQ(difference(nothing, life.picture()), "");
    if (testing::Test::HasFailure()) return;  // the rows after it start from a spoilt world
  }
}

}  // namespace manta::integration
