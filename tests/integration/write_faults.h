// Every write of a life crossed with every way in which it can go wrong: the one loop behind
// write_faults_test.cc and rayservice_faults_test.cc.
//
//   lose_every_write(world, {.live = …, .leave = …, .picture = …}, CallFault::LostReply);
//
// The writes are counted by a run without faults. One World runs all of one fault's rows, one after
// another, and must be empty again between them; a failing row names its write.
//
// No write of a planner goes untried: whatever any test of this binary sees a RayCluster's planners
// write must be written in one of these lives, too.
#pragma once

#include "kube/runtime.h"
#include "world.h"

#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <string>
#include <vector>

namespace manta::integration {

inline constexpr std::array kEveryFault = {
    kube::CallFault::Conflict,    kube::CallFault::TimeoutBefore,   kube::CallFault::LostReply,
    kube::CallFault::ServerError, kube::CallFault::TooManyRequests, kube::CallFault::Unavailable,
    kube::CallFault::Forbidden,   kube::CallFault::CrashBefore,     kube::CallFault::CrashAfter};

/// A life of a table, under one fault.
struct FaultRow {
  std::size_t life = 0;
  const char* name = "";
  kube::CallFault fault = {};
};
void PrintTo(const FaultRow& row, std::ostream* out);
std::string name_of_row(const testing::TestParamInfo<FaultRow>& info);
template <class Lives>
std::vector<FaultRow> each_under_every_fault(const Lives& lives) {
  std::vector<FaultRow> rows;
  std::size_t number = 0;
  for (const auto& life : lives) {
    for (const auto fault : kEveryFault) rows.push_back({number, life.name, fault});
    ++number;
  }
  return rows;
}

struct FaultedLife {
  std::function<void()> live = {};   // from nothing to the end that is compared
  std::function<void()> leave = {};  // back to nothing
  std::function<std::vector<std::string>()> picture = {};
  int submissions = 0;  // of Ray jobs
};
/// Fails the test with the first write whose loss leaves a trace.
void lose_every_write(World& world, const FaultedLife& life, kube::CallFault fault);

/// Hears of every write that any World's operator makes.
kube::RuntimeObserver& purposes_seen();

}  // namespace manta::integration
