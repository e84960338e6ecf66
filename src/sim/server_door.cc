#include "sim/server_door.h"

#include "base/async.h"

#include <algorithm>

namespace manta::sim {
namespace {

std::unexpected<Error> refused() { return failed(ErrorCode::Unavailable, "connection refused"); }

}  // namespace

void ServerDoor::shut(Duration span) {
  open_at_ = std::max(open_at_, loop_.now() + span);
  ++shut_;
  for (auto& [number, watch] : std::map(watches_)) watch.request_stop();
}

Task<Result<kube::Response>> ServerDoor::call(kube::Request request) {
  if (!is_shut()) co_return co_await server_.call(std::move(request));
  co_await sleep(loop_, Duration{0});  // every answer takes a turn of the loop
  co_return refused();
}

Task<Result<void>> ServerDoor::watch(kube::WatchRequest request, WatchSink sink,
                                     std::stop_token stop) {
  if (is_shut()) {
    co_await sleep(loop_, Duration{0});
    co_return refused();
  }
  const auto number = next_watch_++;
  const auto shut_before = shut_;
  std::stop_source inner;
  watches_.emplace(number, inner);
  std::stop_callback forward(stop, [inner]() mutable { inner.request_stop(); });
  auto ended = co_await server_.watch(std::move(request), std::move(sink), inner.get_token());
  watches_.erase(number);
  if (shut_ != shut_before && !stop.stop_requested()) co_return refused();
  co_return ended;
}

Task<Result<kube::RawResponse>> ServerDoor::raw(kube::RawRequest request) {
  return server_.raw(std::move(request));
}

}  // namespace manta::sim
