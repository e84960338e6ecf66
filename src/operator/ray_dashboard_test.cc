#include "operator/ray_dashboard.h"

#include "base/virtual_loop.h"
#include "kube/object.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace manta::operator_ {
namespace {

// The other side: notes what it was asked and answers one thing.
struct Dashboard {
  kube::RawResponse answer = {.status = 200, .body = "{}"};
  std::string asked = {};
  std::map<std::string, std::string> headers = {};
  std::string body = {};

  HttpFetch fetch() {
    return [this](std::string host, kube::RawRequest request) -> Task<Result<kube::RawResponse>> {
      return take(std::move(host), std::move(request));
    };
  }
  Task<Result<kube::RawResponse>> take(std::string host, kube::RawRequest request) {
    asked = request.method + " " + host + request.path;
    headers = request.headers;
    body = request.body;
    co_return answer;
  }
};

struct ProxyApi final : kube::Api {
  explicit ProxyApi(Dashboard& d) : dashboard(d) {}
  Dashboard& dashboard;
  Task<Result<kube::Response>> call(kube::Request) override { co_return kube::Response{}; }
  Task<Result<void>> watch(kube::WatchRequest, WatchSink, std::stop_token) override {
    co_return Result<void>{};
  }
  Task<Result<kube::RawResponse>> raw(kube::RawRequest request) override {
    return dashboard.take("", std::move(request));
  }
};

struct Desk {
  explicit Desk(bool proxy = false)
      : api(there),
        dashboard(
            there.fetch(), api,
            [](const kube::ObjectKey& key) {
              return key.name == "s" ? std::optional<std::string>("t0ken") : std::nullopt;
            },
            proxy) {}
  Result<Json> ask(std::string_view op, std::string_view more = "") {
    auto request = parse_json(R"({"op":")" + std::string(op) +
                              R"(","host":"h:1","namespace":"ns","service":"svc","job_id":"id")" +
                              std::string(more) + "}");
    return loop.run(dashboard.call("ray-dashboard", std::move(*request)));
  }
  VirtualLoop loop;
  Dashboard there;
  ProxyApi api;
  RayDashboard dashboard;
};

TEST(RayDashboard, AsksForAJob) {
  Desk setup;
  setup.there.answer.body = R"({"status":"RUNNING"})";
  const auto answer = setup.ask("job-info");
  EXPECT_EQ(setup.there.asked, "GET h:1/api/jobs/id");
  EXPECT_EQ(string_at(*answer, {"status"}), "RUNNING");
}

// A file's name that is no UTF-8, as Python's json.dumps writes it, and bytes of other programs.
TEST(RayDashboard, WhatIsNoCharacterHidesNoAnswer) {
  for (const std::string_view bad : {"\\udcff", "\xff"}) {
    Desk setup;
    setup.there.answer.body = fmt::format(R"({{"status":"SUCCEEDED","message":"no {}.txt"}})", bad);
    const auto job = setup.ask("job-info");
    ASSERT_TRUE(job) << job.error().message;
    EXPECT_EQ(string_at(*job, {"status"}), "SUCCEEDED");
    EXPECT_EQ(string_at(*job, {"message"}), "no \ufffd.txt");
    setup.there.answer.body = fmt::format(R"({{"applications":{{"a":{{"message":"{}"}}}}}})", bad);
    EXPECT_TRUE(setup.ask("serve-details"));
    setup.there.answer.body = fmt::format(R"({{"logs":"opened {}.txt\n"}})", bad);
    const auto log = setup.ask("job-log");
    ASSERT_TRUE(log) << log.error().message;
    EXPECT_EQ(string_at(*log, {"logs"}), "opened \ufffd.txt\n");
  }
}

TEST(RayDashboard, RJ_39_AsksForTheEndOfAJobsLog) {
  for (const bool proxy : {false, true}) {
    Desk setup(proxy);
    setup.there.answer.body = R"({"logs":"a\nb"})";
    const auto answer = setup.ask("job-log");
    ASSERT_TRUE(answer);
    EXPECT_EQ(string_at(*answer, {"logs"}), "a\nb");
    EXPECT_TRUE(setup.there.asked.ends_with("/api/jobs/id/logs")) << setup.there.asked;
    EXPECT_EQ(setup.there.headers.contains("Range"), !proxy) << "a proxy sends it to the server";
    setup.there.answer = {.status = 404, .body = "no"};
    EXPECT_EQ(setup.ask("job-log").error().code, ErrorCode::NotFound);
    setup.there.answer = {.status = 200, .body = R"({"status":"RUNNING"})"};
    EXPECT_FALSE(setup.ask("job-log"));
  }
}

TEST(RayDashboard, UnknownJobIsNotFound) {
  Desk setup;
  setup.there.answer = {.status = 404, .body = "no"};
  EXPECT_EQ(setup.ask("job-info").error().code, ErrorCode::NotFound);
}

TEST(RayDashboard, ErrorsAreNoJobs) {
  for (auto [status, body] :
       {std::pair{503, "down"}, {500, R"({"status":"x"})"}, {200, "[]"}, {200, "not json"}}) {
    Desk setup;
    setup.there.answer = {.status = status, .body = body};
    const auto answer = setup.ask("job-info");
    ASSERT_FALSE(answer) << status << body;
    EXPECT_NE(answer.error().code, ErrorCode::NotFound);
  }
}

TEST(RayDashboard, SameJobSubmittedAgainIsDone) {  // RJ-01
  Desk setup;
  setup.there.answer = {.status = 500, .body = "… Please use a different submission_id."};
  EXPECT_TRUE(setup.ask("submit-job", R"(,"job":{"submission_id":"id","entrypoint":"x"})"));
  EXPECT_EQ(setup.there.asked, "POST h:1/api/jobs/");
  EXPECT_EQ(setup.there.body, R"({"submission_id":"id","entrypoint":"x"})");
  EXPECT_EQ(setup.there.headers.at("Content-Type"), "application/json");
}

TEST(RayDashboard, SendsTheClustersToken) {
  Desk setup;
  ASSERT_TRUE(setup.ask("job-info", R"(,"secret":"s")"));
  EXPECT_EQ(setup.there.headers.at("x-ray-authorization"), "Bearer t0ken");
  EXPECT_EQ(setup.ask("job-info", R"(,"secret":"other")").error().code, ErrorCode::Unauthorized);
}

TEST(RayDashboard, GoesThroughTheApiServer) {
  Desk setup(true);
  ASSERT_TRUE(setup.ask("job-info"));
  EXPECT_EQ(setup.there.asked,
            "GET /api/v1/namespaces/ns/services/svc:dashboard/proxy/api/jobs/id");
}

TEST(RayDashboard, StoppedIsStopped) {
  Desk setup;
  setup.there.answer.body = R"({"stopped":true})";
  EXPECT_TRUE(setup.ask("stop-job"));
  EXPECT_EQ(setup.there.asked, "POST h:1/api/jobs/id/stop");
}

// RS-25
TEST(RayDashboard, AddsUpWhatProxiesHaveNotAnswered) {
  constexpr const char* kProxies =
      R"(,"port":8080,"proxies":[{"pod":"a","host":"10.0.0.1:8080"},{"pod":"b","host":"10.0.0.2:8080"}])";
  Desk desk;
  desk.there.answer.body = "ray_serve_num_ongoing_http_requests{} 2.0\n";
  auto answer = desk.ask("serve-ongoing", kProxies);
  ASSERT_TRUE(answer);
  EXPECT_EQ(int_at(*answer, {"ongoing"}), 4);
  EXPECT_EQ(desk.there.asked, "GET 10.0.0.2:8080/metrics");
  desk.there.answer.body = "ray_node_mem_used 1\n";
  EXPECT_EQ(desk.ask("serve-ongoing", kProxies).error().code, ErrorCode::NotFound);
  desk.there.answer.status = 500;
  EXPECT_FALSE(desk.ask("serve-ongoing", kProxies));
  Desk proxied(true);
  proxied.there.answer.body = "ray_serve_num_ongoing_http_requests 0\n";
  EXPECT_EQ(int_at(*proxied.ask("serve-ongoing", kProxies), {"ongoing"}, -1), 0);
  EXPECT_EQ(proxied.there.asked, "GET /api/v1/namespaces/ns/pods/b:8080/proxy/metrics");
}

TEST(RayDashboard, UnknownOperationIsRefused) {
  Desk setup;
  EXPECT_EQ(setup.ask("dance").error().code, ErrorCode::BadRequest);
}

}  // namespace
}  // namespace manta::operator_
