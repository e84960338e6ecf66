// What goes wrong on the operator's way to Kubernetes, by seed.
#pragma once

#include "kube/fault_api.h"
#include "sim/dice.h"
#include "sim/mischief.h"
#include "sim/relay.h"
#include "sim/world.h"

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <string>

namespace manta::sim {

class WireFaults {
 public:
  struct Options {
    std::uint64_t seed = 0;
    Mischiefs mischiefs = {};
    /// No more than so many: to find the one that matters.
    std::size_t most = SIZE_MAX;
    std::function<void(const std::string&)> trace = {};
  };

  explicit WireFaults(Options options);
  /// From now on the world's operator meets them.
  void begin(World& world);
  void end(World& world);
  std::size_t injected() const { return injected_; }

  /// Sometimes answers a list with what it was earlier in this life of the operator. A life's first
  /// list is new: Kubernetes promises that for a list without resourceVersion.
  std::unique_ptr<kube::Api> stale_lists(kube::Api& inner);

 private:
  class StaleLists;
  kube::CallFault call_fault(const kube::Request& request);
  kube::EventFault event_fault(const kube::WatchRequest& request, const kube::WatchEvent& event);
  bool counts(const std::string& text);

  Options options_;
  Dice dice_;
  kube::SeededFaults random_;
  bool on_ = false;
  std::size_t injected_ = 0;
};

}  // namespace manta::sim
