#include "kube/fault_api.h"

#include <fmt/format.h>

#include <iterator>
#include <utility>

namespace manta::kube {
namespace {

bool is_write(Verb verb) { return verb != Verb::Get && verb != Verb::List; }

bool is_committed(CallFault fault) {
  return fault == CallFault::None || fault == CallFault::LostReply ||
         fault == CallFault::CrashAfter;
}

bool is_crash(CallFault fault) {
  return fault == CallFault::CrashBefore || fault == CallFault::CrashAfter;
}

Error error_of(CallFault fault) {
  const auto make = [](ErrorCode code, const char* message) {
    return Error{.code = code, .message = message, .http_status = http_status_of(code)};
  };
  switch (fault) {
    case CallFault::Conflict:
      return make(ErrorCode::Conflict, "injected: the object has been modified");
    case CallFault::TimeoutBefore:
    case CallFault::LostReply:
      return {.code = ErrorCode::Timeout, .message = "injected: no answer in time"};
    case CallFault::ServerError:
      return make(ErrorCode::Internal, "injected: internal error");
    case CallFault::Forbidden:
      return make(ErrorCode::Forbidden, "injected: forbidden");
    case CallFault::TooManyRequests: {
      auto error = make(ErrorCode::TooManyRequests, "injected: too many requests");
      error.retry_after = std::chrono::seconds{1};
      return error;
    }
    case CallFault::Unavailable:
      return {.code = ErrorCode::Unavailable, .message = "injected: connection refused"};
    case CallFault::CrashBefore:
    case CallFault::CrashAfter:
    case CallFault::None:
      break;
  }
  return {.code = ErrorCode::Cancelled, .message = "injected: the process died"};
}

/// One watch: what its wrapped sink and its delay timers share.
struct WatchState {
  Api::WatchSink sink;
  std::stop_source inner_stop = {};
  bool ended = false;               // by a fault
  std::optional<Error> error = {};  // that the fault ends it with
  std::map<std::uint64_t, std::pair<Loop::TimerId, WatchEvent>> delayed = {};

  void end(std::optional<Error> with) {
    ended = true;
    error = std::move(with);
    inner_stop.request_stop();
  }
};

}  // namespace

std::string_view to_string(CallFault fault) {
  switch (fault) {
    case CallFault::None:
      return "None";
    case CallFault::Conflict:
      return "Conflict";
    case CallFault::TimeoutBefore:
      return "TimeoutBefore";
    case CallFault::LostReply:
      return "LostReply";
    case CallFault::ServerError:
      return "ServerError";
    case CallFault::Forbidden:
      return "Forbidden";
    case CallFault::TooManyRequests:
      return "TooManyRequests";
    case CallFault::Unavailable:
      return "Unavailable";
    case CallFault::CrashBefore:
      return "CrashBefore";
    case CallFault::CrashAfter:
      return "CrashAfter";
  }
  return "?";
}

std::string_view to_string(EventFault fault) {
  switch (fault) {
    case EventFault::None:
      return "None";
    case EventFault::Drop:
      return "Drop";
    case EventFault::Duplicate:
      return "Duplicate";
    case EventFault::Delay:
      return "Delay";
    case EventFault::End:
      return "End";
    case EventFault::Break:
      return "Break";
    case EventFault::Expire:
      return "Expire";
  }
  return "?";
}

CallFault ScriptedFaults::call(std::uint64_t number, const Request& request) {
  const auto found = calls_.find(number);
  if (found != calls_.end()) return found->second;
  return rule_ ? rule_(number, request) : CallFault::None;
}

EventFault ScriptedFaults::event(std::uint64_t number, const WatchRequest&, const WatchEvent&) {
  const auto found = events_.find(number);
  return found == events_.end() ? EventFault::None : found->second;
}

bool SeededFaults::happens(double rate) {
  return static_cast<double>(random_.next() >> 11) * 0x1p-53 < rate;
}

CallFault SeededFaults::call(std::uint64_t, const Request& request) {
  if (!happens(rates_.call_rate)) return CallFault::None;
  std::vector<CallFault> choices = {CallFault::TimeoutBefore, CallFault::LostReply,
                                    CallFault::ServerError,   CallFault::Forbidden,
                                    CallFault::Unavailable,   CallFault::TooManyRequests};
  if (request.verb == Verb::Update || request.verb == Verb::Patch)
    choices.push_back(CallFault::Conflict);
  if (rates_.crashes && is_write(request.verb)) {
    choices.push_back(CallFault::CrashBefore);
    choices.push_back(CallFault::CrashAfter);
  }
  return choices[random_.next() % choices.size()];
}

EventFault SeededFaults::event(std::uint64_t, const WatchRequest&, const WatchEvent&) {
  if (!happens(rates_.event_rate)) return EventFault::None;
  std::vector<EventFault> choices = {EventFault::Duplicate, EventFault::Delay, EventFault::End,
                                     EventFault::Break, EventFault::Expire};
  if (rates_.drops) choices.push_back(EventFault::Drop);
  return choices[random_.next() % choices.size()];
}

Task<Result<Response>> FaultApi::call(Request request) {
  const auto number = calls_++;
  const auto fault = healed_ ? CallFault::None : faults_.call(number, request);
  if (fault != CallFault::None)
    history_.push_back(fmt::format(
        "call {} {} {} {}: {}", number, to_string(request.verb), request.resource.plural,
        ObjectKey{request.namespace_, request.name}.to_string(), to_string(fault)));
  if (is_committed(fault)) {
    auto response = co_await inner_.call(std::move(request));
    // A call that fails by itself lost nothing, and its answer is the better test.
    if (fault == CallFault::None || (!response && fault == CallFault::LostReply))
      co_return response;
  } else {
    // Every answer takes a turn of the loop, as a real one does.
    co_await sleep(loop_, Duration{0});
  }
  if (is_crash(fault) && on_crash_) on_crash_();
  co_return failed(error_of(fault));
}

Task<Result<void>> FaultApi::watch(WatchRequest request, WatchSink sink, std::stop_token stop) {
  auto state = std::make_shared<WatchState>(WatchState{.sink = std::move(sink)});
  std::stop_callback forward(stop, [state] { state->inner_stop.request_stop(); });
  auto wrapped = [this, state, request](WatchEvent event) {
    if (state->ended) return;
    const auto number = events_++;
    const auto fault = healed_ ? EventFault::None : faults_.event(number, request, event);
    if (fault != EventFault::None)
      history_.push_back(fmt::format("event {} {} {}: {}", number, request.resource.plural,
                                     key_of(event.object).to_string(), to_string(fault)));
    switch (fault) {
      case EventFault::None:
        return state->sink(std::move(event));
      case EventFault::Drop:
        return;
      case EventFault::Duplicate: {
        state->sink(event);
        return state->sink(std::move(event));
      }
      case EventFault::Delay: {
        const auto timer = loop_.after(std::chrono::seconds{1}, [state, number] {
          auto node = state->delayed.extract(number);
          if (!node.empty()) state->sink(std::move(node.mapped().second));
        });
        state->delayed.emplace(number, std::pair(timer, std::move(event)));
        return;
      }
      case EventFault::End:
        return state->end(std::nullopt);
      case EventFault::Break:
        return state->end(
            Error{.code = ErrorCode::Unavailable, .message = "injected: the stream broke"});
      case EventFault::Expire:
        return state->end(Error{.code = ErrorCode::Expired,
                                .message = "injected: too old resource version",
                                .http_status = 410});
    }
  };
  auto result =
      co_await inner_.watch(std::move(request), std::move(wrapped), state->inner_stop.get_token());
  // A delayed event is late, not lost: the caller may have seen later ones and watch on from there.
  for (auto& [number, entry] : std::exchange(state->delayed, {})) {
    loop_.cancel(entry.first);
    if (!stop.stop_requested()) state->sink(std::move(entry.second));
  }
  if (state->ended && state->error) co_return failed(*state->error);
  if (state->ended) co_return Result<void>{};
  co_return result;
}

Task<Result<RawResponse>> FaultApi::raw(RawRequest request) {
  return inner_.raw(std::move(request));
}

}  // namespace manta::kube
