// What the runtime does when writes fail, one way at a time.
#include "kube/testing/runtime_world.h"

namespace manta::kube {
namespace {

TEST_F(RuntimeWorld, AFailedLaneBacksOffWhileOthersGoOn) {
  make_widget("w", 0);
  api.fault = [&](const Request& request) {
    return request.verb == Verb::Create && request.resource == kServices
               ? MemoryFault{.before = failed(ErrorCode::Forbidden, "quota").error()}
               : MemoryFault{};
  };
  Failures seen;
  plan = [&](const ObjectKey&, const PlanContext& context) {
    Plan made;
    seen = context.failures;
    auto& stage = made.stage();
    stage.push_back({.kind = WriteKind::Create,
                     .resource = kServices,
                     .key = {"n", ""},
                     .body = *parse_json(R"({"metadata": {"name": "s"}})"),
                     .lane = "bad",
                     .marker = "service"});
    if (api.objects(kSecrets).empty())
      stage.push_back({.kind = WriteKind::Create,
                       .resource = kSecrets,
                       .key = {"n", ""},
                       .body = *parse_json(R"({"metadata": {"name": "s"}})"),
                       .lane = "good"});
    return made;
  };
  start();
  loop.run_for(minutes{1});
  EXPECT_EQ(api.objects(kSecrets).size(), 1u);
  // 5 ms doubling: 5 × (2^n - 1) ms fit 14 times into a minute, less for the jitter.
  EXPECT_GE(api.count(Verb::Create, kServices), 11u);
  EXPECT_LE(api.count(Verb::Create, kServices), 15u);
  ASSERT_TRUE(seen.contains("bad"));
  EXPECT_EQ(seen["bad"].marker, "service");
  EXPECT_EQ(seen["bad"].error.code, ErrorCode::Forbidden);
  EXPECT_EQ(seen["bad"].attempts, static_cast<int>(api.count(Verb::Create, kServices)));
  EXPECT_GT(seen["bad"].retry_at, loop.steady());

  // The user changes the spec: at once again.
  const auto before = api.count(Verb::Create, kServices);
  api.merge_now(kWidgets, {"n", "w"}, *parse_json(R"({"spec": {"replicas": 1}})"));
  loop.run_for(milliseconds{50});
  EXPECT_EQ(api.count(Verb::Create, kServices), before + 1);
}

TEST_F(RuntimeWorld, TheStatusIsWrittenWhileAllWritesAreWithheld) {
  make_widget("w", 2);
  api.fault = [&](const Request& request) {
    return request.verb == Verb::Create && request.resource == kPods
               ? MemoryFault{.before = failed(ErrorCode::Forbidden, "quota").error()}
               : MemoryFault{};
  };
  start();
  EXPECT_TRUE(run_until([&] { return ready("w") == 0; }, seconds{5}));
}

TEST_F(RuntimeWorld, AQuotaIsAskedOnceAStageNotOnceAPod) {
  make_widget("w", 500);
  api.fault = [&](const Request& request) {
    return request.verb == Verb::Create && request.resource == kPods
               ? MemoryFault{.before = failed(ErrorCode::Forbidden, "quota").error()}
               : MemoryFault{};
  };
  start();
  loop.run_for(minutes{1});
  EXPECT_LE(api.count(Verb::Create, kPods), 16u * 15u);
}

TEST_F(RuntimeWorld, APlannerThatNeverSettlesIsSlowedDown) {
  make_widget("w", 0);
  plan = [&](const ObjectKey&, const PlanContext&) {
    Plan made;
    made.stage().push_back({.kind = WriteKind::Create,
                            .resource = kServices,
                            .key = {"n", ""},
                            .body = *parse_json(R"({"metadata": {"name": "s"}})"),
                            .tolerate = {ErrorCode::AlreadyExists}});
    return made;
  };
  start();
  loop.run_for(minutes{10});
  EXPECT_GE(api.count(Verb::Create, kServices), 10u);
  EXPECT_LE(api.count(Verb::Create, kServices), 25u);
}

TEST_F(RuntimeWorld, APlannerThatAlwaysWantsAnotherStatusIsSlowedDown) {
  make_widget("w", 0);
  std::int64_t wish = 0;
  plan = [&](const ObjectKey& key, const PlanContext&) -> std::optional<Plan> {
    Plan made;
    made.status = status(*widgets.get(key), ++wish);
    return made;
  };
  start();
  loop.run_for(minutes{10});
  EXPECT_LE(api.count(Verb::Update, kWidgets), 130u);
}

TEST_F(RuntimeWorld, ATakenNameMeansAnotherName) {
  make_widget("w", 1);
  int taken = 0;
  api.fault = [&](const Request& request) {
    if (request.verb != Verb::Create || request.resource != kPods || ++taken > 2)
      return MemoryFault{};
    Json other = *parse_json(R"({"metadata": {"namespace": "n"}})");
    ensure(other, {"metadata", "name"}) = string_at(request.body, {"metadata", "name"});
    api.create_now(kPods, other);
    return MemoryFault{};
  };
  start();
  ASSERT_TRUE(run_until([&] { return ready("w") == 1; }));
  EXPECT_EQ(api.objects(kPods).size(), 3u);
}

TEST_F(RuntimeWorld, AConflictReadsTheObjectAndIsNoFailure) {
  make_widget("w", 1);
  bool once = true;
  Failures seen;
  plan = [&](const ObjectKey& key, const PlanContext& context) {
    seen.insert(context.failures.begin(), context.failures.end());
    return plan_widget(key, context);
  };
  api.watch_delay = [](const WatchEvent&) { return seconds{30}; };
  api.fault = [&](const Request& request) {
    if (request.subresource == "status" && std::exchange(once, false))
      api.merge_now(kWidgets, {"n", "w"}, *parse_json(R"({"spec": {"replicas": 2}})"));
    return MemoryFault{};
  };
  start();
  // Long before the watch tells of the change.
  EXPECT_TRUE(run_until([&] { return ready("w") == 2; }, seconds{5}));
  EXPECT_TRUE(seen.empty());
}

TEST_F(RuntimeWorld, WhatFinalizersKeepIsNotTakenForGone) {
  make_widget("w", 1);
  start();
  ASSERT_TRUE(run_until([&] { return ready("w") == 1; }));
  const ObjectKey pod = key_of(api.objects(kPods).front());
  api.merge_now(kPods, pod, *parse_json(R"({"metadata": {"finalizers": ["x/y"]}})"));
  loop.run_for(seconds{1});
  api.watch_delay = [](const WatchEvent&) { return minutes{1}; };
  api.merge_now(kWidgets, {"n", "w"}, *parse_json(R"({"spec": {"replicas": 0}})"));
  runtime.trigger("widget", {"n", "w"});
  loop.run_for(seconds{90});
  ASSERT_NE(pods.get(pod), nullptr);
  EXPECT_TRUE(pods.get(pod)->meta.deleting);
  EXPECT_EQ(api.count(Verb::Delete, kPods), 1u);
  api.watch_delay = [](const WatchEvent&) { return milliseconds{1}; };
  api.purge_now(kPods, pod);
  EXPECT_TRUE(run_until([&] { return ready("w") == 0; }));
}

TEST_F(RuntimeWorld, WhatAQuotaRefusedIsTriedWhenAPodGoes) {
  make_widget("a", 1);
  bool full = false;
  api.fault = [&](const Request& request) {
    return full && request.verb == Verb::Create && request.resource == kPods
               ? MemoryFault{.before = failed(ErrorCode::Forbidden, "exceeded quota").error()}
               : MemoryFault{};
  };
  start();
  ASSERT_TRUE(run_until([&] { return ready("a") == 1; }));
  full = true;
  make_widget("b", 1);
  loop.run_for(minutes{10});
  ASSERT_EQ(api.objects(kPods).size(), 1u);
  full = false;
  api.delete_now(kWidgets, {"n", "a"});
  api.delete_now(kPods, key_of(api.objects(kPods).front()));
  loop.run_for(milliseconds{100});
  EXPECT_EQ(ready("b"), 1);
}

}  // namespace
}  // namespace manta::kube
