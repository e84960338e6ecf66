// Stories of a small controller: a Widget wants Pods.
#include "kube/runtime.h"

#include "base/virtual_loop.h"
#include "kube/events.h"
#include "kube/testing/memory_api.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <set>

namespace manta::kube {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

const Resource kWidgets{"example.com", "v1", "widgets", "Widget"};

struct WidgetView {
  ObjectMeta meta = {};
  std::int64_t replicas = 0;
  std::int64_t ready = -1;
  std::string text = {};  // its resourceVersion as sent
};
Result<WidgetView> project_widget(const Json& object) {
  auto meta = parse_meta(object);
  if (!meta) return std::unexpected(meta.error());
  return WidgetView{std::move(*meta), int_at(object, {"spec", "replicas"}),
                    int_at(object, {"status", "ready"}, -1),
                    std::string(string_at(object, {"metadata", "resourceVersion"}))};
}
struct ThingView {
  ObjectMeta meta = {};
};
Result<ThingView> project_thing(const Json& object) {
  auto meta = parse_meta(object);
  if (!meta) return std::unexpected(meta.error());
  return ThingView{std::move(*meta)};
}

class FakeDashboard final : public Outside {
 public:
  explicit FakeDashboard(Loop& loop) : loop_(loop) {}
  Task<Result<Json>> call(std::string target, Json request) override {
    const std::string who(string_at(request, {"who"}));
    calls.push_back({loop_.now(), who});
    co_await sleep(loop_, hangs.contains(who) ? Duration{seconds{60}} : Duration{milliseconds{10}});
    co_return answer(who);
  }
  std::size_t count(std::string_view who) const {
    std::size_t n = 0;
    for (const auto& [at, name] : calls) n += name == who;
    return n;
  }
  std::function<Result<Json>(const std::string&)> answer = [](const std::string&) {
    return Json("fine");
  };
  std::set<std::string> hangs = {};
  std::vector<std::pair<Time, std::string>> calls = {};

 private:
  Loop& loop_;
};

class RuntimeWorld : public ::testing::Test, public RuntimeObserver {
 protected:
  RuntimeWorld() {
    caches.add(widgets);
    caches.add(pods);
    plan = [this](const ObjectKey& key, const PlanContext& context) {
      return plan_widget(key, context);
    };
  }

  void start() {
    runtime.add({.name = "widget",
                 .primary = kWidgets,
                 .plan =
                     [this](const ObjectKey& key, const PlanContext& context) {
                       ++plans[key.name];
                       return plan(key, context);
                     },
                 .watches = {{.cache = &widgets, .affected = itself},
                             {.cache = &pods, .affected = owner_of_kind(kWidgets)}}});
    scope.spawn("widgets", reflect(loop, api, widgets, random, scope.stop_token()));
    scope.spawn("pods", reflect(loop, api, pods, random, scope.stop_token()));
    scope.spawn("events", events.run(scope.stop_token()));
    scope.spawn("runtime", runtime.run(scope.stop_token()));
  }
  void TearDown() override {
    scope.request_stop();
    // They refer to the test's own variables.
    api.fault = {};
    dashboard.answer = [](const std::string&) { return Json(); };
    loop.run_for(minutes{5});
    EXPECT_EQ(scope.running(), 0u);
  }

  void make_widget(const std::string& name, int replicas) {
    api.create_now(kWidgets,
                   *parse_json(fmt::format(R"({{"metadata": {{"name": "{}", "namespace": "n"}},
                                               "spec": {{"replicas": {}}}}})",
                                           name, replicas)));
  }
  static ObjectKey key_of_widget(const std::string& name) { return {"n", name}; }

  static Write create_pod(const WidgetView& widget) {
    Json pod = *parse_json(R"({"metadata": {"labels": {"app": "w"}}, "spec": {}})");
    ensure(pod, {"metadata", "namespace"}) = "n";
    ensure(pod, {"metadata", "generateName"}) = std::string_view(widget.meta.key.name + "-");
    ensure(pod, {"metadata", "ownerReferences"}) = JsonArray{to_json(OwnerRef{
        kWidgets.api_version(), "Widget", widget.meta.key.name, widget.meta.uid, true, true})};
    return {.kind = WriteKind::Create,
            .resource = kPods,
            .key = {"n", ""},
            .body = std::move(pod),
            .lane = "pods"};
  }
  static Write status(const WidgetView& widget, std::int64_t ready) {
    Json body = JsonObject{{"status", JsonObject{{"ready", ready}}}};
    ensure(body, {"metadata", "name"}) = std::string_view(widget.meta.key.name);
    ensure(body, {"metadata", "namespace"}) = "n";
    ensure(body, {"metadata", "resourceVersion"}) = std::string_view(widget.text);
    return {.kind = WriteKind::Update,
            .resource = kWidgets,
            .key = widget.meta.key,
            .subresource = "status",
            .body = std::move(body)};
  }
  /// Pods up or down to the wish, then the status.
  std::optional<Plan> plan_widget(const ObjectKey& key, const PlanContext&) {
    const auto widget = widgets.get(key);
    if (!widget) return std::nullopt;
    Plan made;
    const auto mine = pods.owned_by(widget->meta.uid);
    Stage stage;
    for (auto i = static_cast<std::int64_t>(mine.size()); i < widget->replicas; ++i)
      stage.push_back(create_pod(*widget));
    for (auto i = static_cast<std::size_t>(widget->replicas); i < mine.size(); ++i)
      if (!mine[i]->meta.deleting)
        stage.push_back({.kind = WriteKind::Delete,
                         .resource = kPods,
                         .key = mine[i]->meta.key,
                         .precondition_uid = mine[i]->meta.uid,
                         .lane = "pods"});
    if (!stage.empty()) made.stages.push_back(std::move(stage));
    const auto count = static_cast<std::int64_t>(mine.size());
    if (widget->ready != count) made.status = status(*widget, count);
    return made;
  }

  std::int64_t ready(const std::string& name) {
    const Json* widget = api.object(kWidgets, {"n", name});
    return widget ? int_at(*widget, {"status", "ready"}, -1) : -2;
  }
  bool run_until(const std::function<bool()>& condition, Duration limit = minutes{10}) {
    return loop.run_until(condition, limit);
  }
  std::vector<Json> event_notes(std::string_view reason) {
    std::vector<Json> found;
    for (const auto& event : api.objects(kEvents))
      if (string_at(event, {"reason"}) == reason) found.push_back(event);
    return found;
  }
  void wrote(std::string_view, const Write& write, const Result<Json>& answer) override {
    writes.push_back({write.lane, loop.now(), answer.has_value()});
  }

  struct Wrote {
    std::string lane;
    Time at;
    bool good;
  };

  VirtualLoop loop;
  SeededRandom random{42};
  MemoryApi api{loop, random};
  Cache<WidgetView> widgets{kWidgets, project_widget};
  Cache<ThingView> pods{kPods, project_thing};
  CacheSet caches;
  FakeDashboard dashboard{loop};
  EventRecorder events{loop, api, random, "widget-controller", "test"};
  std::function<std::optional<Plan>(const ObjectKey&, const PlanContext&)> plan;
  std::map<std::string, int> plans = {};
  std::vector<Wrote> writes = {};
  Runtime runtime{loop, api, caches, dashboard, events, random, {}, this};
  Scope scope{loop};
};

// ---- the way things should go

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
  EXPECT_GE(loop.now() - began, seconds{500 / 16});
  EXPECT_LE(in_flight_peak, 17);  // 16 of one object, 1 of the other
  EXPECT_EQ(api.count(Verb::Create, kPods), 501u);
}

// ---- failures

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
  EXPECT_GT(seen["bad"].retry_at, loop.now());

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

// Every write × lost on the way there or back, refused, or committed late: the same end, and never
// one Pod too many.
enum class Harm {
  LostBefore,
  LostAfter,
  UnavailableBefore,
  UnavailableAfter,
  ServerErrorAfter,
  Conflict,
  CommitsLate
};
class RuntimeFaults : public RuntimeWorld,
                      public ::testing::WithParamInterface<std::tuple<Verb, Harm, int>> {};

MemoryFault fault_for(Harm harm) {
  const auto error = [](ErrorCode code) { return failed(code, "injected").error(); };
  switch (harm) {
    case Harm::LostBefore:
      return {.before = error(ErrorCode::Timeout)};
    case Harm::LostAfter:
      return {.after = error(ErrorCode::Timeout)};
    case Harm::UnavailableBefore:
      return {.before = error(ErrorCode::Unavailable)};
    case Harm::UnavailableAfter:
      return {.after = error(ErrorCode::Unavailable)};
    case Harm::ServerErrorAfter:
      return {.after = error(ErrorCode::Internal)};
    case Harm::Conflict:
      return {.before = error(ErrorCode::Conflict)};
    case Harm::CommitsLate:
      return {.before = error(ErrorCode::Timeout), .commits_after = seconds{3}};
  }
  std::unreachable();
}

TEST_P(RuntimeFaults, EndTheSame) {
  const auto [verb, harm, times] = GetParam();
  make_widget("w", 3);
  int left = times;
  std::size_t pods_peak = 0;
  bool deaf = true;  // GETs fail too at first
  api.fault = [&](const Request& request) {
    pods_peak = std::max(pods_peak, api.objects(kPods).size());
    if (request.verb == Verb::Get && std::exchange(deaf, false))
      return MemoryFault{.before = failed(ErrorCode::Unavailable, "away").error()};
    if (request.resource == kEvents || request.verb != verb || left == 0) return MemoryFault{};
    --left;
    return fault_for(harm);
  };
  start();
  ASSERT_TRUE(run_until([&] { return ready("w") == 3; }));
  loop.run_for(minutes{2});
  EXPECT_EQ(api.objects(kPods).size(), 3u);
  EXPECT_EQ(ready("w"), 3);
  EXPECT_EQ(pods_peak, 3u);
  deaf = true;
  api.merge_now(kWidgets, {"n", "w"}, *parse_json(R"({"spec": {"replicas": 1}})"));
  ASSERT_TRUE(run_until([&] { return ready("w") == 1; }));
  loop.run_for(minutes{2});
  EXPECT_EQ(api.objects(kPods).size(), 1u);
  EXPECT_TRUE(runtime.idle());
  EXPECT_EQ(left, 0);  // the faults did happen
}

std::string name_of_case(const ::testing::TestParamInfo<std::tuple<Verb, Harm, int>>& row) {
  static const char* const kVerbs[] = {"Get", "List", "Create", "Update", "Patch", "Delete"};
  static const char* const kHarms[] = {"LostBefore",       "LostAfter",        "UnavailableBefore",
                                       "UnavailableAfter", "ServerErrorAfter", "Conflict",
                                       "CommitsLate"};
  const auto [verb, harm, times] = row.param;
  return fmt::format("{}{}{}", kVerbs[static_cast<int>(verb)], kHarms[static_cast<int>(harm)],
                     times == 1 ? "Once" : "Twice");
}

INSTANTIATE_TEST_SUITE_P(
    EveryWrite, RuntimeFaults,
    ::testing::Combine(::testing::Values(Verb::Create, Verb::Update, Verb::Delete),
                       ::testing::Values(Harm::LostBefore, Harm::LostAfter, Harm::UnavailableBefore,
                                         Harm::UnavailableAfter, Harm::ServerErrorAfter,
                                         Harm::Conflict, Harm::CommitsLate),
                       ::testing::Values(1, 2)),
    name_of_case);

// Many objects, everything going wrong at random: in the end all is as wanted, and at no time has a
// Widget a Pod too many.
class RuntimeLaw : public RuntimeWorld, public ::testing::WithParamInterface<int> {};

TEST_P(RuntimeLaw, EndsAsWantedWhateverGoesWrong) {
  SeededRandom chance(static_cast<std::uint64_t>(GetParam()));
  const auto one_in = [&](std::uint64_t n) { return chance.next() % n == 0; };
  const auto up_to = [&](Duration most) {
    return Duration{
        static_cast<Duration::rep>(chance.next() % static_cast<std::uint64_t>(most.count()))};
  };
  bool troubled = true;
  std::map<std::string, std::int64_t> most_wanted;
  api.latency = [&](const Request&) { return up_to(milliseconds{200}); };
  api.watch_delay = [&](const WatchEvent&) { return up_to(seconds{2}); };
  api.fault = [&](const Request& request) {
    // A Pod that was deleted after its create had been repeated, and comes to life when the first
    // request is committed at last, is nobody's fault (README.md).
    std::map<std::string, std::int64_t> have;
    for (const auto& pod : api.objects(kPods)) {
      const auto& owners = array_at(pod, {"metadata", "ownerReferences"});
      if (!api.ended.contains(key_of(pod).name))
        ++have[std::string(string_at(owners.front(), {"name"}))];
    }
    for (const auto& [owner, count] : have) EXPECT_LE(count, most_wanted[owner]) << owner;
    if (!troubled || !one_in(4)) return MemoryFault{};
    static constexpr ErrorCode kCodes[] = {ErrorCode::Timeout, ErrorCode::Unavailable,
                                           ErrorCode::Internal, ErrorCode::Conflict,
                                           ErrorCode::TooManyRequests};
    const Error error = failed(kCodes[chance.next() % 5], "injected").error();
    const bool lost = error.code == ErrorCode::Timeout || error.code == ErrorCode::Unavailable;
    if (lost && one_in(2)) return MemoryFault{.after = error};
    if (lost && one_in(3)) return MemoryFault{.before = error, .commits_after = up_to(seconds{5})};
    return MemoryFault{.before = error};
  };
  start();
  for (int i = 0; i < 6; ++i) {
    const auto name = fmt::format("w{}", i);
    most_wanted[name] = static_cast<std::int64_t>(chance.next() % 6);
    make_widget(name, static_cast<int>(most_wanted[name]));
  }
  for (int step = 0; step < 40; ++step) {
    loop.run_for(up_to(seconds{3}));
    const auto name = fmt::format("w{}", chance.next() % 6);
    if (one_in(2)) {
      const auto wish = static_cast<std::int64_t>(chance.next() % 8);
      most_wanted[name] = std::max(most_wanted[name], wish);
      api.merge_now(kWidgets, {"n", name}, JsonObject{{"spec", JsonObject{{"replicas", wish}}}});
    } else if (const auto all = api.objects(kPods); !all.empty() && one_in(2)) {
      api.purge_now(kPods, key_of(all[chance.next() % all.size()]));
    } else if (one_in(3)) {
      api.end_watches(failed(ErrorCode::Unavailable, "reset"));
    } else if (one_in(4)) {
      api.end_watches();
      api.compact();
    }
  }
  troubled = false;
  loop.run_for(minutes{40});  // past the longest back-off, 1000 s and a fifth
  EXPECT_TRUE(runtime.idle());
  for (const auto& widget : api.objects(kWidgets)) {
    const auto name = key_of(widget).name;
    const auto uid = std::string(string_at(widget, {"metadata", "uid"}));
    EXPECT_EQ(ready(name), int_at(widget, {"spec", "replicas"})) << name;
    EXPECT_EQ(pods.owned_by(uid).size(), static_cast<std::size_t>(ready(name))) << name;
  }
  EXPECT_EQ(api.objects(kPods).size(), pods.size());
}

INSTANTIATE_TEST_SUITE_P(Seeds, RuntimeLaw, ::testing::Range(1, 101));

// ---- facts

class RuntimeFacts : public RuntimeWorld {
 protected:
  void ask(std::function<std::vector<FactRequest>(const ObjectKey&)> wanted) {
    plan = [this, wanted](const ObjectKey& key, const PlanContext& context) -> std::optional<Plan> {
      if (!widgets.get(key)) return std::nullopt;
      facts[key.name] = context.facts;
      Plan made;
      made.facts = wanted(key);
      return made;
    };
  }
  static FactRequest about(const std::string& who, Duration interval = seconds{3}) {
    return {.name = "info",
            .target = "dashboard",
            .circuit = who,
            .query = JsonObject{{"who", std::string_view(who)}},
            .interval = interval};
  }
  std::map<std::string, Facts> facts = {};
};

TEST_F(RuntimeFacts, AreAskedAtOnceThenAtTheirIntervalAndOnlyNewsPlanAgain) {
  make_widget("w", 0);
  ask([](const ObjectKey& key) { return std::vector{about(key.name)}; });
  start();
  loop.run_for(milliseconds{100});
  ASSERT_TRUE(facts["w"].contains("info"));
  EXPECT_EQ(*facts["w"]["info"].answer, Json("fine"));
  const int planned = plans["w"];
  loop.run_for(seconds{60});
  EXPECT_EQ(dashboard.count("w"), 20u);
  EXPECT_EQ(plans["w"], planned);
  dashboard.answer = [](const std::string&) { return Json("changed"); };
  loop.run_for(seconds{4});
  EXPECT_EQ(plans["w"], planned + 1);
  EXPECT_EQ(*facts["w"]["info"].answer, Json("changed"));
}

TEST_F(RuntimeFacts, ADeadCircuitIsProbedEverMoreRarelyByOneAtATime) {
  for (const auto* name : {"a", "b", "c"}) make_widget(name, 0);
  ask([](const ObjectKey&) { return std::vector{about("shared")}; });
  dashboard.answer = [](const std::string&) -> Result<Json> {
    return failed(ErrorCode::Unavailable, "refused");
  };
  start();
  loop.run_for(minutes{10});
  // Three at once, then 6 s doubling to 60 s, up to a tenth sooner.
  EXPECT_GE(dashboard.count("shared"), 12u);
  EXPECT_LE(dashboard.count("shared"), 20u);
  for (const auto* name : {"a", "b", "c"}) {
    ASSERT_TRUE(facts[name].contains("info"));
    EXPECT_FALSE(facts[name]["info"].answer.has_value());
    EXPECT_TRUE(facts[name]["info"].failing_since.has_value());
  }
  dashboard.answer = [](const std::string&) { return Json("back"); };
  loop.run_for(seconds{70});
  for (const auto* name : {"a", "b", "c"}) {
    EXPECT_TRUE(facts[name]["info"].answer.has_value()) << name;
    EXPECT_FALSE(facts[name]["info"].failing_since.has_value());
  }
}

TEST_F(RuntimeFacts, ANewFactOfADeadCircuitFailsWithoutAskingIt) {
  make_widget("w", 0);
  std::string query = "one";
  ask([&](const ObjectKey&) {
    auto fact = about("dead");
    fact.query = JsonObject{{"who", std::string_view(query)}};
    return std::vector{fact, FactRequest{.name = "other", .circuit = "dead", .query = "x"}};
  });
  dashboard.answer = [](const std::string&) -> Result<Json> {
    return failed(ErrorCode::Timeout, "no answer");
  };
  start();
  loop.run_for(minutes{10});
  query = "two";
  runtime.trigger("widget", {"n", "w"});
  loop.run_for(milliseconds{100});
  EXPECT_EQ(dashboard.count("two"), 0u);
  ASSERT_TRUE(facts["w"].contains("info"));
  EXPECT_EQ(facts["w"]["info"].answer.error().code, ErrorCode::Timeout);
}

TEST_F(RuntimeFacts, AHangingDashboardDelaysOnlyItsOwnObject) {
  for (int i = 0; i < 40; ++i) {
    make_widget(fmt::format("dead{}", i), 0);
    dashboard.hangs.insert(fmt::format("dead{}", i));
  }
  make_widget("alive", 0);
  ask([](const ObjectKey& key) { return std::vector{about(key.name)}; });
  start();
  loop.run_for(seconds{61});
  EXPECT_GE(dashboard.count("alive"), 20u);
}

TEST_F(RuntimeFacts, NoLongerNamedIsNoLongerAsked) {
  make_widget("w", 0);
  bool wanted = true;
  ask([&](const ObjectKey& key) {
    return wanted ? std::vector{about(key.name)} : std::vector<FactRequest>{};
  });
  start();
  loop.run_for(seconds{10});
  wanted = false;
  runtime.trigger("widget", {"n", "w"});
  loop.run_for(seconds{1});
  const auto asked = dashboard.count("w");
  loop.run_for(minutes{1});
  EXPECT_EQ(dashboard.count("w"), asked);
  wanted = true;
  runtime.trigger("widget", {"n", "w"});
  loop.run_for(seconds{1});
  EXPECT_EQ(dashboard.count("w"), asked + 1);
  api.delete_now(kWidgets, {"n", "w"});
  loop.run_for(minutes{1});
  EXPECT_EQ(dashboard.count("w"), asked + 1);
}

// ---- outside writes, timers, events, the end

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
  EXPECT_EQ(api.count(Verb::Create, kPods), 16u);  // those that waited their turn were not sent
  EXPECT_EQ(pods.size(), 16u);
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
