// Stories of a small controller: a Widget wants Pods.
#include "kube/runtime_impl.h"
#include "kube/testing/runtime_world.h"

namespace manta::kube {
namespace {

TEST_F(RuntimeWorld, MakesWhatIsWantedThenWritesTheStatusThenRests) {
  make_widget("w", 3);
  start();
  ASSERT_TRUE(run_until([&] { return ready("w") == 3; }));
  EXPECT_EQ(api.objects(kPods).size(), 3u);
  loop.run_for(minutes{1});
  EXPECT_TRUE(runtime.idle());
  EXPECT_EQ(api.count(Verb::Create, kPods), 3u);
  EXPECT_EQ(api.count(Verb::Update, kWidgets), 1u);

  api.merge_now(kWidgets, {"n", "w"}, *parse_json(R"({"spec": {"replicas": 1}})"));
  ASSERT_TRUE(run_until([&] { return ready("w") == 1; }));
  EXPECT_EQ(api.count(Verb::Delete, kPods), 2u);
  api.delete_now(kWidgets, {"n", "w"});
  loop.run_for(minutes{1});
  EXPECT_TRUE(runtime.idle());
}

TEST_F(RuntimeWorld, GeneratedNamesKeepTheirPrefixInTheObject) {
  make_widget("w", 1);
  start();
  ASSERT_TRUE(run_until([&] { return ready("w") == 1; }));
  const auto pod = api.objects(kPods).front();
  EXPECT_EQ(string_at(pod, {"metadata", "generateName"}), "w-");
  EXPECT_EQ(string_at(pod, {"metadata", "name"}).size(), 7u);
  EXPECT_TRUE(string_at(pod, {"metadata", "name"}).starts_with("w-"));
}

TEST_F(RuntimeWorld, NothingIsPlannedBeforeAllCachesAreIn) {
  make_widget("w", 1);
  bool away = true;
  api.fault = [&](const Request& request) {
    return away && request.resource == kPods
               ? MemoryFault{.before = failed(ErrorCode::Unavailable, "refused").error()}
               : MemoryFault{};
  };
  start();
  loop.run_for(minutes{1});
  EXPECT_EQ(plans["w"], 0);
  EXPECT_FALSE(runtime.idle());
  away = false;
  EXPECT_TRUE(run_until([&] { return ready("w") == 1; }));
}

TEST_F(RuntimeWorld, OneObjectIsPlannedOnceMoreHoweverOftenItIsTriggeredMeanwhile) {
  make_widget("w", 1);
  api.latency = [](const Request& request) {
    return request.verb == Verb::Create ? seconds{10} : milliseconds{1};
  };
  start();
  loop.run_for(seconds{5});
  EXPECT_EQ(plans["w"], 1);
  for (int i = 0; i < 100; ++i) runtime.trigger("widget", {"n", "w"});
  loop.run_for(seconds{1});
  EXPECT_EQ(plans["w"], 1);  // its write is still in flight
  loop.run_for(seconds{60});
  EXPECT_EQ(ready("w"), 1);
  EXPECT_LE(plans["w"], 4);  // after the create, after the status, after the watch's news
}

TEST_F(RuntimeWorld, ASlowServerIsSparedTheStepsBetweenTwoStatuses) {
  make_widget("w", 0);
  api.latency = [](const Request& request) {
    return request.verb == Verb::Update ? milliseconds{100} : milliseconds{1};
  };
  start();
  for (int replicas = 1; replicas <= 20; ++replicas) {
    api.merge_now(kWidgets, {"n", "w"}, JsonObject{{"spec", {{"replicas", replicas}}}});
    loop.run_for(milliseconds{110});
  }
  ASSERT_TRUE(run_until([&] { return ready("w") == 20; }));
  EXPECT_EQ(api.objects(kPods).size(), 20u);
  EXPECT_LE(api.count(Verb::Update, kWidgets), 4u);
}

TEST_F(RuntimeWorld, ObjectsArePlannedWhenThereIsRoomForTheirWrites) {
  for (int i = 0; i < 200; ++i) make_widget("w" + std::to_string(i), 1);
  api.latency = [](const Request& request) {
    return request.verb == Verb::Create ? seconds{10} : milliseconds{1};
  };
  start();
  loop.run_for(seconds{5});  // no write has been answered
  EXPECT_LE(plans.size(), 2u * RuntimeOptions{}.writes_in_flight + 1);
  ASSERT_TRUE(run_until([&] { return api.objects(kPods).size() == 200; }));
}

TEST_F(RuntimeWorld, AStatusIsToldThoughThereIsAlwaysMoreToWrite) {
  make_widget("w", 60);
  api.latency = [](const Request& request) {
    return request.verb == Verb::Create ? seconds{1} : milliseconds{1};
  };
  plan = [&](const ObjectKey& key, const PlanContext& context) {
    auto made = plan_widget(key, context);
    if (!made || made->stages.empty()) return made;
    made->stages[0].resize(1);  // one Pod a pass, and each another
    ensure(made->stages[0][0].body, {"metadata", "labels", "number"}) = std::to_string(pods.size());
    return made;
  };
  start();
  loop.run_for(seconds{30});
  EXPECT_GE(ready("w"), 10);
  ASSERT_TRUE(run_until([&] { return ready("w") == 60; }));
  EXPECT_LE(api.count(Verb::Update, kWidgets), 8u);
}

TEST_F(RuntimeWorld, AStatusIsWrittenWhenItIsPlannedThoughAWriteHangs) {
  make_widget("w", 1);
  const auto seconds_of = [](Time at) { return at.time_since_epoch() / seconds{1}; };
  int told = 0;
  api.latency = [&](const Request& request) {
    if (request.verb == Verb::Update) {
      ++told;
      EXPECT_LE(seconds_of(loop.now()) - int_at(request.body, {"status", "ready"}), 1);
    }
    return request.verb == Verb::Create ? minutes{1} : milliseconds{1};
  };
  plan = [&](const ObjectKey& key, const PlanContext& context) {
    auto made = plan_widget(key, context);
    if (made) made->status = status(*widgets.get(key), seconds_of(context.now));
    return made;
  };
  start();
  loop.run_for(minutes{3});
  EXPECT_GT(told, 0);
  api.latency = [](const Request&) { return milliseconds{1}; };
}

// A watch may be behind, as a new leader's may: of what is deleted nothing comes back.
TEST_F(RuntimeWorld, NothingIsDeletedForAWishThatIsPast) {
  make_widget("w", 3);
  start();
  ASSERT_TRUE(run_until([&] { return ready("w") == 3; }));
  api.watch_delay = [](const WatchEvent& event) {
    return string_at(event.object, {"kind"}) == "Widget" ? Duration{minutes{10}}
                                                         : Duration{milliseconds{1}};
  };
  api.merge_now(kWidgets, {"n", "w"}, JsonObject{{"spec", {{"replicas", 5}}}});
  auto surplus = create_pod(*widgets.get({"n", "w"})).body;
  ensure(surplus, {"metadata", "name"}) = "w-more";
  api.create_now(kPods, surplus);
  loop.run_for(minutes{1});
  EXPECT_EQ(api.count(Verb::Delete, kPods), 0u);
  EXPECT_EQ(api.objects(kPods).size(), 5u);
}

TEST_F(RuntimeWorld, WhatCannotBeReadAnewDeletesNothing) {
  make_widget("w", 3);
  start();
  ASSERT_TRUE(run_until([&] { return ready("w") == 3; }));
  bool refuses = true;
  api.fault = [&](const Request& request) {
    return refuses && request.verb == Verb::Get && request.resource == kWidgets
               ? MemoryFault{.before = failed(ErrorCode::Forbidden, "no").error()}
               : MemoryFault{};
  };
  api.merge_now(kWidgets, {"n", "w"}, JsonObject{{"spec", {{"replicas", 1}}}});
  loop.run_for(minutes{10});
  EXPECT_EQ(api.count(Verb::Delete, kPods), 0u);
  EXPECT_LE(api.count(Verb::Get, kWidgets), 40u);
  refuses = false;
  EXPECT_TRUE(run_until([&] { return ready("w") == 1; }));
}

// Somebody asks for far too much, and takes it back: what is in flight ends, the rest is not sent.
TEST_F(RuntimeWorld, APlanIsGivenUpOnceItsObjectIsWantedOtherwise) {
  make_widget("w", 600);
  api.latency = [](const Request& request) {
    return request.verb == Verb::Create || request.verb == Verb::Delete ? seconds{1}
                                                                        : milliseconds{1};
  };
  start();
  loop.run_for(milliseconds{2500});
  api.merge_now(kWidgets, {"n", "w"}, JsonObject{{"metadata", {{"labels", {{"a", "b"}}}}}});
  loop.run_for(seconds{2});
  const auto most = static_cast<std::size_t>(RuntimeOptions{}.writes_in_flight_per_object);
  EXPECT_EQ(api.count(Verb::Create, kPods), 5 * most) << "a label changes nothing";
  api.merge_now(kWidgets, {"n", "w"}, JsonObject{{"spec", {{"replicas", 1}}}});
  ASSERT_TRUE(run_until([&] { return ready("w") == 1; }));
  EXPECT_EQ(api.count(Verb::Create, kPods), 5 * most);

  // Nor goes on what was to go.
  api.merge_now(kWidgets, {"n", "w"}, JsonObject{{"spec", {{"replicas", 40}}}});
  ASSERT_TRUE(run_until([&] { return ready("w") == 40; }));
  const auto before = api.count(Verb::Delete, kPods);
  api.merge_now(kWidgets, {"n", "w"}, JsonObject{{"spec", {{"replicas", 0}}}});
  loop.run_for(milliseconds{500});
  api.merge_now(kWidgets, {"n", "w"}, JsonObject{{"spec", {{"replicas", 40}}}});
  ASSERT_TRUE(run_until([&] { return api.count(Verb::Delete, kPods) > before; }));
  loop.run_for(minutes{1});
  EXPECT_EQ(api.count(Verb::Delete, kPods), before + most);
  EXPECT_EQ(ready("w"), 40);

  // Its deletion is such news, too.
  make_widget("v", 600);
  loop.run_for(milliseconds{1500});
  const auto made = api.count(Verb::Create, kPods);
  api.delete_now(kWidgets, {"n", "v"});
  loop.run_for(minutes{1});
  EXPECT_EQ(api.count(Verb::Create, kPods), made);
}

// Some planners clean up after what is gone.
TEST_F(RuntimeWorld, WhatIsPlannedForAnObjectThatIsGoneIsCarriedOut) {
  make_widget("w", 2);
  start();
  ASSERT_TRUE(run_until([&] { return ready("w") == 2; }));
  plan = [&](const ObjectKey& key, const PlanContext& context) -> std::optional<Plan> {
    if (widgets.get(key)) return plan_widget(key, context);
    Plan made;
    for (const auto& pod : api.objects(kPods))
      made.stage().push_back({.kind = WriteKind::Delete, .resource = kPods, .key = key_of(pod)});
    return plans[key.name] < 100 ? std::optional(made) : std::nullopt;
  };
  api.delete_now(kWidgets, {"n", "w"});
  loop.run_for(minutes{1});
  EXPECT_TRUE(api.objects(kPods).empty());
}

TEST_F(RuntimeWorld, AClockThatIsPutBackHoldsUpNothing) {
  make_widget("w", 1);
  bool refuse = true;
  api.fault = [&](const Request& request) {
    return refuse && request.verb == Verb::Create
               ? MemoryFault{.before = failed(ErrorCode::Forbidden, "no").error()}
               : MemoryFault{};
  };
  start();
  loop.run_for(seconds{10});
  refuse = false;
  loop.set_clock(loop.now() - std::chrono::hours{1});
  api.merge_now(kWidgets, {"n", "w"}, JsonObject{{"metadata", {{"labels", {{"a", "b"}}}}}});
  loop.run_for(seconds{30});  // the next try was at most 20 s away
  EXPECT_EQ(api.objects(kPods).size(), 1u);
  EXPECT_EQ(ready("w"), 1);
}

TEST_F(RuntimeWorld, StagesFollowEachOtherAndStopAtAFailure) {
  make_widget("w", 0);
  bool refuse = true;
  api.fault = [&](const Request& request) {
    return refuse && request.verb == Verb::Create && request.resource == kServices
               ? MemoryFault{.before = failed(ErrorCode::Forbidden, "quota").error()}
               : MemoryFault{};
  };
  plan = [&](const ObjectKey& key, const PlanContext&) {
    Plan made;
    const auto create = [&](const Resource& resource) {
      Json body = JsonObject{};
      ensure(body, {"metadata", "name"}) = std::string_view(key.name);
      return Write{.kind = WriteKind::Create,
                   .resource = resource,
                   .key = {"n", ""},
                   .body = body,
                   .tolerate = {ErrorCode::AlreadyExists}};
    };
    if (api.objects(kConfigMaps).empty()) {
      made.stage().push_back(create(kSecrets));
      made.stage().push_back(create(kServices));
      made.stage().push_back(create(kConfigMaps));
    }
    return made;
  };
  start();
  loop.run_for(seconds{1});
  EXPECT_EQ(api.objects(kSecrets).size(), 1u);
  EXPECT_TRUE(api.objects(kConfigMaps).empty());
  refuse = false;
  EXPECT_TRUE(run_until([&] { return api.objects(kConfigMaps).size() == 1; }));
}

TEST_F(RuntimeWorld, FiveHundredWritesOfOneDoNotDelayAnother) {
  make_widget("many", 500);
  make_widget("one", 1);
  api.latency = [](const Request& request) {
    return request.resource == kPods && request.verb == Verb::Create ? seconds{1} : milliseconds{1};
  };
  int in_flight_peak = 0;
  std::map<Time, int> started;
  api.fault = [&](const Request& request) {
    if (request.resource == kPods && request.verb == Verb::Create)
      in_flight_peak = std::max(in_flight_peak, ++started[loop.now()]);
    return MemoryFault{};
  };
  start();
  const Time began = loop.now();
  ASSERT_TRUE(run_until([&] { return ready("one") == 1; }));
  EXPECT_LT(loop.now() - began, seconds{2});
  ASSERT_TRUE(run_until([&] { return ready("many") == 500; }));
  const int most = RuntimeOptions{}.writes_in_flight_per_object;
  EXPECT_GE(loop.now() - began, seconds{500 / most});
  EXPECT_LE(in_flight_peak, most + 1);  // and one of the other object
  EXPECT_EQ(api.count(Verb::Create, kPods), 501u);
}

TEST_F(RuntimeWorld, ExternalWritesBackOffLikeOthers) {
  make_widget("w", 0);
  bool stopped = false;
  dashboard.answer = [](const std::string&) -> Result<Json> {
    return failed(ErrorCode::Unavailable, "refused");
  };
  plan = [&](const ObjectKey&, const PlanContext&) {
    Plan made;
    if (!stopped)
      made.stage().push_back({.kind = WriteKind::External,
                              .body = *parse_json(R"({"who": "stop"})"),
                              .target = "dashboard"});
    return made;
  };
  start();
  loop.run_for(minutes{1});
  EXPECT_GE(dashboard.calls.size(), 11u);
  EXPECT_LE(dashboard.calls.size(), 15u);
  dashboard.answer = [&](const std::string&) {
    stopped = true;
    return Json();
  };
  EXPECT_TRUE(run_until([&] { return stopped && runtime.idle(); }));
}

TEST_F(RuntimeWorld, LooksAgainWhenThePlanSaysSo) {
  make_widget("w", 0);
  plan = [&](const ObjectKey&, const PlanContext&) {
    Plan made;
    made.look_again = seconds{10};
    return made;
  };
  start();
  loop.run_for(milliseconds{9'990});
  EXPECT_EQ(plans["w"], 1);
  loop.run_for(seconds{50});
  EXPECT_EQ(plans["w"], 6);
}

TEST_F(RuntimeWorld, APlansEventIsRecordedOnceUntilItComesBackOrTheSpecChanges) {
  make_widget("w", 0);
  bool invalid = true;
  plan = [&](const ObjectKey&, const PlanContext&) {
    Plan made;
    if (invalid) made.events.push_back({EventType::Warning, "Invalid", "Validate", "too small"});
    return made;
  };
  const auto times = [&] {
    std::int64_t n = 0;
    for (const auto& event : event_notes("Invalid")) n += int_at(event, {"series", "count"}, 1);
    return n;
  };
  start();
  const auto again = [&] {
    runtime.trigger("widget", {"n", "w"});
    loop.run_for(minutes{2});
  };
  again(), again();
  EXPECT_EQ(times(), 1);
  EXPECT_EQ(string_at(event_notes("Invalid").front(), {"reportingController"}),
            "widget-controller");
  invalid = false;
  again();
  invalid = true;
  again();
  EXPECT_EQ(times(), 2);
  api.merge_now(kWidgets, {"n", "w"}, *parse_json(R"({"spec": {"replicas": 7}})"));
  loop.run_for(minutes{1});
  EXPECT_EQ(times(), 3);
}

TEST_F(RuntimeWorld, WritesHaveTheirEvents) {
  make_widget("w", 1);
  plan = [&](const ObjectKey& key, const PlanContext& context) {
    auto made = plan_widget(key, context);
    for (auto& stage : made->stages)
      for (auto& write : stage) {
        write.done_event = {EventType::Normal, "Created", "Create", "Created Pod {name}"};
        write.failed_event = {EventType::Warning, "Failed", "Create",
                              "Cannot create {name}: {error}"};
      }
    return made;
  };
  int refusals = 1;
  api.fault = [&](const Request& request) {
    return request.verb == Verb::Create && request.resource == kPods && refusals-- > 0
               ? MemoryFault{.before = failed(ErrorCode::Forbidden, "quota").error()}
               : MemoryFault{};
  };
  start();
  ASSERT_TRUE(run_until([&] { return ready("w") == 1; }));
  loop.run_for(seconds{1});
  const auto pod = key_of(api.objects(kPods).front()).name;
  ASSERT_EQ(event_notes("Created").size(), 1u);
  EXPECT_EQ(string_at(event_notes("Created")[0], {"note"}), "Created Pod " + pod);
  EXPECT_EQ(string_at(event_notes("Created")[0], {"regarding", "name"}), "w");
  ASSERT_EQ(event_notes("Failed").size(), 1u);
  EXPECT_TRUE(string_at(event_notes("Failed")[0], {"note"}).ends_with(": quota"));
}

TEST_F(RuntimeWorld, ACollectionIsGoneFromTheCacheWithTheAnswer) {
  make_widget("w", 3);
  start();
  ASSERT_TRUE(run_until([&] { return ready("w") == 3; }));
  api.watch_delay = [](const WatchEvent&) { return minutes{1}; };
  bool once = true;
  std::vector<std::size_t> seen;
  plan = [&](const ObjectKey&, const PlanContext&) {
    Plan made;
    seen.push_back(pods.size());
    if (std::exchange(once, false))
      made.stage().push_back({.kind = WriteKind::DeleteCollection,
                              .resource = kPods,
                              .key = {"n", ""},
                              .label_selector = "app=w"});
    return made;
  };
  runtime.trigger("widget", {"n", "w"});
  loop.run_for(seconds{1});
  EXPECT_EQ(seen, (std::vector<std::size_t>{3, 0}));
}

TEST_F(RuntimeWorld, StopsWhenTheWritesInFlightHaveTheirAnswers) {
  make_widget("w", 40);
  api.latency = [](const Request& request) {
    return request.verb == Verb::Create ? seconds{10} : milliseconds{1};
  };
  start();
  loop.run_for(seconds{1});
  scope.request_stop();
  loop.run_for(seconds{1});
  EXPECT_FALSE(runtime.idle());
  loop.run_for(seconds{10});
  EXPECT_TRUE(runtime.idle());
  const std::size_t in_flight = RuntimeOptions{}.writes_in_flight_per_object;
  EXPECT_EQ(api.count(Verb::Create, kPods), in_flight);  // those that waited were not sent
  EXPECT_EQ(pods.size(), in_flight);
}

TEST(RuntimeDeathTest, IsNotDestroyedWhileItRuns) {
  EXPECT_DEATH(
      {
        VirtualLoop loop;
        SeededRandom random(1);
        MemoryApi api(loop, random);
        CacheSet caches;
        FakeDashboard dashboard(loop);
        EventRecorder events(loop, api, random, "x", "y");
        std::stop_source stop;
        Runtime runtime(loop, api, caches, dashboard, events, random);
        runtime.add(
            {.name = "x", .primary = kWidgets, .plan = [](const ObjectKey&, const PlanContext&) {
               Plan made;
               made.stage().push_back({.kind = WriteKind::External, .target = "x"});
               return made;
             }});
        auto* scope = new Scope(loop);  // outlives the Runtime, which is to notice by itself
        scope->spawn("run", runtime.run(stop.get_token()));
        runtime.trigger("x", {"n", "w"});
        loop.run_ready();
      },
      "runtime.cc.*scope.running\\(\\) == 0");
}

}  // namespace
}  // namespace manta::kube
