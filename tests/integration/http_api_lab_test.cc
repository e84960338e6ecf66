// The API client against a real kube-apiserver. Needs MANTA_LAB_KUBECONFIG, which the conformance
// lab prints; without it every test is skipped and says so.
#include "base/async.h"
#include "kube/http_api.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <set>

namespace manta::kube {
namespace {

using namespace std::chrono_literals;

Json config_map(const std::string& name, const std::string& value) {
  return JsonObject{{"apiVersion", "v1"},
                    {"kind", "ConfigMap"},
                    {"metadata", JsonObject{{"name", name},
                                            {"namespace", "default"},
                                            {"labels", JsonObject{{"test", "http-api"}}}}},
                    {"data", JsonObject{{"k", value}}}};
}

class HttpApiLab : public testing::Test {
 protected:
  void SetUp() override {
    const char* path = std::getenv("MANTA_LAB_KUBECONFIG");
    if (!path || !*path)
      GTEST_SKIP() << "MANTA_LAB_KUBECONFIG is not set: no real API server is tested";
    ConfigSource source{.kubeconfig_flag = path};
    auto config = load_client_config(source);
    ASSERT_TRUE(config) << config.error().message;
    config_ = *config;
    auto made = make_http_api(loop_, {.config = config_, .user_agent = "manta-lab-test"});
    ASSERT_TRUE(made) << made.error().message;
    api_ = std::move(*made);
    clean();
  }
  void TearDown() override {
    if (api_) clean();
  }
  void clean() {
    Request request;
    request.verb = Verb::DeleteCollection;
    request.resource = kConfigMaps;
    request.namespace_ = "default";
    request.label_selector = "test=http-api";
    const auto gone = run_to_end(loop_, api_->call(request));
    EXPECT_TRUE(gone) << gone.error().message;
  }
  Result<Json> create(const std::string& name, const std::string& value = "1") {
    return run_to_end(loop_, api_->create(kConfigMaps, config_map(name, value)));
  }

  AsioLoop loop_;
  ClientConfig config_ = {};
  std::unique_ptr<Api> api_ = {};
};

TEST_F(HttpApiLab, CreateReadUpdatePatchDelete) {
  auto created = create("crud");
  ASSERT_TRUE(created) << created.error().message;
  const ObjectKey key{"default", "crud"};
  EXPECT_EQ(create("crud").error().code, ErrorCode::AlreadyExists);
  auto read = run_to_end(loop_, api_->get(kConfigMaps, key));
  ASSERT_TRUE(read);
  EXPECT_EQ(*read, *created);

  Json newer = *read;
  ensure(newer, {"data", "k"}) = "2";
  auto updated = run_to_end(loop_, api_->update(kConfigMaps, newer));
  ASSERT_TRUE(updated) << updated.error().message;
  const auto stale = run_to_end(loop_, api_->update(kConfigMaps, *read));
  ASSERT_FALSE(stale);
  EXPECT_EQ(stale.error().code, ErrorCode::Conflict);
  EXPECT_EQ(stale.error().http_status, 409);

  const auto patch = [&](PatchType type, const char* text) {
    return run_to_end(loop_, api_->patch(kConfigMaps, key, type, parse_json(text).value()));
  };
  EXPECT_EQ(string_at(patch(PatchType::Merge, R"({"data":{"m":"x"}})").value(), {"data", "m"}),
            "x");
  EXPECT_EQ(
      string_at(
          patch(PatchType::Json, R"([{"op":"replace","path":"/data/m","value":"y"}])").value(),
          {"data", "m"}),
      "y");
  EXPECT_EQ(string_at(patch(PatchType::Strategic, R"({"data":{"m":"z"}})").value(), {"data", "m"}),
            "z");
  Request apply;
  apply.verb = Verb::Patch;
  apply.resource = kConfigMaps;
  apply.namespace_ = "default";
  apply.name = "crud";
  apply.patch_type = PatchType::Apply;
  apply.field_manager = "lab";
  apply.body = config_map("crud", "3");
  const auto contested = run_to_end(loop_, api_->call(apply));
  ASSERT_FALSE(contested);
  EXPECT_EQ(contested.error().code, ErrorCode::Conflict);
  EXPECT_FALSE(contested.error().causes.empty());
  apply.force = true;
  EXPECT_EQ(string_at(run_to_end(loop_, api_->call(apply))->body, {"data", "k"}), "3");

  const auto other =
      run_to_end(loop_, api_->remove(kConfigMaps, key, "00000000-0000-4000-8000-000000000000"));
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().code, ErrorCode::Conflict) << "another uid is another object";
  EXPECT_TRUE(run_to_end(
      loop_,
      api_->remove(kConfigMaps, key, std::string(string_at(*created, {"metadata", "uid"})))));
  EXPECT_EQ(run_to_end(loop_, api_->get(kConfigMaps, key)).error().code, ErrorCode::NotFound);
}

TEST_F(HttpApiLab, ErrorsAreTyped) {
  auto bad = config_map("Not_A_Name", "1");
  const auto invalid = run_to_end(loop_, api_->create(kConfigMaps, bad));
  ASSERT_FALSE(invalid);
  EXPECT_EQ(invalid.error().code, ErrorCode::Invalid);
  ASSERT_FALSE(invalid.error().causes.empty());
  EXPECT_EQ(invalid.error().causes[0].field, "metadata.name");

  Request dry;
  dry.verb = Verb::Create;
  dry.resource = kConfigMaps;
  dry.namespace_ = "default";
  dry.body = config_map("dry", "1");
  dry.dry_run = true;
  dry.field_validation = "Strict";
  EXPECT_TRUE(run_to_end(loop_, api_->call(dry)));
  EXPECT_FALSE(run_to_end(loop_, api_->get(kConfigMaps, {"default", "dry"})));
  ensure(dry.body, {"unknown"}) = 1;
  EXPECT_EQ(run_to_end(loop_, api_->call(dry)).error().code, ErrorCode::BadRequest);
  dry.field_validation = "Warn";
  const auto warned = run_to_end(loop_, api_->call(dry));
  ASSERT_TRUE(warned) << warned.error().message;
  ASSERT_EQ(warned->warnings.size(), 1u);
  EXPECT_NE(warned->warnings[0].find("unknown field"), std::string::npos);

  auto wrong = config_;
  wrong.token = "no-such-token";
  const auto stranger = make_http_api(loop_, {.config = wrong}).value();
  EXPECT_EQ(run_to_end(loop_, stranger->get(kConfigMaps, {"default", "x"})).error().code,
            ErrorCode::Unauthorized);

  auto untrusted = config_;
  untrusted.tls_server_name = "somebody.else";
  untrusted.insecure_skip_tls_verify = false;
  const auto suspicious = make_http_api(loop_, {.config = untrusted}).value();
  const auto refused = run_to_end(loop_, suspicious->get(kConfigMaps, {"default", "x"}));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::Unavailable);
  EXPECT_NE(refused.error().message.find("TLS with"), std::string::npos) << refused.error().message;
}

TEST_F(HttpApiLab, PagesGiveEveryObjectOnce) {
  for (int i = 0; i < 25; ++i) ASSERT_TRUE(create("page-" + std::to_string(i)));
  std::set<std::string> names;
  Request request;
  request.verb = Verb::List;
  request.resource = kConfigMaps;
  request.namespace_ = "default";
  request.label_selector = "test=http-api";
  request.limit = 10;
  int pages = 0;
  do {
    const auto page = run_to_end(loop_, api_->call(request));
    ASSERT_TRUE(page) << page.error().message;
    for (const auto& item : array_at(page->body, {"items"}))
      EXPECT_TRUE(names.insert(key_of(item).name).second);
    request.continue_ = string_at(page->body, {"metadata", "continue"});
    ++pages;
  } while (!request.continue_.empty());
  EXPECT_EQ(pages, 3);
  EXPECT_EQ(names.size(), 25u);
}

TEST_F(HttpApiLab, WatchSeesEveryChangeAndStopsAtOnce) {
  const auto list = run_to_end(loop_, api_->list(kConfigMaps, "default", "test=http-api"));
  std::stop_source stop;
  std::vector<std::string> seen;
  const auto story = [](Api& api) -> Task<bool> {
    const auto created = co_await api.create(kConfigMaps, config_map("watched", "1"));
    const auto patched = co_await api.patch(kConfigMaps, {"default", "watched"}, PatchType::Merge,
                                            parse_json(R"({"data":{"k":"2"}})").value());
    const auto removed = co_await api.remove(kConfigMaps, {"default", "watched"});
    co_return created&& patched&& removed;
  };
  bool changed = false;
  Scope scope(loop_);
  scope.spawn("change", [](Task<bool> work, bool& out) -> Task<void> {
    out = co_await std::move(work);
  }(story(*api_), changed));
  const auto result = run_to_end(
      loop_,
      api_->watch(
          {.resource = kConfigMaps,
           .namespace_ = "default",
           .label_selector = "test=http-api",
           .resource_version = std::string(string_at(*list, {"metadata", "resourceVersion"}))},
          [&](WatchEvent event) {
            if (event.type == WatchEventType::Bookmark) return;
            static const char* const kNames[] = {"added", "modified", "deleted"};
            seen.push_back(kNames[static_cast<int>(event.type)]);
            if (event.type == WatchEventType::Deleted) stop.request_stop();
          },
          stop.get_token()));
  EXPECT_TRUE(result) << result.error().message;
  run_to_end(loop_, [](Scope& s) -> Task<int> {
    co_await s.join();
    co_return 0;
  }(scope));
  EXPECT_TRUE(changed);
  EXPECT_EQ(seen, (std::vector<std::string>{"added", "modified", "deleted"}));
}

TEST_F(HttpApiLab, WatchEndsInGoodOrderOrSaysWhy) {
  const auto ended = run_to_end(
      loop_, api_->watch({.resource = kConfigMaps, .namespace_ = "default", .timeout = 1s},
                         [](WatchEvent) {}, {}));
  EXPECT_TRUE(ended) << ended.error().message;
  // A revision that is not there yet: the server says so itself, within a watch or before it.
  const auto future = run_to_end(loop_, api_->watch({.resource = kConfigMaps,
                                                     .namespace_ = "default",
                                                     .resource_version = "99999999999",
                                                     .timeout = 1s},
                                                    [](WatchEvent) {}, {}));
  if (!future) EXPECT_EQ(future.error().code, ErrorCode::Timeout) << future.error().message;
  const auto bad = run_to_end(
      loop_,
      api_->watch({.resource = kConfigMaps, .namespace_ = "default", .resource_version = "x"},
                  [](WatchEvent) {}, {}));
  ASSERT_FALSE(bad);
  EXPECT_NE(bad.error().message.find("resourceVersion"), std::string::npos) << bad.error().message;
}

TEST_F(HttpApiLab, AThousandRequestsAtOnce) {
  ASSERT_TRUE(create("busy"));
  std::vector<Task<Result<Json>>> tasks;
  for (int i = 0; i < 1000; ++i) {
    tasks.push_back(i % 4 == 0
                        ? api_->create(kConfigMaps, config_map("many-" + std::to_string(i), "1"))
                        : api_->get(kConfigMaps, {"default", "busy"}));
  }
  const auto results = run_to_end(loop_, when_all(loop_, std::move(tasks)));
  for (const auto& result : results) ASSERT_TRUE(result) << result.error().message;
  const auto all = run_to_end(loop_, api_->list(kConfigMaps, "default", "test=http-api"));
  EXPECT_EQ(array_at(*all, {"items"}).size(), 251u);
}

TEST_F(HttpApiLab, LargeObjectsAndRawPaths) {
  ASSERT_TRUE(create("large", std::string(900'000, 'x')));
  const auto read = run_to_end(loop_, api_->get(kConfigMaps, {"default", "large"}));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(string_at(*read, {"data", "k"}).size(), 900'000u);
  const auto version = run_to_end(loop_, api_->raw({.path = "/version"}));
  ASSERT_TRUE(version);
  EXPECT_EQ(version->status, 200);
  EXPECT_EQ(version->headers.at("content-type"), "application/json");
  EXPECT_NE(version->body.find("gitVersion"), std::string::npos);
  EXPECT_EQ(run_to_end(loop_, api_->raw({.path = "/no/such"}))->status, 404);
  const auto capped = run_to_end(
      loop_, api_->raw({.path = "/api/v1/namespaces/default/configmaps/large", .max_bytes = 1000}));
  ASSERT_FALSE(capped);
  EXPECT_EQ(capped.error().code, ErrorCode::TooLarge);
}

TEST_F(HttpApiLab, ADeadlineIsATimeoutAndTheConnectionGoesOn) {
  Request request;
  request.resource = kConfigMaps;
  request.namespace_ = "default";
  request.name = "x";
  request.timeout = 1us;
  EXPECT_EQ(run_to_end(loop_, api_->call(request)).error().code, ErrorCode::Timeout);
  request.timeout = 30s;
  EXPECT_EQ(run_to_end(loop_, api_->call(request)).error().code, ErrorCode::NotFound);
}

}  // namespace
}  // namespace manta::kube
