#include "sim/plants.h"

#include "sim/relay.h"

#include <fmt/format.h>

namespace manta::sim {
namespace {

class IgnoresConflicts final : public Relay {
 public:
  using Relay::Relay;
  Task<Result<kube::Response>> call(kube::Request request) override {
    const bool ours = request.resource.plural != "leases";  // there a conflict decides who leads
    const bool changes = request.verb == kube::Verb::Update || request.verb == kube::Verb::Patch;
    if (ours && changes && find(request.body, {"metadata"}))
      ensure(request.body, {"metadata"}).as_object().erase("resourceVersion");
    return inner().call(std::move(request));
  }
};

class ForgetsWrites final : public Relay {
 public:
  using Relay::Relay;
  Task<Result<kube::Response>> call(kube::Request request) override {
    const bool ours = request.resource.plural != "leases";
    const bool writes = request.verb != kube::Verb::Get && request.verb != kube::Verb::List;
    auto answer = co_await inner().call(std::move(request));
    if (ours && writes && answer) answer->body = JsonObject{{"kind", "Nothing"}};
    co_return answer;
  }
};

class DropsEvents final : public Relay {
 public:
  using Relay::Relay;
  Task<Result<void>> watch(kube::WatchRequest request, WatchSink sink,
                           std::stop_token stop) override {
    auto lossy = [this, sink = std::move(sink)](kube::WatchEvent event) {
      if (++events_ % 25 != 0) sink(std::move(event));
    };
    return inner().watch(std::move(request), std::move(lossy), std::move(stop));
  }

 private:
  std::uint64_t events_ = 0;
};

}  // namespace

std::string_view to_string(Plant plant) {
  switch (plant) {
    case Plant::None:
      return "none";
    case Plant::IgnoreConflicts:
      return "ignore-conflicts";
    case Plant::ForgetWrites:
      return "forget-writes";
    case Plant::DropEvent:
      return "drop-event";
  }
  return "?";
}

Result<Plant> parse_plant(std::string_view name) {
  for (const auto plant :
       {Plant::None, Plant::IgnoreConflicts, Plant::ForgetWrites, Plant::DropEvent})
    if (to_string(plant) == name) return plant;
  return failed(ErrorCode::Invalid,
                fmt::format("no plant is called \"{}\"; there are none, ignore-conflicts, "
                            "forget-writes, drop-event",
                            name));
}

std::unique_ptr<kube::Api> plant(Plant what, kube::Api& inner) {
  switch (what) {
    case Plant::None:
      return nullptr;
    case Plant::IgnoreConflicts:
      return std::make_unique<IgnoresConflicts>(inner);
    case Plant::ForgetWrites:
      return std::make_unique<ForgetsWrites>(inner);
    case Plant::DropEvent:
      return std::make_unique<DropsEvents>(inner);
  }
  return nullptr;
}

}  // namespace manta::sim
