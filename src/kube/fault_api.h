// Another Api with faults: for tests and the simulator.
//
//   ScriptedFaults faults;
//   faults.on_call(3, CallFault::LostReply);        // the fourth call is committed, its answer
//   lost FaultApi api(loop, inner, faults); … SeededFaults random({.seed = 7, .call_rate = 0.1});
//   // replays by its seed
#pragma once

#include "base/loop.h"
#include "base/random.h"
#include "kube/api.h"

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace manta::kube {

enum class CallFault {
  None,
  Conflict,         // 409, nothing committed. Only updates and patches can conflict
  TimeoutBefore,    // Timeout, nothing committed
  LostReply,        // committed, but the caller gets Timeout
  ServerError,      // 500, nothing committed
  Forbidden,        // 403, nothing committed
  TooManyRequests,  // 429 with retry_after 1 s, nothing committed
  Unavailable,      // connection refused, nothing committed
  CrashBefore,      // the crash hook runs, nothing committed, the call answers Cancelled
  CrashAfter,       // committed, then the crash hook runs; the call answers Cancelled
};
std::string_view to_string(CallFault fault);

enum class EventFault {
  None,
  Drop,       // never delivered: only a new list heals it
  Duplicate,  // delivered twice
  Delay,      // delivered after later ones, 1 s late
  End,        // the stream ends in good order before it; the event is not delivered
  Break,      // the stream ends with Unavailable before it
  Expire,     // the stream ends with Expired before it
};
std::string_view to_string(EventFault fault);

/// Says what goes wrong. Calls and events are numbered from 0 in the order they come.
class Faults {
 public:
  virtual ~Faults() = default;
  virtual CallFault call(std::uint64_t number, const Request& request) = 0;
  virtual EventFault event(std::uint64_t number, const WatchRequest& request,
                           const WatchEvent& event) = 0;
};

/// Faults by number, or by a rule over the request.
class ScriptedFaults final : public Faults {
 public:
  using CallRule = std::function<CallFault(std::uint64_t number, const Request& request)>;

  void on_call(std::uint64_t number, CallFault fault) { calls_[number] = fault; }
  void on_event(std::uint64_t number, EventFault fault) { events_[number] = fault; }
  /// Asked for calls without a fault of their own.
  void on_calls(CallRule rule) { rule_ = std::move(rule); }

  CallFault call(std::uint64_t number, const Request& request) override;
  EventFault event(std::uint64_t number, const WatchRequest&, const WatchEvent&) override;

 private:
  std::map<std::uint64_t, CallFault> calls_ = {};
  std::map<std::uint64_t, EventFault> events_ = {};
  CallRule rule_ = {};
};

struct FaultRates {
  std::uint64_t seed = 0;
  double call_rate = 0;   // share of calls that fail somehow
  double event_rate = 0;  // share of watch events that are not simply delivered
  bool crashes = false;   // CrashBefore and CrashAfter are among the faults
  bool drops = false;     // Drop is among them: only for caches that list again from time to time
};
/// The same seed and the same calls give the same faults.
class SeededFaults final : public Faults {
 public:
  explicit SeededFaults(FaultRates rates) : rates_(rates), random_(rates.seed) {}
  CallFault call(std::uint64_t number, const Request& request) override;
  EventFault event(std::uint64_t number, const WatchRequest&, const WatchEvent&) override;

 private:
  bool happens(double rate);

  FaultRates rates_;
  SeededRandom random_;
};

/// raw() passes through unchanged.
class FaultApi final : public Api {
 public:
  /// `on_crash` stands for the process's death: what was called must not use the caller any more.
  FaultApi(Loop& loop, Api& inner, Faults& faults, std::function<void()> on_crash = {})
      : loop_(loop), inner_(inner), faults_(faults), on_crash_(std::move(on_crash)) {}

  Task<Result<Response>> call(Request request) override;
  Task<Result<void>> watch(WatchRequest request, WatchSink sink, std::stop_token stop) override;
  Task<Result<RawResponse>> raw(RawRequest request) override;

  std::uint64_t calls() const { return calls_; }
  std::uint64_t events() const { return events_; }
  /// What was injected, in order: "call 3 update pods default/a: LostReply".
  const std::vector<std::string>& history() const { return history_; }
  /// No more faults from now on: the world may settle.
  void heal() { healed_ = true; }

 private:
  Loop& loop_;
  Api& inner_;
  Faults& faults_;
  std::function<void()> on_crash_;
  std::uint64_t calls_ = 0;
  std::uint64_t events_ = 0;
  bool healed_ = false;
  std::vector<std::string> history_ = {};
};

}  // namespace manta::kube
