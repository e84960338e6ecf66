#include "operator/dashboard_fetch.h"

#include "kube/http_test_server.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace manta::operator_ {
namespace {

using namespace std::chrono_literals;

struct NoApi final : kube::Api {
  Task<Result<kube::Response>> call(kube::Request) override { co_return kube::Response{}; }
  Task<Result<void>> watch(kube::WatchRequest, WatchSink, std::stop_token) override {
    co_return Result<void>{};
  }
  Task<Result<kube::RawResponse>> raw(kube::RawRequest) override { co_return kube::RawResponse{}; }
};

// What a job's state is when Ray's dashboard answers these bytes.
Result<Json> job_info(kube::TestServer& server, bool may_write = true,
                      std::string_view op = "job-info") {
  AsioLoop loop;
  kube::HttpClient client(loop, {});
  NoApi api;
  RayDashboard dashboard(
      fetch_over(client, [may_write] { return may_write; }), api,
      [](const kube::ObjectKey&) { return std::optional<std::string>(); }, false);
  const auto host = server.url("").substr(std::string_view("http://").size());
  return run_to_end(loop, dashboard.call("ray-dashboard",
                                         JsonObject{{"op", op}, {"host", host}, {"job_id", "id"}}));
}

std::string chunk(const std::string& text) {
  return fmt::format("{:x}\r\n{}\r\n", text.size(), text);
}

// As much as goes in one piece.
std::string many(std::string_view text) {
  std::string out;
  while (out.size() < 4096) out += text;
  return out;
}

struct Case {
  const char* name;
  kube::TestServer::Reply reply;
};
std::vector<Case> hostile() {
  const std::string ok = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n";
  const std::string chunked = ok + "Transfer-Encoding: chunked\r\n\r\n";
  std::string headers = "HTTP/1.1 200 OK\r\n";
  for (int i = 0; i < 1'000'000; ++i) headers += "A: b\r\n";
  return {
      {"TenGibibytesAnnounced",
       {ok + "Content-Length: 10737418240\r\n\r\n", false, std::string(4096, '{')}},
      {"EndlessChunks", {chunked, false, chunk(std::string(64 << 10, ' '))}},
      {"ChunksOfExtensions", {chunked, false, "1;" + std::string(60'000, 'x') + "\r\n \r\n"}},
      {"AMillionHeaders", {headers + "Content-Length: 2\r\n\r\n{}", true}},
      {"HeadersWithoutEnd", {"HTTP/1.1 200 OK\r\n", false, many("A: b\r\n")}},
      {"LinesWithoutStatus", {"", false, std::string(4096, '\n')}},
      {"ContinuesWithoutEnd", {"", false, many("HTTP/1.1 100 Continue\r\n\r\n")}},
      {"ADrip", {ok + "Content-Length: 2000\r\n\r\n{\"status\":\"RUNNING\"}", false, " ", 20ms}},
      {"PackedBody",
       {ok + "Content-Encoding: gzip\r\nContent-Length: 4\r\n\r\n\x1f\x8b\x08" + "x", true}},
      {"Redirect",
       {"HTTP/1.1 302 Found\r\nLocation: http://169.254.169.254/\r\nContent-Length: 0\r\n\r\n",
        true}},
  };
}
class SEC_07 : public testing::TestWithParam<Case> {};
TEST_P(SEC_07, Row) {
  std::atomic<int> asked = 0;
  kube::TestServer server([&](const std::string&) -> kube::TestServer::Reply {
    ++asked;
    return GetParam().reply;
  });
  const auto answer = job_info(server);
  ASSERT_FALSE(answer) << dump_json(*answer);
  EXPECT_NE(answer.error().code, ErrorCode::NotFound);  // which would mean: no such job
  EXPECT_LT(answer.error().message.size(), 2000u);
  EXPECT_LE(asked, 2);  // nobody went where it points
  // Twice at most, and what the kernel holds between the two.
  EXPECT_LT(server.sent(), 32u << 20);
}
INSTANTIATE_TEST_SUITE_P(, SEC_07, testing::ValuesIn(hostile()),
                         [](auto& c) { return c.param.name; });

TEST(DashboardFetch, RJ_39_OfALogOfManyMebibytesTheEndIsKept) {
  std::string bytes =
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + chunk("{\"logs\": \"");
  for (int i = 0; i < 100'000; ++i)
    bytes += chunk(fmt::format("line {} of very many, \\u00e9\\n", i));
  bytes += chunk("the end\\n\"}") + "0\r\n\r\n";
  ASSERT_GT(bytes.size(), 3u << 20);
  kube::TestServer server([&](const std::string&) -> kube::TestServer::Reply { return {bytes}; });
  const auto answer = job_info(server, true, "job-log");
  ASSERT_TRUE(answer) << answer.error().message;
  const auto log = string_at(*answer, {"logs"});
  EXPECT_GT(log.size(), (64u << 10) - 4);
  EXPECT_LE(log.size(), 64u << 10);
  EXPECT_TRUE(log.ends_with("line 99999 of very many, \u00e9\nthe end\n"));
}

// Of one application with so many replicas.
std::string serve_details(int replicas) {
  std::string text =
      R"({"proxies":{},"applications":{"a":{"status":"RUNNING","message":"well","deployed_app_config":{"name":"a"},)"
      R"("docs_path":null,"deployments":{"d":{"status":"HEALTHY","message":"","replicas":[)";
  for (int i = 0; i < replicas; ++i)
    text += fmt::format(R"({}{{"replica_id":"{:08}","state":"RUNNING","log":"{}"}})", i ? "," : "",
                        i, std::string(450, 'x'));
  return text + "]}}}}}";
}

TEST(DashboardFetch, OfTheDetailsOfThousandsOfReplicasOnlyTheStatesAreKept) {
  const auto body = serve_details(2500);
  ASSERT_GT(body.size(), 1u << 20);
  kube::TestServer server(
      [&](const std::string&) -> kube::TestServer::Reply { return {kube::TestServer::ok(body)}; });
  const auto answer = job_info(server, true, "serve-details");
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(
      dump_json(*answer),
      R"({"applications":{"a":{"status":"RUNNING","message":"well","deployed_app_config":{"name":"a"},)"
      R"("deployments":{"d":{"status":"HEALTHY","message":""}}}}})");
}

TEST(DashboardFetch, SEC_07_DetailsHaveABoundToo) {
  const auto body = serve_details(40'000);
  ASSERT_GT(body.size(), 16u << 20);
  kube::TestServer server(
      [&](const std::string&) -> kube::TestServer::Reply { return {kube::TestServer::ok(body)}; });
  const auto answer = job_info(server, true, "serve-details");
  ASSERT_FALSE(answer);
  EXPECT_NE(answer.error().message.find("larger than 16777216"), std::string::npos)
      << answer.error().message;
}

TEST(DashboardFetch, OnlyReadsForOneThatLeadsNoMore) {
  kube::TestServer server([](const std::string&) -> kube::TestServer::Reply {
    return {kube::TestServer::ok(R"({"status":"RUNNING","stopped":true})")};
  });
  EXPECT_TRUE(job_info(server, false));
  EXPECT_EQ(job_info(server, false, "stop-job").error().code, ErrorCode::Unavailable);
  EXPECT_TRUE(job_info(server, true, "stop-job"));
}

}  // namespace
}  // namespace manta::operator_
