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

void ServerDoor::shut(std::string plural, Duration span) {
  resource_open_at_[std::move(plural)] = loop_.now() + span;
}

bool ServerDoor::is_shut(const std::string& plural) const {
  const auto found = resource_open_at_.find(plural);
  return is_shut() || (found != resource_open_at_.end() && loop_.now() < found->second);
}

Task<Result<kube::Response>> ServerDoor::call(kube::Request request) {
  if (!is_shut(request.resource.plural)) co_return co_await inner().call(std::move(request));
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
  std::stop_source ending;
  watches_.emplace(number, ending);
  std::stop_callback forward(stop, [ending]() mutable { ending.request_stop(); });
  auto ended = co_await inner().watch(std::move(request), std::move(sink), ending.get_token());
  watches_.erase(number);
  if (shut_ != shut_before && !stop.stop_requested()) co_return refused();
  co_return ended;
}

}  // namespace manta::sim
