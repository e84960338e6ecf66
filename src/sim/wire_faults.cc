#include "sim/wire_faults.h"

#include <fmt/format.h>

namespace manta::sim {
namespace {

kube::FaultRates rates_for(const WireFaults::Options& options) {
  Dice dice(options.seed);
  const double calls = dice.pick(std::vector<double>{0.02, 0.1, 0.25});
  const double events = dice.pick(std::vector<double>{0.02, 0.1, 0.25});
  return {.seed = options.seed,
          .call_rate = options.mischiefs.contains(Mischief::Calls) ? calls : 0,
          .event_rate = options.mischiefs.contains(Mischief::Events) ? events : 0,
          .crashes = options.mischiefs.contains(Mischief::Crashes)};
}

}  // namespace

class WireFaults::StaleLists final : public Relay {
 public:
  StaleLists(kube::Api& inner, WireFaults& faults) : Relay(inner), faults_(faults) {}

  Task<Result<kube::Response>> call(kube::Request request) override {
    const bool whole = request.verb == kube::Verb::List && request.continue_.empty();
    const auto what =
        request.resource.plural + "?" + request.label_selector + "&" + request.field_selector;
    auto answer = co_await inner().call(std::move(request));
    if (!whole || !answer) co_return answer;
    auto& earlier = earlier_[what];
    if (earlier.is_null() || !faults_.on_ || !faults_.dice_.chance(0.3) ||
        !faults_.counts("an old list of " + what)) {
      earlier = answer->body;
      co_return answer;
    }
    answer->body = earlier;
    co_return answer;
  }

 private:
  WireFaults& faults_;
  std::map<std::string, Json> earlier_ = {};
};

WireFaults::WireFaults(Options options)
    : options_(std::move(options)), dice_(options_.seed + 1), random_(rates_for(options_)) {}

bool WireFaults::counts(const std::string& text) {
  if (injected_ >= options_.most) return false;
  ++injected_;
  if (options_.trace) options_.trace(fmt::format("fault {}: {}", injected_, text));
  return true;
}

kube::CallFault WireFaults::call_fault(const kube::Request& request) {
  const auto fault = random_.call(0, request);
  if (fault == kube::CallFault::None) return fault;
  const auto words =
      fmt::format("{} of {}", to_string(fault), to_write_call(request, {}).to_string());
  return counts(words) ? fault : kube::CallFault::None;
}

kube::EventFault WireFaults::event_fault(const kube::WatchRequest& request,
                                         const kube::WatchEvent& event) {
  const auto fault = random_.event(0, request, event);
  if (fault == kube::EventFault::None) return fault;
  const auto words = fmt::format("{} of an event of {} {}", to_string(fault),
                                 request.resource.plural, kube::key_of(event.object).to_string());
  return counts(words) ? fault : kube::EventFault::None;
}

void WireFaults::begin(World& world) {
  on_ = true;
  world.faults().on_write = [this](std::size_t, const kube::Request& request) {
    return call_fault(request);
  };
  world.faults().on_other_call = [this](const kube::Request& request) {
    return call_fault(request);
  };
  world.faults().on_event = [this](std::uint64_t, const kube::WatchRequest& request,
                                   const kube::WatchEvent& event) {
    return event_fault(request, event);
  };
}

void WireFaults::end(World& world) {
  on_ = false;
  world.faults().on_write = {};
  world.faults().on_other_call = {};
  world.faults().on_event = {};
}

std::unique_ptr<kube::Api> WireFaults::stale_lists(kube::Api& inner) {
  if (!options_.mischiefs.contains(Mischief::StaleLists)) return nullptr;
  return std::make_unique<StaleLists>(inner, *this);
}

}  // namespace manta::sim
