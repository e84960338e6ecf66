#include "kube/http_api.h"

#include "base/async.h"
#include "kube/http_api_path.h"
#include "kube/http_api_watch.h"
#include "kube/http_test_server.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace manta::kube {
namespace {

using namespace std::chrono_literals;

TEST(Target, OfCalls) {
  Request get{.resource = kPods, .namespace_ = "n", .name = "a b"};
  EXPECT_EQ(target_of(get), "/api/v1/namespaces/n/pods/a%20b");
  Request log{.resource = kPods, .namespace_ = "n", .name = "a", .subresource = "proxy/metrics"};
  EXPECT_EQ(target_of(log), "/api/v1/namespaces/n/pods/a/proxy/metrics");
  Request list{.verb = Verb::List,
               .resource = kJobs,
               .label_selector = "a=b,c",
               .limit = 5,
               .continue_ = "x=="};
  EXPECT_EQ(target_of(list),
            "/apis/batch/v1/jobs?labelSelector=a%3Db%2Cc&limit=5&continue=x%3D%3D");
  Request create{.verb = Verb::Create,
                 .resource = kJobs,
                 .namespace_ = "n",
                 .name = "ignored",
                 .field_manager = "m",
                 .dry_run = true};
  EXPECT_EQ(target_of(create), "/apis/batch/v1/namespaces/n/jobs?fieldManager=m&dryRun=All");
  Request evict{.verb = Verb::Create,
                .resource = kPods,
                .namespace_ = "n",
                .name = "a",
                .subresource = "eviction"};
  EXPECT_EQ(target_of(evict), "/api/v1/namespaces/n/pods/a/eviction");
  Request apply{.verb = Verb::Patch,
                .resource = kNodes,
                .namespace_ = "ignored",
                .name = "a",
                .patch_type = PatchType::Apply,
                .field_manager = "m",
                .force = true};
  EXPECT_EQ(target_of(apply), "/api/v1/nodes/a?fieldManager=m&force=true");
  EXPECT_EQ(target_of(WatchRequest{.resource = kPods, .resource_version = "7", .timeout = 90s}),
            "/api/v1/pods?watch=true&resourceVersion=7&allowWatchBookmarks=true&timeoutSeconds=90");
}

TEST(PayloadOf, DeleteOptionsAndPatches) {
  Request remove{.verb = Verb::Delete,
                 .resource = kPods,
                 .precondition_uid = "u",
                 .propagation = Propagation::Foreground,
                 .grace_period_seconds = 0};
  EXPECT_EQ(
      payload_of(remove).text,
      R"({"gracePeriodSeconds":0,"propagationPolicy":"Foreground","preconditions":{"uid":"u"},"kind":"DeleteOptions","apiVersion":"v1"})");
  EXPECT_EQ(payload_of({.verb = Verb::Delete}).text, "");
  EXPECT_EQ(
      payload_of(
          {.verb = Verb::Patch, .body = JsonObject{{"a", 1}}, .patch_type = PatchType::Strategic})
          .content_type,
      "application/strategic-merge-patch+json");
  EXPECT_EQ(warning_text(R"(299 - "say \"hi\"")"), "say \"hi\"");
}

TEST(WatchDecoder, AnySplitGivesTheSameEvents) {
  const std::string stream =
      "{\"type\":\"ADDED\",\"object\":{\"i\":1}}\n{\"type\":\"MODIFIED\",\"object\":{\"i\":2}}"
      "\r\n\n"
      "{\"type\":\"DELETED\",\"object\":{\"i\":3}}\n{\"type\":\"BOOKMARK\",\"object\":{\"i\":4}}\n";
  for (const std::size_t step : {1, 5, 64, 1000}) {
    std::string seen;
    WatchDecoder decoder(
        [&](WatchEvent event) {
          seen += std::to_string(static_cast<int>(event.type)) +
                  std::to_string(int_at(event.object, {"i"})) + " ";
        },
        100);
    for (std::size_t at = 0; at < stream.size(); at += step)
      ASSERT_TRUE(decoder.feed(std::string_view(stream).substr(at, step)));
    EXPECT_EQ(seen, "01 12 23 34 ");
  }
}

TEST(WatchDecoder, Failures) {
  const auto code = [](std::string_view text) {
    WatchDecoder decoder([](WatchEvent) {}, 100);
    const auto fed = decoder.feed(text);
    return fed ? ErrorCode::Cancelled : fed.error().code;
  };
  EXPECT_EQ(code("{\"type\":\"ERROR\",\"object\":{\"kind\":\"Status\",\"code\":410,\"reason\":"
                 "\"Expired\"}}\n"),
            ErrorCode::Expired);
  EXPECT_EQ(code("{\"type\":\"ERROR\",\"object\":{\"kind\":\"Status\",\"code\":410,\"reason\":"
                 "\"Gone\"}}\n"),
            ErrorCode::Expired);
  EXPECT_EQ(code("not json\n"), ErrorCode::BadRequest);
  EXPECT_EQ(code("{\"type\":\"ODD\",\"object\":{}}\n"), ErrorCode::Internal);
  EXPECT_EQ(code("{\"type\":\"ADDED\"}\n"), ErrorCode::Internal);
  EXPECT_EQ(code(std::string(101, ' ')), ErrorCode::TooLarge);
}

std::string header(const std::string& request, const std::string& name) {
  const auto at = request.find("\r\n" + name + ": ");
  if (at == std::string::npos) return "";
  const auto from = at + name.size() + 4;
  return request.substr(from, request.find('\r', from) - from);
}

TEST(HttpApi, AnswersStatusErrorsAndWarnings) {
  TestServer server([](const std::string& request) -> TestServer::Reply {
    if (request.find("/pods/teapot ") != std::string::npos)
      return {TestServer::ok("short and stout", "Retry-After: 7\r\n", 429)};
    if (request.find("/pods/html ") != std::string::npos) return {TestServer::ok("<html>", "")};
    if (request.find("/pods/none ") != std::string::npos)
      return {TestServer::ok(
          R"({"kind":"Status","reason":"NotFound","message":"pods \"none\" not found","code":404})",
          "", 404)};
    return {TestServer::ok(R"({"kind":"Pod"})", "Warning: 299 - \"old API\"\r\n")};
  });
  AsioLoop loop;
  const auto api =
      make_http_api(loop, {.config = {.server = server.url("/")}, .user_agent = "test"}).value();
  const auto get = [&](const char* name) { return run_to_end(loop, api->get(kPods, {"n", name})); };
  EXPECT_EQ(string_at(get("fine").value(), {"kind"}), "Pod");
  EXPECT_EQ(get("none").error().code, ErrorCode::NotFound);
  EXPECT_EQ(get("none").error().message, "pods \"none\" not found");
  // The server wants 7 s, more than the request has: its answer stands.
  const auto teapot =
      run_to_end(loop,
                 api->call({.resource = kPods, .namespace_ = "n", .name = "teapot", .timeout = 5s}))
          .error();
  EXPECT_EQ(teapot.code, ErrorCode::TooManyRequests);
  EXPECT_EQ(teapot.retry_after, 7s);
  EXPECT_NE(teapot.message.find("short and stout"), std::string::npos);
  EXPECT_EQ(get("html").error().code, ErrorCode::Internal);
  EXPECT_EQ(
      run_to_end(loop, api->call({.resource = kPods, .namespace_ = "n", .name = "x"}))->warnings,
      std::vector<std::string>{"old API"});
  EXPECT_EQ(run_to_end(loop, api->raw({.path = "no-slash"})).error().code, ErrorCode::BadRequest);
}

struct Told {
  const char* name;
  Verb verb;
  int status;
  const char* retry_after;  // empty: no such header
  int busy;                 // how often the server says so
  int want;                 // requests that it gets
};
const Told kTold[] = {
    {"ReadIsSentAgainAfter429", Verb::Get, 429, "0", 3, 4},
    {"WriteIsSentAgainAfter429", Verb::Create, 429, "0", 3, 4},
    {"ReadIsSentAgainAfter503", Verb::Get, 503, "0", 1, 2},
    {"WriteIsNotSentAgainAfter503", Verb::Create, 503, "0", 1, 1},  // it may have been committed
    {"NotWithoutAHeader", Verb::Get, 429, "", 1, 1},
    {"NotForAnHour", Verb::Get, 429, "3600", 1, 1},
    {"NotForADate", Verb::Get, 429, "Wed, 21 Oct 2026 07:28:00 GMT", 1, 1},
    {"NotForEver", Verb::Get, 429, "0", 1000, 11},
};
class RetryAfter : public ::testing::TestWithParam<Told> {};
TEST_P(RetryAfter, Row) {
  const auto& told = GetParam();
  std::atomic<int> asked = 0;
  TestServer server([&](const std::string&) -> TestServer::Reply {
    if (asked++ >= told.busy) return {TestServer::ok(R"({"kind":"Pod"})", "")};
    const std::string after = told.retry_after;
    return {
        TestServer::ok("busy", after.empty() ? "" : "Retry-After: " + after + "\r\n", told.status)};
  });
  struct Counter final : HttpObserver {
    void retried(std::string_view, int) override { ++retries; }
    void exchanged(const Exchange&) override { ++exchanges; }
    int retries = 0, exchanges = 0;
  } counter;
  AsioLoop loop;
  const auto api =
      make_http_api(loop, {.config = {.server = server.url("")}, .observer = &counter}).value();
  const auto answer = run_to_end(
      loop, api->call({.verb = told.verb, .resource = kPods, .namespace_ = "n", .name = "x"}));
  EXPECT_EQ(asked, told.want);
  EXPECT_EQ(answer.has_value(), told.want > told.busy);
  EXPECT_EQ(counter.exchanges, told.want);
  EXPECT_EQ(counter.retries, told.want - 1);
}
INSTANTIATE_TEST_SUITE_P(, RetryAfter, ::testing::ValuesIn(kTold),
                         [](auto& c) { return c.param.name; });

TEST(HttpApi, WatchesEndAsTheServerEndsThem) {
  TestServer server([](const std::string& request) -> TestServer::Reply {
    const std::string head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    const auto chunk = [](const std::string& text) {
      char size[16];
      snprintf(size, sizeof size, "%zx\r\n", text.size());
      return size + text + "\r\n";
    };
    const auto event = chunk("{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"name\":\"a\"}}}\n");
    if (request.find("resourceVersion=1&") != std::string::npos)
      return {head + event +
              chunk("{\"type\":\"ERROR\",\"object\":{\"kind\":\"Status\",\"code\":410,\"reason\":"
                    "\"Expired\",\"message\":\"too old\"}}\n")};
    if (request.find("resourceVersion=2&") != std::string::npos)
      return {head + event, true};  // breaks off
    if (request.find("resourceVersion=3&") != std::string::npos) return {head + event};  // goes on
    if (request.find("resourceVersion=4&") != std::string::npos)
      return {TestServer::ok(R"({"kind":"Status","reason":"Expired","code":410})", "", 410)};
    return {head + event + "0\r\n\r\n"};
  });
  AsioLoop loop;
  const auto api = make_http_api(loop, {.config = {.server = server.url("")}}).value();
  int events = 0;
  const auto watch = [&](const char* version, std::stop_token stop = {}) {
    const auto result = run_to_end(loop, api->watch(
                                             {.resource = kPods, .resource_version = version},
                                             [&](WatchEvent) { ++events; }, stop));
    return result ? std::string("ended")
                  : std::string(to_string(result.error().code)) + ": " + result.error().message;
  };
  EXPECT_EQ(watch("0"), "ended");
  EXPECT_EQ(watch("1"), "Expired: too old");
  EXPECT_TRUE(watch("2").starts_with("Unavailable: watch /api/v1/pods: connection lost"))
      << watch("2");
  EXPECT_TRUE(watch("4").starts_with("Expired"));
  events = 0;
  std::stop_source stop;
  const auto result = run_to_end(loop, api->watch(
                                           {.resource = kPods, .resource_version = "3"},
                                           [&](WatchEvent) {
                                             ++events;
                                             stop.request_stop();
                                           },
                                           stop.get_token()));
  EXPECT_TRUE(result);
  EXPECT_EQ(events, 1);
}

class Folder {
 public:
  Folder() {
    char name[] = "/tmp/http_api_test.XXXXXX";
    path = mkdtemp(name);
  }
  ~Folder() { std::filesystem::remove_all(path); }
  std::string file(const std::string& name, const std::string& text) const {
    std::ofstream(path + "/" + name, std::ios::trunc) << text;
    return path + "/" + name;
  }
  std::string path;
};

TEST(HttpApi, ARotatedTokenFileIsReadAgainWhenTheOldTokenIsRejected) {
  const Folder folder;
  std::string accepted = "Bearer one";
  std::vector<std::string> seen;
  TestServer server([&](const std::string& request) -> TestServer::Reply {
    seen.push_back(header(request, "Authorization"));
    if (seen.back() != accepted)
      return {TestServer::ok(R"({"kind":"Status","reason":"Unauthorized","code":401})", "", 401)};
    return {TestServer::ok("{}")};
  });
  AsioLoop loop;
  const auto api =
      make_http_api(
          loop, {.config = {.server = server.url(""), .token_file = folder.file("token", "one\n")}})
          .value();
  EXPECT_TRUE(run_to_end(loop, api->get(kNodes, {"", "a"})));
  folder.file("token", "two\n");
  accepted = "Bearer two";
  EXPECT_TRUE(run_to_end(loop, api->get(kNodes, {"", "a"})));
  EXPECT_EQ(seen, (std::vector<std::string>{"Bearer one", "Bearer one", "Bearer two"}));
  accepted = "none";
  EXPECT_EQ(run_to_end(loop, api->get(kNodes, {"", "a"})).error().code, ErrorCode::Unauthorized);
  EXPECT_EQ(seen.size(), 4u) << "the same token is not tried twice";
}

TEST(HttpApi, ThePluginRunsOnceForManyCallersAndAgainWhenItExpires) {
  const Folder folder;
  const auto plugin = [&](const char* expires) {
    return "#!/bin/sh\necho run >> " + folder.path + "/runs\n" + "n=$(wc -l < " + folder.path +
           "/runs)\n" +
           "echo "
           "'{\"kind\":\"ExecCredential\",\"apiVersion\":\"client.authentication.k8s.io/"
           "v1\",\"status\":{\"token\":\"t'$n'\"" +
           expires + "}}'\n";
  };
  const auto program = folder.file("plugin", plugin(""));
  std::filesystem::permissions(program, std::filesystem::perms::owner_all);
  std::vector<std::string> seen;
  TestServer server([&](const std::string& request) -> TestServer::Reply {
    seen.push_back(header(request, "Authorization"));
    return {TestServer::ok("{}")};
  });
  AsioLoop loop;
  ClientConfig config{.server = server.url(""),
                      .exec = ExecPlugin{.apiVersion = "client.authentication.k8s.io/v1",
                                         .command = program,
                                         .interactiveMode = "Never"},
                      .environment = {{"PATH", "/usr/bin:/bin"}}};
  {
    const auto api = make_http_api(loop, {.config = config}).value();
    std::vector<Task<Result<Json>>> tasks;
    for (int i = 0; i < 5; ++i) tasks.push_back(api->get(kNodes, {"", "a"}));
    for (const auto& result : run_to_end(loop, when_all(loop, std::move(tasks))))
      EXPECT_TRUE(result);
    EXPECT_EQ(seen, std::vector<std::string>(5, "Bearer t1"));
  }
  folder.file("plugin", plugin(",\"expirationTimestamp\":\"2020-01-01T00:00:00Z\""));
  seen.clear();
  const auto api = make_http_api(loop, {.config = config}).value();
  EXPECT_TRUE(run_to_end(loop, api->get(kNodes, {"", "a"})));
  EXPECT_TRUE(run_to_end(loop, api->get(kNodes, {"", "a"})));
  EXPECT_EQ(seen, (std::vector<std::string>{"Bearer t2", "Bearer t3"}));
}

TEST(HttpApi, ConfigurationsThatCannotWorkAreToldAtOnce) {
  AsioLoop loop;
  EXPECT_NE(make_http_api(loop, {.config = {.server = "nowhere", .source = "kubeconfig x"}})
                .error()
                .message.find("kubeconfig x: URL"),
            std::string::npos);
  EXPECT_NE(make_http_api(loop, {.config = {.server = "https://h", .ca_pem = "junk"}})
                .error()
                .message.find("CA certificate"),
            std::string::npos);
}

}  // namespace
}  // namespace manta::kube
