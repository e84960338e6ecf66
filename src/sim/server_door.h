// The way to the API server, which can be shut: while it restarts, calls are refused and every
// watch has broken off.
#pragma once

#include "base/loop.h"
#include "sim/relay.h"

#include <cstdint>
#include <map>
#include <string>

namespace manta::sim {

class ServerDoor final : public Relay {
 public:
  ServerDoor(Loop& loop, kube::Api& server) : Relay(server), loop_(loop) {}

  /// For this long, from now on.
  void shut(Duration span);
  /// For calls about one resource: "leases".
  void shut(std::string plural, Duration span);

  Task<Result<kube::Response>> call(kube::Request request) override;
  Task<Result<void>> watch(kube::WatchRequest request, WatchSink sink,
                           std::stop_token stop) override;

 private:
  bool is_shut() const { return loop_.now() < open_at_; }
  bool is_shut(const std::string& plural) const;

  Loop& loop_;
  Time open_at_ = {};
  std::map<std::string, Time> resource_open_at_ = {};  // by plural
  std::uint64_t shut_ = 0;                             // how often
  std::uint64_t next_watch_ = 0;
  std::map<std::uint64_t, std::stop_source> watches_ = {};
};

}  // namespace manta::sim
