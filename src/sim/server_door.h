// The way to the API server, which can be shut: while it restarts, calls are refused and every
// watch has broken off.
#pragma once

#include "base/loop.h"
#include "kube/api.h"

#include <cstdint>
#include <map>

namespace manta::sim {

class ServerDoor final : public kube::Api {
 public:
  ServerDoor(Loop& loop, kube::Api& server) : loop_(loop), server_(server) {}

  /// For this long, from now on.
  void shut(Duration span);

  Task<Result<kube::Response>> call(kube::Request request) override;
  Task<Result<void>> watch(kube::WatchRequest request, WatchSink sink,
                           std::stop_token stop) override;
  Task<Result<kube::RawResponse>> raw(kube::RawRequest request) override;

 private:
  bool is_shut() const { return loop_.now() < open_at_; }

  Loop& loop_;
  kube::Api& server_;
  Time open_at_ = {};
  std::uint64_t shut_ = 0;  // how often
  std::uint64_t next_watch_ = 0;
  std::map<std::uint64_t, std::stop_source> watches_ = {};
};

}  // namespace manta::sim
