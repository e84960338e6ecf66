#include "kube/fault_api.h"

#include "base/async.h"
#include "base/virtual_loop.h"

#include <gtest/gtest.h>

namespace manta::kube {
namespace {

using namespace std::chrono_literals;

/// Counts commits, and plays a fixed list of watch events, one a tenth of a second.
class CountingApi final : public Api {
 public:
  explicit CountingApi(Loop& loop) : loop_(loop) {}

  Task<Result<Response>> call(Request request) override {
    co_await sleep(loop_, 1ms);
    ++commits;
    co_return Response{.body = request.body};
  }
  Task<Result<void>> watch(WatchRequest, WatchSink sink, std::stop_token stop) override {
    for (int i = 0; i < 5; ++i) {
      if (!co_await sleep(loop_, 100ms, stop)) co_return Result<void>{};
      sink({.type = WatchEventType::Modified, .object = JsonObject{{"i", i}}});
    }
    co_await sleep(loop_, 10s, stop);
    co_return Result<void>{};
  }
  Task<Result<RawResponse>> raw(RawRequest) override { co_return RawResponse{.status = 204}; }

  int commits = 0;

 private:
  Loop& loop_;
};

Request update() {
  Request request;
  request.verb = Verb::Update;
  request.resource = kPods;
  request.namespace_ = "default";
  request.name = "a";
  return request;
}

struct CallRow {
  CallFault fault;
  int commits;
  int crashes;
  std::optional<ErrorCode> code;
};
const CallRow kCallRows[] = {{CallFault::None, 1, 0, {}},
                             {CallFault::Conflict, 0, 0, ErrorCode::Conflict},
                             {CallFault::TimeoutBefore, 0, 0, ErrorCode::Timeout},
                             {CallFault::LostReply, 1, 0, ErrorCode::Timeout},
                             {CallFault::ServerError, 0, 0, ErrorCode::Internal},
                             {CallFault::Forbidden, 0, 0, ErrorCode::Forbidden},
                             {CallFault::TooManyRequests, 0, 0, ErrorCode::TooManyRequests},
                             {CallFault::Unavailable, 0, 0, ErrorCode::Unavailable},
                             {CallFault::CrashBefore, 0, 1, ErrorCode::Cancelled},
                             {CallFault::CrashAfter, 1, 1, ErrorCode::Cancelled}};

class FaultApiCall : public testing::TestWithParam<CallRow> {};
TEST_P(FaultApiCall, CommitsOrNot) {
  const auto& row = GetParam();
  VirtualLoop loop;
  CountingApi inner(loop);
  ScriptedFaults faults;
  faults.on_call(1, row.fault);
  int crashes = 0;
  FaultApi api(loop, inner, faults, [&] { ++crashes; });
  EXPECT_TRUE(loop.run(api.call(update())));
  const auto answer = loop.run(api.call(update()));
  EXPECT_EQ(inner.commits, 1 + row.commits);
  EXPECT_EQ(crashes, row.crashes);
  EXPECT_EQ(answer.has_value(), !row.code.has_value());
  if (row.code) EXPECT_EQ(answer.error().code, *row.code);
  if (row.code)
    EXPECT_EQ(api.history(),
              std::vector{"call 1 update pods default/a: " + std::string(to_string(row.fault))});
}
INSTANTIATE_TEST_SUITE_P(Rows, FaultApiCall, testing::ValuesIn(kCallRows),
                         [](auto& info) { return std::string(to_string(info.param.fault)); });

struct EventRow {
  EventFault fault;
  std::string seen;
  std::optional<ErrorCode> code;
};
const EventRow kEventRows[] = {{EventFault::None, "01234", {}},
                               {EventFault::Drop, "0134", {}},
                               {EventFault::Duplicate, "012234", {}},
                               {EventFault::Delay, "01342", {}},
                               {EventFault::End, "01", {}},
                               {EventFault::Break, "01", ErrorCode::Unavailable},
                               {EventFault::Expire, "01", ErrorCode::Expired}};

class FaultApiWatch : public testing::TestWithParam<EventRow> {};
TEST_P(FaultApiWatch, Row) {
  const auto& row = GetParam();
  VirtualLoop loop;
  CountingApi inner(loop);
  ScriptedFaults faults;
  faults.on_event(2, row.fault);
  FaultApi api(loop, inner, faults);
  std::string seen;
  const auto result = loop.run(api.watch(
      {.resource = kPods},
      [&](WatchEvent event) { seen += std::to_string(int_at(event.object, {"i"})); }, {}));
  EXPECT_EQ(seen, row.seen);
  EXPECT_EQ(result.has_value(), !row.code.has_value());
  if (row.code) EXPECT_EQ(result.error().code, *row.code);
  EXPECT_FALSE(loop.next_timer());
}
INSTANTIATE_TEST_SUITE_P(Rows, FaultApiWatch, testing::ValuesIn(kEventRows),
                         [](auto& info) { return std::string(to_string(info.param.fault)); });

TEST(FaultApiStory, ADelayedEventComesBeforeTheStreamsEnd) {
  VirtualLoop loop;
  CountingApi inner(loop);
  ScriptedFaults faults;
  faults.on_event(2, EventFault::Delay);
  faults.on_event(4, EventFault::Break);
  FaultApi api(loop, inner, faults);
  std::string seen;
  const auto result = loop.run(api.watch(
      {.resource = kPods},
      [&](WatchEvent event) { seen += std::to_string(int_at(event.object, {"i"})); }, {}));
  EXPECT_EQ(seen, "0132");
  EXPECT_FALSE(result);
}

std::vector<std::string> history_of(std::uint64_t seed) {
  VirtualLoop loop;
  CountingApi inner(loop);
  SeededFaults faults({.seed = seed, .call_rate = 0.3, .event_rate = 0.3, .crashes = true});
  FaultApi api(loop, inner, faults);
  for (int i = 0; i < 200; ++i) loop.run(api.call(update()));
  return api.history();
}

TEST(SeededFaults, TheSameSeedReplays) {
  EXPECT_EQ(history_of(1), history_of(1));
  EXPECT_NE(history_of(1), history_of(2));
  EXPECT_GT(history_of(1).size(), 30u);
  EXPECT_LT(history_of(1).size(), 90u);
}

TEST(FaultApiStory, HealedInjectsNothing) {
  VirtualLoop loop;
  CountingApi inner(loop);
  SeededFaults faults({.seed = 1, .call_rate = 1});
  FaultApi api(loop, inner, faults);
  EXPECT_FALSE(loop.run(api.call(update())));
  api.heal();
  EXPECT_TRUE(loop.run(api.call(update())));
  EXPECT_EQ(loop.run(api.raw({}))->status, 204);
}

}  // namespace
}  // namespace manta::kube
