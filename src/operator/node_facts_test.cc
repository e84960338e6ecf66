#include "operator/node_facts.h"

#include "base/virtual_loop.h"
#include "controllers/raycluster/lost_head.h"

#include <gtest/gtest.h>

namespace manta::operator_ {
namespace {

// One Node, and whatever stands in the way of reading it.
struct OneNode final : kube::Api {
  Task<Result<kube::Response>> call(kube::Request request) override {
    EXPECT_EQ(request.resource.plural, "nodes");
    EXPECT_EQ(request.namespace_, "");
    asked.push_back(request.name);
    if (trouble) co_return failed(*trouble);
    if (request.name != "there")
      co_return failed({.code = ErrorCode::NotFound, .http_status = 404});
    co_return kube::Response{.body = {{"metadata", {{"name", "there"}}}}};
  }
  Task<Result<void>> watch(kube::WatchRequest, WatchSink, std::stop_token) override {
    co_return Result<void>{};
  }
  Task<Result<kube::RawResponse>> raw(kube::RawRequest) override { co_return kube::RawResponse{}; }

  std::optional<Error> trouble = {};
  std::vector<std::string> asked = {};
};

struct Rest final : kube::Outside {
  Task<Result<Json>> call(std::string target, Json request) override {
    co_return Json{{"target", target}, {"request", std::move(request)}};
  }
};

struct NodeFactsTest : testing::Test {
  Result<Json> ask(std::string target, Json request) {
    return loop.run(facts.call(std::move(target), std::move(request)));
  }
  Result<Json> look(std::string_view node) {
    return ask(std::string(controllers::raycluster::kNodeTarget), {{"name", node}});
  }

  VirtualLoop loop;
  OneNode api;
  Rest rest;
  NodeFacts facts{api, rest};
};

TEST_F(NodeFactsTest, SaysWhetherANodeIsThere) {
  EXPECT_EQ(dump_json(*look("there")), R"({"exists":true})");
  EXPECT_EQ(dump_json(*look("gone")), R"({"exists":false})");
  EXPECT_EQ(api.asked, (std::vector<std::string>{"there", "gone"}));
}

TEST_F(NodeFactsTest, WhatCannotBeReadIsNotGone) {
  for (const auto code : {ErrorCode::Forbidden, ErrorCode::Unavailable}) {
    api.trouble = Error{.code = code, .message = "no"};
    const auto answer = look("there");
    ASSERT_FALSE(answer);
    EXPECT_EQ(answer.error().code, code);
  }
}

TEST_F(NodeFactsTest, EverythingElseIsPassedOn) {
  const auto answer = ask("ray", {{"op", "jobs"}});
  ASSERT_TRUE(answer);
  EXPECT_EQ(dump_json(*answer), R"({"target":"ray","request":{"op":"jobs"}})");
  EXPECT_TRUE(api.asked.empty());
}

}  // namespace
}  // namespace manta::operator_
