#include "base/virtual_loop.h"
#include "kube/cache.h"
#include "kube/testing/memory_api.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace manta::kube {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

struct View {
  ObjectMeta meta = {};
};
Result<View> project(const Json& object) {
  auto meta = parse_meta(object);
  if (!meta) return std::unexpected(meta.error());
  return View{std::move(*meta)};
}

class Reflect : public testing::Test {
 protected:
  void start() { scope.spawn("pods", reflect(loop, api, pods, random, scope.stop_token())); }
  void TearDown() override {
    scope.request_stop();
    api.fault = {};  // it refers to the test's own variables
    loop.run_for(seconds{60});
    EXPECT_EQ(scope.running(), 0u);
  }
  void make(const std::string& name) {
    api.create_now(kPods, *parse_json(fmt::format(
                              R"({{"metadata": {{"name": "{}", "namespace": "n"}}}})", name)));
  }
  bool has(const std::string& name) { return pods.get({"n", name}) != nullptr; }

  VirtualLoop loop;
  SeededRandom random{7};
  MemoryApi api{loop, random};
  Cache<View> pods{kPods, project};
  Scope scope{loop};
};

TEST_F(Reflect, ListsByPagesThenFollows) {
  for (int i = 0; i < 241; ++i) make(fmt::format("p{}", i));
  start();
  loop.run_for(seconds{1});
  EXPECT_EQ(api.count(Verb::List, kPods), 3u);
  EXPECT_EQ(pods.size(), 241u);
  EXPECT_TRUE(pods.synced());

  make("late");
  api.delete_now(kPods, {"n", "p0"});
  loop.run_for(seconds{1});
  EXPECT_TRUE(has("late"));
  EXPECT_FALSE(has("p0"));
}

TEST_F(Reflect, StartsOverWhenAPageHasExpired) {
  for (int i = 0; i < 240; ++i) make(fmt::format("p{}", i));
  int pages = 0;
  api.fault = [&](const Request& request) {
    if (request.verb == Verb::List && !request.continue_.empty() && ++pages == 2) api.compact();
    return MemoryFault{};
  };
  start();
  loop.run_for(seconds{1});
  EXPECT_EQ(pods.size(), 240u);
  EXPECT_EQ(api.count(Verb::List, kPods), 6u);
}

TEST_F(Reflect, ListsInOnePieceWhenPagesAlwaysExpire) {
  for (int i = 0; i < 600; ++i) make(fmt::format("p{}", i));
  api.fault = [&](const Request& request) {
    if (!request.continue_.empty()) api.compact();
    return MemoryFault{};
  };
  start();
  loop.run_for(seconds{1});
  EXPECT_EQ(pods.size(), 600u);
}

TEST_F(Reflect, ResumesWhereAnEndedWatchWas) {
  start();
  loop.run_for(seconds{1});
  api.end_watches();
  make("a");  // while nobody watches
  loop.run_for(seconds{3});
  EXPECT_TRUE(has("a"));
  EXPECT_EQ(api.count(Verb::List, kPods), 1u);
}

TEST_F(Reflect, ListsAgainWhenItsRevisionHasExpired) {
  start();
  loop.run_for(seconds{1});
  make("a");
  loop.run_for(seconds{1});
  api.end_watches(failed(ErrorCode::Unavailable, "reset"));
  api.delete_now(kPods, {"n", "a"});
  make("b");
  api.compact();
  loop.run_for(seconds{60});
  EXPECT_TRUE(has("b"));
  EXPECT_FALSE(has("a"));
  EXPECT_EQ(api.count(Verb::List, kPods), 2u);
}

TEST_F(Reflect, BookmarksMoveTheRevisionOn) {
  start();
  loop.run_for(seconds{1});
  api.create_now(kServices, *parse_json(R"({"metadata": {"name": "s", "namespace": "n"}})"));
  api.send_bookmarks();
  loop.run_for(seconds{1});
  api.compact();
  api.end_watches();
  make("a");
  loop.run_for(seconds{5});
  EXPECT_TRUE(has("a"));
  EXPECT_EQ(api.count(Verb::List, kPods), 1u);
}

TEST_F(Reflect, AServerThatWasAwayIsFoundSoonAndAskedSeldom) {
  api.fault = [](const Request&) {
    return MemoryFault{.before = failed(ErrorCode::Unavailable, "refused").error()};
  };
  start();
  loop.run_for(minutes{10});
  EXPECT_LE(api.requests.size(), 310u);  // no more than every other second
  api.fault = {};
  loop.run_for(seconds{4});
  EXPECT_TRUE(pods.synced());
}

TEST_F(Reflect, BacksOffWhileTheServerRefuses) {
  bool refuses = true;
  api.fault = [&](const Request&) {
    return refuses ? MemoryFault{.before = failed(ErrorCode::Forbidden, "no").error()}
                   : MemoryFault{};
  };
  start();
  loop.run_for(minutes{10});
  // 0.8 s doubling to 30 s, stretched by up to a half: about 6 s of growth, then 20 to 30 s each.
  EXPECT_GE(api.requests.size(), 20u);
  EXPECT_LE(api.requests.size(), 40u);
  refuses = false;
  loop.run_for(seconds{31});
  EXPECT_TRUE(pods.synced());
}

TEST_F(Reflect, WhatIsAskedForAnewIsListedAnew) {
  make("a");
  start();
  loop.run_for(seconds{1});
  ASSERT_TRUE(pods.synced());
  api.watch_delay = [](const WatchEvent&) { return Duration{minutes{10}}; };
  make("b");
  loop.run_for(seconds{5});
  ASSERT_FALSE(has("b")) << "the watch is behind";
  pods.refresh();
  EXPECT_FALSE(pods.synced());
  bool had = false;
  pods.when_synced([&] { had = has("b"); });
  loop.run_for(seconds{1});
  EXPECT_TRUE(had);
  api.watch_delay = [](const WatchEvent&) { return Duration{milliseconds{1}}; };
  make("c");
  loop.run_for(seconds{1});
  EXPECT_TRUE(has("c")) << "it is followed on";
}

TEST_F(Reflect, AListThatBeganBeforeIsNotWhatWasAskedFor) {
  api.latency = [](const Request&) { return seconds{10}; };
  start();
  loop.run_for(seconds{9});
  make("b");
  pods.refresh();
  bool had = false;
  pods.when_synced([&] { had = has("b"); });
  loop.run_for(seconds{5});
  EXPECT_FALSE(pods.synced());
  loop.run_for(seconds{20});
  EXPECT_TRUE(had);
}

TEST_F(Reflect, ItIsListedAnewAtOnceThoughTheServerWasAway) {
  bool away = true;
  api.fault = [&](const Request&) {
    return away ? MemoryFault{.before = failed(ErrorCode::Forbidden, "no").error()} : MemoryFault{};
  };
  start();
  loop.run_for(minutes{10});
  away = false;
  pods.refresh();
  loop.run_for(milliseconds{100});
  EXPECT_TRUE(pods.synced());
}

class ReflectPerhaps : public Reflect {
 protected:
  void start() { scope.spawn("pods", reflect(loop, api, perhaps, random, scope.stop_token())); }
  void answer(int times, ErrorCode code) {
    api.fault = [times, code](const Request&) mutable {
      return times-- > 0 ? MemoryFault{.before = failed(code, "no").error()} : MemoryFault{};
    };
  }
  Cache<View> perhaps{kPods, project, {.may_be_missing = true}};
};

TEST_F(ReflectPerhaps, WhatTheServerDoesNotServeKeepsNobodyWaiting) {
  answer(1000, ErrorCode::NotFound);
  start();
  loop.run_for(milliseconds{500});
  EXPECT_TRUE(perhaps.synced());
}

TEST_F(ReflectPerhaps, ARefusalOrTwoIsNotBelieved) {
  make("a");
  answer(2, ErrorCode::Forbidden);
  bool had = false;
  perhaps.when_synced([&] { had = perhaps.get({"n", "a"}) != nullptr; });
  start();
  loop.run_for(seconds{10});
  EXPECT_TRUE(had);
}

TEST_F(ReflectPerhaps, WhatIsRefusedAgainAndAgainKeepsNobodyWaiting) {
  answer(1000, ErrorCode::Forbidden);
  start();
  loop.run_for(seconds{5});
  EXPECT_TRUE(perhaps.synced());
}

TEST_F(Reflect, AnOldListDoesNotUndoOurOwnWrites) {
  make("a");
  api.latency = [](const Request& request) {
    return request.verb == Verb::List ? seconds{10} : milliseconds{1};
  };
  start();
  loop.run_for(seconds{6});  // the list is taken, its answer on the way
  make("ours");
  pods.observe(*api.object(kPods, {"n", "ours"}));
  loop.run_for(seconds{1});
  EXPECT_TRUE(has("ours"));
  loop.run_for(seconds{10});
  EXPECT_TRUE(pods.synced());
  EXPECT_TRUE(has("ours"));
  EXPECT_TRUE(has("a"));
}

TEST_F(Reflect, StopsAtOnceWhileItWaits) {
  api.fault = [](const Request&) {
    return MemoryFault{.before = failed(ErrorCode::Unavailable, "refused").error()};
  };
  start();
  loop.run_for(minutes{5});
  scope.request_stop();
  loop.run_ready();
  EXPECT_EQ(scope.running(), 0u);
}

}  // namespace
}  // namespace manta::kube
