// The world of the runtime's tests: a small controller whose Widgets want Pods, on the API server
// in memory and on virtual time.
#pragma once

#include "base/virtual_loop.h"
#include "kube/events.h"
#include "kube/runtime.h"
#include "kube/testing/memory_api.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <set>

namespace manta::kube {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

inline const Resource kWidgets{"example.com", "v1", "widgets", "Widget"};

struct WidgetView {
  ObjectMeta meta = {};
  std::int64_t replicas = 0;
  std::int64_t ready = -1;
  std::string text = {};  // its resourceVersion as sent
};
inline Result<WidgetView> project_widget(const Json& object) {
  auto meta = parse_meta(object);
  if (!meta) return std::unexpected(meta.error());
  return WidgetView{std::move(*meta), int_at(object, {"spec", "replicas"}),
                    int_at(object, {"status", "ready"}, -1),
                    std::string(string_at(object, {"metadata", "resourceVersion"}))};
}
struct ThingView {
  ObjectMeta meta = {};
};
inline Result<ThingView> project_thing(const Json& object) {
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
    runtime.add(
        {.name = "widget",
         .primary = kWidgets,
         .plan =
             [this](const ObjectKey& key, const PlanContext& context) {
               ++plans[key.name];
               return plan(key, context);
             },
         .watches = {{.cache = &widgets, .affected = itself},
                     {.cache = &pods, .affected = owner_of_kind(kWidgets), .frees_quota = true}}});
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

}  // namespace manta::kube
