// Stories on the in-process API server and virtual time.
#include "local/apiserver/api_server.h"

#include "base/async.h"
#include "base/virtual_loop.h"
#include "base/yaml.h"
#include "local/apiserver/rest.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>

namespace manta::local {
namespace {

using kube::Request;
using kube::Verb;

const kube::Resource kProbes{"x.io", "v1", "probes", "Probe", true};

struct World {
  VirtualLoop loop;
  SeededRandom random{7};
  std::unique_ptr<Store> store = std::move(*Store::open({}));
  ApiServer api{loop, random, *store};

  Result<Json> call(Request request) {
    auto answer = loop.run(api.call(std::move(request)));
    if (!answer) return std::unexpected(answer.error());
    return std::move(answer->body);
  }
  Result<Json> create(const kube::Resource& resource, std::string_view json,
                      std::string ns = "default") {
    Request request;
    request.verb = Verb::Create;
    request.resource = resource;
    request.namespace_ = resource.namespaced ? std::move(ns) : "";
    request.body = *parse_json(json);
    return call(std::move(request));
  }
  Result<Json> get(const kube::Resource& resource, std::string name, std::string ns = "default") {
    return call({.verb = Verb::Get,
                 .resource = resource,
                 .namespace_ = resource.namespaced ? ns : "",
                 .name = name});
  }
  Result<Json> patch(const kube::Resource& resource, std::string name, kube::PatchType type,
                     std::string_view json, std::string sub = "") {
    return call({.verb = Verb::Patch,
                 .resource = resource,
                 .namespace_ = "default",
                 .name = name,
                 .subresource = sub,
                 .body = *parse_json(json),
                 .patch_type = type});
  }
  Result<Json> remove(const kube::Resource& resource, std::string name,
                      std::optional<std::int64_t> grace = {}) {
    return call({.verb = Verb::Delete,
                 .resource = resource,
                 .namespace_ = resource.namespaced ? "default" : "",
                 .name = name,
                 .grace_period_seconds = grace});
  }
  Json pod(std::string_view name) {
    return *create(
        kube::kPods,
        R"({"metadata":{"name":")" + std::string(name) +
            R"(","labels":{"app":"a"}},"spec":{"containers":[{"name":"c","image":"i:1"}]}})");
  }
};

TEST(ApiServer, PodGetsWhatARealServerFillsIn) {
  World world;
  const auto pod = world.pod("p");
  EXPECT_EQ(string_at(pod, {"spec", "restartPolicy"}), "Always");
  EXPECT_EQ(string_at(pod, {"status", "phase"}), "Pending");
  EXPECT_EQ(string_at(pod, {"status", "qosClass"}), "BestEffort");
  EXPECT_EQ(array_at(pod, {"spec", "tolerations"}).size(), 2u);
  EXPECT_EQ(int_at(pod, {"metadata", "generation"}), 1);
  EXPECT_FALSE(string_at(pod, {"metadata", "uid"}).empty());
  const auto& container = array_at(pod, {"spec", "containers"})[0];
  EXPECT_EQ(string_at(container, {"imagePullPolicy"}), "IfNotPresent");
  EXPECT_EQ(string_at(container, {"terminationMessagePath"}), "/dev/termination-log");
}

TEST(ApiServer, SecondCreateOfANameIsRefused) {
  World world;
  world.pod("p");
  auto again = world.create(
      kube::kPods, R"({"metadata":{"name":"p"},"spec":{"containers":[{"name":"c","image":"i"}]}})");
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().code, ErrorCode::AlreadyExists);
  EXPECT_EQ(again.error().message, "pods \"p\" already exists");
}

TEST(ApiServer, StaleUpdateConflicts) {
  World world;
  auto pod = world.pod("p");
  ASSERT_TRUE(world.patch(kube::kPods, "p", kube::PatchType::Merge,
                          R"({"metadata":{"labels":{"b":"c"}}})"));
  auto late = world.call({.verb = Verb::Update,
                          .resource = kube::kPods,
                          .namespace_ = "default",
                          .name = "p",
                          .body = pod});
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code, ErrorCode::Conflict);
}

TEST(ApiServer, UpdateThatChangesNothingWritesNothing) {
  World world;
  auto pod = world.pod("p");
  auto same = world.patch(kube::kPods, "p", kube::PatchType::Merge,
                          R"({"metadata":{"labels":{"app":"a"}}})");
  ASSERT_TRUE(same);
  EXPECT_EQ(string_at(*same, {"metadata", "resourceVersion"}),
            string_at(pod, {"metadata", "resourceVersion"}));
}

TEST(ApiServer, PodWithoutNodeIsGoneAtOnceAndOneWithNodeLingers) {
  World world;
  world.pod("free");
  world.pod("bound");
  ASSERT_TRUE(world.call({.verb = Verb::Create,
                          .resource = kube::kPods,
                          .namespace_ = "default",
                          .name = "bound",
                          .subresource = "binding",
                          .body = *parse_json(R"({"target":{"name":"n1"}})")}));
  ASSERT_TRUE(world.remove(kube::kPods, "free"));
  EXPECT_EQ(world.get(kube::kPods, "free").error().code, ErrorCode::NotFound);
  auto bound = world.remove(kube::kPods, "bound");
  ASSERT_TRUE(bound);
  EXPECT_EQ(int_at(*bound, {"metadata", "deletionGracePeriodSeconds"}), 30);
  ASSERT_TRUE(world.get(kube::kPods, "bound"));
  ASSERT_TRUE(world.remove(kube::kPods, "bound", 0));
  EXPECT_EQ(world.get(kube::kPods, "bound").error().code, ErrorCode::NotFound);
}

TEST(ApiServer, ABindingForAnEarlierPodOfTheNameIsTooLate) {
  World world;
  const auto pod = world.pod("p");
  const auto bind = [&](const char* field, std::string_view value) {
    return world.call({.verb = Verb::Create,
                       .resource = kube::kPods,
                       .namespace_ = "default",
                       .name = "p",
                       .subresource = "binding",
                       .body = JsonObject{{"metadata", JsonObject{{field, value}}},
                                          {"target", JsonObject{{"name", "n1"}}}}});
  };
  const auto late = bind("uid", "an-earlier-one");
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code, ErrorCode::Conflict);
  EXPECT_FALSE(bind("resourceVersion", "1"));
  EXPECT_TRUE(bind("uid", string_at(pod, {"metadata", "uid"})));
}

TEST(ApiServer, FinalizerHoldsAnObjectUntilItIsTakenAway) {
  World world;
  ASSERT_TRUE(
      world.create(kube::kConfigMaps,
                   R"({"metadata":{"name":"m","finalizers":["a.io/hold"]},"data":{"a":"b"}})"));
  ASSERT_TRUE(world.remove(kube::kConfigMaps, "m"));
  auto held = world.get(kube::kConfigMaps, "m");
  ASSERT_TRUE(held);
  EXPECT_TRUE(find(*held, {"metadata", "deletionTimestamp"}));
  ASSERT_TRUE(world.patch(kube::kConfigMaps, "m", kube::PatchType::Merge,
                          R"({"metadata":{"finalizers":null}})"));
  EXPECT_EQ(world.get(kube::kConfigMaps, "m").error().code, ErrorCode::NotFound);
}

TEST(ApiServer, WatchTellsEachChangeOnceAndInOrder) {
  World world;
  std::vector<std::string> seen;
  std::stop_source stop;
  bool ended = false;
  const std::string from(string_at(world.pod("before"), {"metadata", "resourceVersion"}));
  [](World& w, std::string since, std::vector<std::string>& log, std::stop_token token,
     bool& done) -> task_detail::Detached {
    kube::WatchRequest request;
    request.resource = kube::kPods;
    request.namespace_ = "default";
    request.label_selector = "app=a";
    request.resource_version = std::move(since);
    auto result = co_await w.api.watch(
        std::move(request),
        [&](kube::WatchEvent event) {
          log.push_back(std::to_string(static_cast<int>(event.type)) +
                        std::string(string_at(event.object, {"metadata", "name"})));
        },
        token);
    EXPECT_TRUE(result);
    done = true;
  }(world, std::string(from), seen, stop.get_token(), ended);
  world.pod("p");
  ASSERT_TRUE(world.patch(kube::kPods, "p", kube::PatchType::Merge,
                          R"({"metadata":{"labels":{"x":"y"}}})"));
  ASSERT_TRUE(world.patch(kube::kPods, "p", kube::PatchType::Merge,
                          R"({"metadata":{"labels":{"app":"b"}}})"));
  ASSERT_TRUE(world.remove(kube::kPods, "p"));
  world.loop.run_ready();
  EXPECT_EQ(seen,
            (std::vector<std::string>{"0p", "1p", "2p"}));  // it left the selection: deleted, once
  stop.request_stop();
  world.loop.run_ready();
  EXPECT_TRUE(ended);
}

TEST(ApiServer, PodsGetTheirAccountsTokenWhereTheServerIsToldSo) {
  VirtualLoop loop;
  SeededRandom random{1};
  auto store = std::move(*Store::open({}));
  ApiServer api(loop, random, *store, {.mount_service_accounts = true});
  auto create = [&](const kube::Resource& resource, std::string_view json) {
    return loop.run(api.create(resource, *parse_json(json)));
  };
  const auto missing = create(
      kube::kPods,
      R"({"metadata":{"name":"p","namespace":"default"},"spec":{"serviceAccountName":"sa","containers":[{"name":"c","image":"i"}]}})");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().message,
            "pods \"p\" is forbidden: error looking up service account default/sa: serviceaccount "
            "\"sa\" not found");
  ASSERT_TRUE(create(
      kube::kServiceAccounts,
      R"({"metadata":{"name":"quiet","namespace":"default"},"automountServiceAccountToken":false})"));
  const auto quiet = create(
      kube::kPods,
      R"({"metadata":{"name":"q","namespace":"default"},"spec":{"serviceAccountName":"quiet","containers":[{"name":"c","image":"i"}]}})");
  ASSERT_TRUE(quiet) << quiet.error().message;
  EXPECT_EQ(find(*quiet, {"spec", "volumes"}), nullptr);
  const auto pod = create(
      kube::kPods,
      R"({"metadata":{"name":"r","namespace":"default"},"spec":{"containers":[{"name":"c","image":"i"},{"name":"own","image":"i",
      "volumeMounts":[{"name":"v","mountPath":"/var/run/secrets/kubernetes.io/serviceaccount"}]}],"volumes":[{"name":"v","emptyDir":{}}]}})");
  ASSERT_TRUE(pod) << pod.error().message;
  EXPECT_EQ(string_at(*pod, {"spec", "serviceAccountName"}), "default");
  const auto& volumes = array_at(*pod, {"spec", "volumes"});
  ASSERT_EQ(volumes.size(), 2u);
  EXPECT_TRUE(string_at(volumes[1], {"name"}).starts_with("kube-api-access-"));
  const auto& containers = array_at(*pod, {"spec", "containers"});
  EXPECT_EQ(string_at(array_at(containers[0], {"volumeMounts"})[0], {"name"}),
            string_at(volumes[1], {"name"}));
  EXPECT_EQ(array_at(containers[1], {"volumeMounts"}).size(), 1u) << "its own stays";
}

TEST(ApiServer, ItsOwnServiceLeadsToWhereItListensNow) {
  VirtualLoop loop;
  SeededRandom random{1};
  auto store = std::move(*Store::open({}));
  for (const std::uint16_t port : {7001, 7002}) {  // the second start finds the first one's objects
    ApiServer api(loop, random, *store, {.advertise_port = port});
    const auto endpoints = loop.run(api.get(kube::kEndpoints, {"default", "kubernetes"}));
    ASSERT_TRUE(endpoints) << endpoints.error().message;
    const auto& subset = array_at(*endpoints, {"subsets"})[0];
    EXPECT_EQ(int_at(array_at(subset, {"ports"})[0], {"port"}), port);
    const auto slice = loop.run(api.get(kube::kEndpointSlices, {"default", "kubernetes"}));
    ASSERT_TRUE(slice) << slice.error().message;
    EXPECT_EQ(int_at(array_at(*slice, {"ports"})[0], {"port"}), port);
  }
}

TEST(ApiServer, ATokenEndsWithItsTime) {
  World world;
  ASSERT_TRUE(world.create(kube::kServiceAccounts, R"({"metadata":{"name":"sa"}})"));
  Request request{.verb = Verb::Create,
                  .resource = kube::kServiceAccounts,
                  .namespace_ = "default",
                  .name = "sa",
                  .subresource = "token",
                  .body = *parse_json(R"({"spec":{"expirationSeconds":600}})")};
  const auto answer = world.call(std::move(request));
  ASSERT_TRUE(answer) << answer.error().message;
  const std::string token(string_at(*answer, {"status", "token"}));
  EXPECT_TRUE(world.api.token_is_valid(token));
  world.loop.run(sleep(world.loop, std::chrono::seconds{601}));
  EXPECT_FALSE(world.api.token_is_valid(token));
}

TEST(ApiServer, AThousandWatchesShareTheirEvents) {
  World world;
  for (const auto* name : {"a", "b", "c"}) world.pod(name);
  const auto kind = world.api.rest().kinds().find("", "v1", "pods");
  std::vector<std::shared_ptr<Watcher>> watchers;
  for (int i = 0; i < 1000; ++i)
    watchers.push_back(*world.api.rest().hub().open(kind, {}, {.send_initial = true}));
  world.pod("d");
  std::map<const Json*, int> held;
  for (auto& watcher : watchers)
    for (auto item = world.loop.run(watcher->next()); item;
         item = watcher->queued() > 0 ? world.loop.run(watcher->next()) : std::nullopt)
      if (item->type == kube::WatchEventType::Added) ++held[item->object.get()];
  // The last watch holds everything until it is read, so no address is used twice.
  EXPECT_LE(held.size(), 4u) << "three objects of the state and a change, each parsed once";
}

TEST(ApiServer, AWatchThatIsNotReadKeepsABoundedText) {
  World world;
  const auto kind = world.api.rest().kinds().find("", "v1", "configmaps");
  const auto watcher = *world.api.rest().hub().open(
      kind, {.resource_version = std::to_string(world.store->revision())}, {.bookmarks = false});
  const std::string text(256 << 10, 'x');
  std::size_t most = 0;
  for (int i = 0; i < 100; ++i) {
    ASSERT_TRUE(world.create(
        kube::kConfigMaps,
        fmt::format(R"({{"metadata":{{"name":"m{}"}},"data":{{"a":"{}"}}}})", i, text)));
    most = std::max(most, watcher->queued_bytes());
  }
  EXPECT_LE(most, Watcher::kMaxQueuedBytes + 2 * text.size());
  ASSERT_TRUE(watcher->error()) << "the reader lists again";
  EXPECT_EQ(watcher->error()->code, ErrorCode::Expired);
  while (watcher->queued() > 0) (void)world.loop.run(watcher->next());
  EXPECT_EQ(watcher->queued_bytes(), 0u);
}

TEST(ApiServer, WatchFromTooFarBackIsExpired) {
  VirtualLoop loop;
  SeededRandom random{1};
  auto store = std::move(*Store::open({.history_changes = 3}));
  ApiServer api(loop, random, *store);
  for (int i = 0; i < 5; ++i)
    ASSERT_TRUE(loop.run(
        api.create(kube::kConfigMaps,
                   *parse_json(R"({"metadata":{"generateName":"m-","namespace":"default"}})"))));
  kube::WatchRequest request;
  request.resource = kube::kConfigMaps;
  request.resource_version = "2";
  auto result = loop.run(api.watch(request, [](kube::WatchEvent) {}, {}));
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, ErrorCode::Expired);
}

TEST(ApiServer, ListComesInPagesOfOneMoment) {
  World world;
  for (const auto* name : {"a", "b", "c", "d", "e"}) world.pod(name);
  auto page = world.call(
      {.verb = Verb::List, .resource = kube::kPods, .namespace_ = "default", .limit = 2});
  ASSERT_TRUE(page);
  EXPECT_EQ(int_at(*page, {"metadata", "remainingItemCount"}), 3);
  world.pod("bb");
  std::vector<std::string> names;
  std::string token;
  do {
    for (const auto& item : array_at(*page, {"items"}))
      names.emplace_back(string_at(item, {"metadata", "name"}));
    token = string_at(*page, {"metadata", "continue"});
    if (token.empty()) break;
    page = world.call({.verb = Verb::List,
                       .resource = kube::kPods,
                       .namespace_ = "default",
                       .limit = 2,
                       .continue_ = token});
    ASSERT_TRUE(page);
  } while (true);
  EXPECT_EQ(names, (std::vector<std::string>{"a", "b", "c", "d", "e"}));
}

constexpr std::string_view kCrd =
    R"({"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"probes.x.io"},
"spec":{"group":"x.io","names":{"kind":"Probe","plural":"probes"},"scope":"Namespaced","versions":[{"name":"v1","served":true,"storage":true,
"subresources":{"status":{},"scale":{"specReplicasPath":".spec.replicas","statusReplicasPath":".status.replicas"}},
"schema":{"openAPIV3Schema":{"type":"object","properties":{"spec":{"type":"object","required":["need"],"properties":{
"need":{"type":"string"},"replicas":{"type":"integer","format":"int32","default":3},"enum":{"type":"string","enum":["A","B"]},
"imm":{"type":"string","x-kubernetes-validations":[{"rule":"self == oldSelf","message":"imm is immutable"}]},
"set":{"type":"array","x-kubernetes-list-type":"set","items":{"type":"string"}}}},
"status":{"type":"object","properties":{"replicas":{"type":"integer"}}}}}}}]}})";

TEST(ApiServerCrd, ObjectsArePrunedDefaultedAndJudged) {
  World world;
  ASSERT_TRUE(world.create(kube::kCustomResourceDefinitions, kCrd));
  auto made = world.create(
      kProbes,
      R"({"apiVersion":"x.io/v1","kind":"Probe","metadata":{"name":"a"},"spec":{"need":"n","zzz":1}})");
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ(dump_json(*find(*made, {"spec"})), R"({"need":"n","replicas":3})");
  auto bad = world.create(
      kProbes,
      R"({"apiVersion":"x.io/v1","kind":"Probe","metadata":{"name":"b"},"spec":{"enum":"C"}})");
  ASSERT_FALSE(bad);
  EXPECT_EQ(bad.error().message,
            "Probe.x.io \"b\" is invalid: [spec.need: Required value, spec.enum: Unsupported "
            "value: \"C\": supported values: "
            "\"A\", \"B\", <nil>: Invalid value: null: some validation rules were not checked "
            "because the object was invalid; "
            "correct the existing errors to complete validation]");
}

TEST(ApiServerCrd, TransitionRuleHoldsOnlyWhileTheFieldStays) {
  World world;
  ASSERT_TRUE(world.create(kube::kCustomResourceDefinitions, kCrd));
  ASSERT_TRUE(world.create(
      kProbes,
      R"({"apiVersion":"x.io/v1","kind":"Probe","metadata":{"name":"a"},"spec":{"need":"n","imm":"x"}})"));
  auto changed = world.patch(kProbes, "a", kube::PatchType::Merge, R"({"spec":{"imm":"y"}})");
  ASSERT_FALSE(changed);
  EXPECT_EQ(changed.error().message,
            "Probe.x.io \"a\" is invalid: spec.imm: Invalid value: \"y\": imm is immutable");
  EXPECT_TRUE(world.patch(kProbes, "a", kube::PatchType::Merge, R"({"spec":{"imm":null}})"));
}

TEST(ApiServerCrd, StatusAndSpecAreWrittenApart) {
  World world;
  ASSERT_TRUE(world.create(kube::kCustomResourceDefinitions, kCrd));
  ASSERT_TRUE(world.create(
      kProbes,
      R"({"apiVersion":"x.io/v1","kind":"Probe","metadata":{"name":"a"},"spec":{"need":"n"}})"));
  auto status = world.patch(kProbes, "a", kube::PatchType::Merge,
                            R"({"spec":{"need":"other"},"status":{"replicas":2}})", "status");
  ASSERT_TRUE(status);
  EXPECT_EQ(string_at(*status, {"spec", "need"}), "n");
  EXPECT_EQ(int_at(*status, {"status", "replicas"}), 2);
  EXPECT_EQ(int_at(*status, {"metadata", "generation"}), 1);
  auto spec = world.patch(kProbes, "a", kube::PatchType::Merge,
                          R"({"spec":{"need":"m"},"status":{"replicas":9}})");
  ASSERT_TRUE(spec);
  EXPECT_EQ(int_at(*spec, {"status", "replicas"}), 2);
  EXPECT_EQ(int_at(*spec, {"metadata", "generation"}), 2);
}

TEST(ApiServerCrd, RuleThatCannotBeCompiledIsRefusedWithItsCrd) {
  World world;
  std::string crd(kCrd);
  crd.replace(crd.find("self == oldSelf"), 15, "frobnicate(self)");
  auto refused = world.create(kube::kCustomResourceDefinitions, crd);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("undeclared reference to 'frobnicate'"), std::string::npos)
      << refused.error().message;
}

TEST(ApiServerCrd, PatternsAreGosAndTakeLinearTime) {
  World world;
  std::string crd(kCrd);
  crd.replace(crd.find(R"("enum":["A","B"])"), 16, R"("pattern":"^(a+)+$")");
  ASSERT_TRUE(world.create(kube::kCustomResourceDefinitions, crd));
  const auto probe = [](std::string_view name, const std::string& text) {
    return fmt::format(
        R"({{"apiVersion":"x.io/v1","kind":"Probe","metadata":{{"name":"{}"}},"spec":{{"need":"n","enum":"{}"}}}})",
        name, text);
  };
  EXPECT_TRUE(world.create(kProbes, probe("a", std::string(100'000, 'a'))));
  EXPECT_FALSE(world.create(kProbes, probe("b", std::string(100'000, 'a') + "b")));
}

TEST(ApiServerCrd, APatternThatIsNoneIsRefusedWithItsCrd) {
  World world;
  std::string crd(kCrd);
  crd.replace(crd.find(R"("enum":["A","B"])"), 16, R"x("pattern":"(?=a)")x");
  const auto refused = world.create(kube::kCustomResourceDefinitions, crd);
  ASSERT_FALSE(refused);
  EXPECT_EQ(
      refused.error().message,
      "CustomResourceDefinition.apiextensions.k8s.io \"probes.x.io\" is invalid: "
      "spec.validation.openAPIV3Schema.properties[spec].properties[enum].pattern: Invalid "
      "value: \"(?=a)\": must be a valid regular expression, but isn't: error parsing regexp: "
      "invalid or unsupported Perl syntax: `(?=`");
}

// Old items were once looked for one after the other, and so were errors said before.
TEST(ApiServerCrd, ListsOfMapsMayBeLong) {
  World world;
  std::string crd(kCrd);
  constexpr std::string_view kSet = R"("x-kubernetes-list-type":"set","items":{"type":"string"})";
  crd.replace(
      crd.find(kSet), kSet.size(),
      R"("x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["n"],"items":{"type":"object",
"required":["n"],"properties":{"n":{"type":"integer"},"v":{"type":"integer","minimum":0}}})");
  ASSERT_TRUE(world.create(kube::kCustomResourceDefinitions, crd));
  const auto items = [](int value) {
    std::string list;
    for (int i = 0; i < 30'000; ++i)
      list += fmt::format(R"({}{{"n":{},"v":{}}})", i ? "," : "", 30'000 - i, value);
    return list;
  };
  ASSERT_TRUE(world.create(
      kProbes,
      R"({"apiVersion":"x.io/v1","kind":"Probe","metadata":{"name":"a"},"spec":{"need":"n","set":[)" +
          items(1) + "]}}"));
  EXPECT_TRUE(
      world.patch(kProbes, "a", kube::PatchType::Merge, R"({"spec":{"set":[)" + items(2) + "]}}"));
  const auto bad =
      world.patch(kProbes, "a", kube::PatchType::Merge, R"({"spec":{"set":[)" + items(-1) + "]}}");
  ASSERT_FALSE(bad);
  EXPECT_GE(bad.error().causes.size(), 30'000u);
}

TEST(ApiServerCrd, ObjectsMayHaveManyFields) {
  World world;
  std::string properties, fields;
  for (int i = 0; i < 20'000; ++i) {
    properties += fmt::format(R"("p{}":{{"type":"string"}},)", i);
    fields += fmt::format(R"(,"p{}":"x")", i);
  }
  std::string crd(kCrd);
  crd.insert(crd.find(R"("imm":)"), properties);
  ASSERT_TRUE(world.create(kube::kCustomResourceDefinitions, crd));
  const auto made = world.create(
      kProbes,
      R"({"apiVersion":"x.io/v1","kind":"Probe","metadata":{"name":"a"},"spec":{"need":"n","zz":1)" +
          fields + "}}");
  ASSERT_TRUE(made) << made.error().message.substr(0, 200);
  EXPECT_EQ(object_at(*made, {"spec"}).size(), 20'002u);  // need, replicas by default, no zz
}

TEST(ApiServerCrd, ARuleThatCostsTooMuchEndsTheJudging) {
  World world;
  std::string crd(kCrd);
  crd.replace(crd.find("self == oldSelf"), 15, "[self].map(x, x + x).map(x, x + x).size() == 1");
  ASSERT_TRUE(world.create(kube::kCustomResourceDefinitions, crd));
  const auto made = world.create(
      kProbes,
      fmt::format(
          R"({{"apiVersion":"x.io/v1","kind":"Probe","metadata":{{"name":"a"}},"spec":{{"need":"n","imm":"{}"}}}})",
          std::string(2'900'000, 'a')));
  ASSERT_FALSE(made);
  EXPECT_EQ(
      made.error().message,
      "Probe.x.io \"a\" is invalid: spec.imm: Invalid value: \"string\": 'operation cancelled: "
      "actual cost limit exceeded': no further validation rules will be run due to call cost "
      "exceeds limit for rule: [self].map(x, x + x).map(x, x + x).size() == 1");
}

TEST(ApiServerCrd, DeletingTheDefinitionDeletesItsObjects) {
  World world;
  ASSERT_TRUE(world.create(kube::kCustomResourceDefinitions, kCrd));
  ASSERT_TRUE(world.create(
      kProbes,
      R"({"apiVersion":"x.io/v1","kind":"Probe","metadata":{"name":"a"},"spec":{"need":"n"}})"));
  ASSERT_TRUE(world.remove(kube::kCustomResourceDefinitions, "probes.x.io"));
  world.loop.run_ready();
  EXPECT_EQ(world.get(kProbes, "a").error().code, ErrorCode::NotFound);
  EXPECT_EQ(world.get(kube::kCustomResourceDefinitions, "probes.x.io").error().code,
            ErrorCode::NotFound);
}

TEST(ApiServer, BothViewsOfAnEventAreOneObject) {
  World world;
  auto made = world.create(
      kube::kEvents,
      R"({"metadata":{"name":"e","namespace":"default"},"eventTime":"2026-01-01T00:00:00.000000Z",
    "reportingController":"x","reportingInstance":"y","action":"a","reason":"R","regarding":{"kind":"Pod","name":"p","namespace":"default"},
    "note":"hello","type":"Normal"})");
  ASSERT_TRUE(made) << made.error().message;
  auto core = world.get(kube::kCoreEvents, "e");
  ASSERT_TRUE(core);
  EXPECT_EQ(string_at(*core, {"message"}), "hello");
  EXPECT_EQ(string_at(*core, {"involvedObject", "name"}), "p");
  EXPECT_EQ(string_at(*core, {"reportingComponent"}), "x");
}

TEST(ApiServer, ServicesGetAddressesThatNobodyElseHas) {
  World world;
  auto a =
      world.create(kube::kServices, R"({"metadata":{"name":"a"},"spec":{"ports":[{"port":80}]}})");
  auto b =
      world.create(kube::kServices,
                   R"({"metadata":{"name":"b"},"spec":{"type":"NodePort","ports":[{"port":80}]}})");
  ASSERT_TRUE(a && b);
  EXPECT_NE(string_at(*a, {"spec", "clusterIP"}), string_at(*b, {"spec", "clusterIP"}));
  EXPECT_TRUE(string_at(*a, {"spec", "clusterIP"}).starts_with("10.96."));
  EXPECT_GE(int_at(array_at(*b, {"spec", "ports"})[0], {"nodePort"}), 30000);
  EXPECT_EQ(int_at(array_at(*a, {"spec", "ports"})[0], {"targetPort"}), 80);
}

TEST(ApiServer, NothingIsMadeInANamespaceThatIsNotThere) {
  World world;
  auto made = world.create(kube::kConfigMaps, R"({"metadata":{"name":"a"}})", "nope");
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().message, "namespaces \"nope\" not found");
}

TEST(ApiServer, ClaimStaysWhileAPodUsesIt) {
  World world;
  ASSERT_TRUE(world.create(
      kube::kPersistentVolumeClaims,
      R"({"metadata":{"name":"v"},"spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1Gi"}}}})"));
  ASSERT_TRUE(world.create(
      kube::kPods,
      R"({"metadata":{"name":"p"},"spec":{"volumes":[{"name":"d","persistentVolumeClaim":{"claimName":"v"}}],"containers":[{"name":"c","image":"i"}]}})"));
  ASSERT_TRUE(world.remove(kube::kPersistentVolumeClaims, "v"));
  EXPECT_TRUE(world.get(kube::kPersistentVolumeClaims, "v"));
  ASSERT_TRUE(world.remove(kube::kPods, "p"));
  EXPECT_FALSE(world.get(kube::kPersistentVolumeClaims, "v"));
}

TEST(ApiServer, SurvivesARestart) {
  const std::string path = testing::TempDir() + "manta-apiserver-test.db";
  for (const auto* suffix : {"", "-wal", "-shm"}) std::remove((path + suffix).c_str());
  std::string version;
  {
    VirtualLoop loop;
    SeededRandom random{1};
    auto store = std::move(*Store::open({.path = path}));
    ApiServer api(loop, random, *store);
    ASSERT_TRUE(loop.run(api.create(kube::kCustomResourceDefinitions, *parse_json(kCrd))));
    auto made = loop.run(api.create(
        kProbes,
        *parse_json(
            R"({"apiVersion":"x.io/v1","kind":"Probe","metadata":{"name":"a","namespace":"default"},"spec":{"need":"n"}})")));
    ASSERT_TRUE(made);
    version = string_at(*made, {"metadata", "resourceVersion"});
  }
  VirtualLoop loop;
  SeededRandom random{2};
  auto store = std::move(*Store::open({.path = path}));
  ApiServer api(loop, random, *store);
  auto again = loop.run(api.get(kProbes, {"default", "a"}));
  ASSERT_TRUE(again);
  EXPECT_EQ(string_at(*again, {"metadata", "resourceVersion"}), version);
  for (const auto* suffix : {"", "-wal", "-shm"}) std::remove((path + suffix).c_str());
}

}  // namespace
}  // namespace manta::local
