#include "operator/serve_ledger.h"

#include "base/virtual_loop.h"

#include <gtest/gtest.h>

namespace manta::operator_ {
namespace {

struct Ray final : kube::Outside {
  Json applications = JsonObject{};
  bool refuses = false;
  Task<Result<Json>> call(std::string, Json request) override {
    if (refuses) co_return failed(ErrorCode::BadRequest, "no");
    if (string_at(request, {"op"}) == "serve-details")
      co_return JsonObject{{"applications", applications}};
    co_return JsonObject{};
  }
};

struct Ledger : testing::Test {
  VirtualLoop loop;
  Ray ray;
  ServeLedger ledger{loop, ray, 2};

  void send(std::string_view host, int number, std::string_view head = "h/0") {
    (void)loop.run(ledger.call("ray", {{"op", "update-serve"},
                                       {"host", host},
                                       {"head", head},
                                       {"config", {{"number", number}}}}));
  }
  Json ask(std::string_view host) {
    auto answer = loop.run(ledger.call("ray", {{"op", "serve-details"}, {"host", host}}));
    const auto* submitted = answer ? find(*answer, {"submitted"}) : nullptr;
    return submitted ? *submitted : Json();
  }
};

TEST_F(Ledger, TellsWhatWasSentLast) {
  EXPECT_TRUE(ask("a").is_null());
  send("a", 1);
  send("a", 2, "h/1");
  EXPECT_EQ(int_at(ask("a"), {"config", "number"}), 2);
  EXPECT_EQ(string_at(ask("a"), {"head"}), "h/1");
  EXPECT_EQ(int_at(ask("a"), {"at"}), loop.now().time_since_epoch().count());
  EXPECT_TRUE(ask("b").is_null());
}

TEST_F(Ledger, WhatWasRefusedWasNotSent) {
  send("a", 1);
  ray.refuses = true;
  send("a", 2);
  ray.refuses = false;
  EXPECT_EQ(int_at(ask("a"), {"config", "number"}), 1);
}

TEST_F(Ledger, RemembersThatApplicationsWereListed) {
  send("a", 1);
  EXPECT_FALSE(bool_at(ask("a"), {"listed"}));
  ray.applications = JsonObject{{"x", JsonObject{}}};
  EXPECT_TRUE(bool_at(ask("a"), {"listed"}));
  ray.applications = JsonObject{};
  EXPECT_TRUE(bool_at(ask("a"), {"listed"}));
  send("a", 2);
  EXPECT_FALSE(bool_at(ask("a"), {"listed"}));
}

TEST_F(Ledger, ForgetsTheOldest) {
  for (const auto* host : {"a", "b", "c"}) send(host, 1);
  EXPECT_TRUE(ask("a").is_null());
  EXPECT_FALSE(ask("b").is_null());
  EXPECT_FALSE(ask("c").is_null());
}

}  // namespace
}  // namespace manta::operator_
