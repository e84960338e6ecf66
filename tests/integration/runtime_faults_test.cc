// The runtime on the embedded API server, with calls and watch events failing at random and the
// process dying at random: a ConfigMap says how many Secrets it wants, and gets them; never one
// too many.
//
// A failing seed replays: integration_test --gtest_filter='Seeds/RuntimeOnTheEmbeddedServer.*/<n>'
#include "base/virtual_loop.h"
#include "kube/events.h"
#include "kube/fault_api.h"
#include "kube/runtime.h"
#include "kube/views.h"
#include "local/apiserver/api_server.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>

namespace manta {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

constexpr const char* kNamespace = "default";

struct WishView {
  kube::ObjectMeta meta = {};
  int replicas = 0;
  int ready = -1;
};
Result<WishView> project_wish(const Json& object) {
  auto meta = kube::parse_meta(object, kube::KeepAnnotations::Yes);
  if (!meta) return std::unexpected(meta.error());
  const auto number = [](std::string_view text, int absent) {
    return text.empty() ? absent : std::stoi(std::string(text));
  };
  const int ready = number(meta->annotation("ready"), -1);
  return WishView{std::move(*meta), number(string_at(object, {"data", "replicas"}), 0), ready};
}

class NoOutside final : public kube::Outside {
 public:
  Task<Result<Json>> call(std::string, Json) override {
    co_return failed(ErrorCode::NotFound, "nothing is outside");
  }
};

/// One life of the controller's process.
struct Process {
  Process(Loop& loop, kube::Api& api, Random& random)
      : events(loop, api, random, "wish-controller", "test"),
        runtime(loop, api, caches, outside, events, random),
        scope(loop) {
    caches.add(wishes);
    caches.add(secrets);
    runtime.add(
        {.name = "wish",
         .primary = kube::kConfigMaps,
         .plan = [this](const kube::ObjectKey& key, const kube::PlanContext&) { return plan(key); },
         .watches = {{&wishes, kube::itself}, {&secrets, kube::owner_of_kind(kube::kConfigMaps)}}});
    scope.spawn("wishes", kube::reflect(loop, api, wishes, random, scope.stop_token()));
    scope.spawn("secrets", kube::reflect(loop, api, secrets, random, scope.stop_token()));
    scope.spawn("events", events.run(scope.stop_token()));
    scope.spawn("runtime", runtime.run(scope.stop_token()));
  }

  std::optional<kube::Plan> plan(const kube::ObjectKey& key) {
    const auto wish = wishes.get(key);
    if (!wish) return std::nullopt;
    kube::Plan made;
    kube::Stage stage;
    const auto mine = secrets.owned_by(wish->meta.uid);
    for (int i = static_cast<int>(mine.size()); i < wish->replicas; ++i)
      stage.push_back(create(*wish));
    for (auto i = static_cast<std::size_t>(wish->replicas); i < mine.size(); ++i)
      if (!mine[i]->meta.deleting)
        stage.push_back({.kind = kube::WriteKind::Delete,
                         .resource = kube::kSecrets,
                         .key = mine[i]->meta.key,
                         .precondition_uid = mine[i]->meta.uid,
                         .done_event = kube::EventNote{kube::EventType::Normal, "Deleted", "Delete",
                                                       "Deleted {name}"}});
    if (!stage.empty()) made.stages.push_back(std::move(stage));
    const auto ready = static_cast<int>(mine.size());
    if (ready != wish->ready) made.status = note(*wish, ready);
    return made;
  }

  static kube::Write create(const WishView& wish) {
    Json body = *parse_json(R"({"metadata": {"labels": {"made-by": "wish"}}})");
    ensure(body, {"metadata", "generateName"}) = std::string_view(wish.meta.key.name + "-");
    ensure(body, {"metadata", "ownerReferences"}) = JsonArray{kube::to_json(
        kube::OwnerRef{"v1", "ConfigMap", wish.meta.key.name, wish.meta.uid, true, true})};
    return {.kind = kube::WriteKind::Create,
            .resource = kube::kSecrets,
            .key = {wish.meta.key.namespace_, ""},
            .body = std::move(body)};
  }

  static kube::Write note(const WishView& wish, int ready) {
    Json body = JsonObject{};
    ensure(body, {"metadata", "annotations", "ready"}) = std::string_view(std::to_string(ready));
    ensure(body, {"metadata", "resourceVersion"}) =
        std::string_view(std::to_string(wish.meta.resource_version));
    return {.kind = kube::WriteKind::Patch,
            .resource = kube::kConfigMaps,
            .key = wish.meta.key,
            .body = std::move(body)};
  }

  kube::Cache<WishView> wishes{kube::kConfigMaps, project_wish, {.label_selector = "wish=yes"}};
  kube::Cache<kube::MetaView> secrets{
      kube::kSecrets, kube::project_meta, {.label_selector = "made-by=wish"}};
  kube::CacheSet caches = {};
  NoOutside outside = {};
  kube::EventRecorder events;
  kube::Runtime runtime;
  Scope scope;
};

class RuntimeOnTheEmbeddedServer : public ::testing::TestWithParam<int> {
 protected:
  RuntimeOnTheEmbeddedServer() { process = std::make_unique<Process>(loop, api, random); }

  void TearDown() override {
    api.heal();
    process->scope.request_stop();
    loop.run_for(minutes{10});
  }
  void restart() {
    process->scope.request_stop();
    ASSERT_TRUE(loop.run_until([&] { return process->scope.running() == 0; }, minutes{10}));
    process = std::make_unique<Process>(loop, api, random);
    crashed = false;
  }
  std::vector<Json> items(const kube::Resource& resource, std::string selector) {
    auto list = loop.run(server.list(resource, kNamespace, std::move(selector)));
    MANTA_CHECK(list.has_value());
    const auto& found = array_at(*list, {"items"});
    return {found.begin(), found.end()};
  }
  void wish(const std::string& name, int replicas) {
    most[name] = std::max(most[name], replicas);
    Json body = *parse_json(R"({"metadata": {"labels": {"wish": "yes"}}})");
    ensure(body, {"metadata", "name"}) = std::string_view(name);
    ensure(body, {"metadata", "namespace"}) = kNamespace;
    ensure(body, {"data", "replicas"}) = std::string_view(std::to_string(replicas));
    const kube::ObjectKey key{kNamespace, name};
    auto patched = loop.run(server.patch(kube::kConfigMaps, key, kube::PatchType::Merge, body));
    if (!patched) patched = loop.run(server.create(kube::kConfigMaps, body));
    ASSERT_TRUE(patched.has_value()) << patched.error().message;
  }
  void check_none_too_many() {
    std::map<std::string, int> have;
    for (const auto& secret : items(kube::kSecrets, "made-by=wish"))
      ++have[std::string(string_at(secret, {"metadata", "generateName"}))];
    for (const auto& [name, count] : have)
      ASSERT_LE(count, most[name.substr(0, name.size() - 1)]) << name;
  }
  std::string replay() const {
    std::string lines;
    for (const auto& line : api.history()) lines += line + "\n";
    return lines;
  }

  VirtualLoop loop;
  SeededRandom random{static_cast<std::uint64_t>(GetParam())};
  std::unique_ptr<local::Store> store = std::move(*local::Store::open({}));
  local::ApiServer server{loop, random, *store};
  kube::SeededFaults faults{{.seed = static_cast<std::uint64_t>(GetParam()),
                             .call_rate = 0.2,
                             .event_rate = 0.1,
                             .crashes = true}};
  bool crashed = false;
  kube::FaultApi api{loop, server, faults, [this] {
                       crashed = true;
                       process->scope.request_stop();
                     }};
  std::map<std::string, int> most = {};
  std::unique_ptr<Process> process;
};

TEST_P(RuntimeOnTheEmbeddedServer, GrantsEveryWishAndNeverTooMuch) {
  for (int step = 0; step < 40; ++step) {
    wish(fmt::format("w{}", random.next() % 4), static_cast<int>(random.next() % 6));
    for (int turn = 0; turn < 10; ++turn) {
      loop.run_for(std::chrono::milliseconds{random.next() % 500});
      if (crashed) restart();
      check_none_too_many();
      if (HasFatalFailure()) FAIL() << replay();
    }
  }
  api.heal();
  loop.run_for(minutes{45});  // past the longest back-off
  if (crashed) restart();
  loop.run_for(minutes{5});
  EXPECT_TRUE(process->runtime.idle());
  for (const auto& granted : items(kube::kConfigMaps, "wish=yes")) {
    const auto uid = std::string(string_at(granted, {"metadata", "uid"}));
    EXPECT_EQ(string_at(granted, {"metadata", "annotations", "ready"}),
              string_at(granted, {"data", "replicas"}))
        << replay();
    EXPECT_EQ(std::to_string(process->secrets.owned_by(uid).size()),
              string_at(granted, {"data", "replicas"}));
  }
  EXPECT_EQ(items(kube::kSecrets, "made-by=wish").size(), process->secrets.size());
  EXPECT_FALSE(items(kube::kEvents, "").empty());  // the server takes them as we write them
}

INSTANTIATE_TEST_SUITE_P(Seeds, RuntimeOnTheEmbeddedServer, ::testing::Range(1, 21));

}  // namespace
}  // namespace manta
