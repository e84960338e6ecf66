#include "operator/http_server.h"

#include "kube/http_client.h"

#include <gtest/gtest.h>

namespace manta::operator_ {
namespace {

struct Case {
  const char* name;
  const char* target;
  int status;
  const char* body;
};
const Case kCases[] = {
    {"Plain", "/healthz", 200, "ok"},
    {"Slash", "/readyz/", 200, "ok"},
    {"Named", "/readyz/readyz", 200, "ok"},
    {"Verbose", "/healthz?verbose", 200, "[+]healthz ok\nhealthz check passed\n"},
    {"Other", "/nope", 404, "404 page not found\n"},
};
class Health : public testing::TestWithParam<Case> {};
TEST_P(Health, Row) {
  const auto answer = answer_health(GetParam().target);
  EXPECT_EQ(answer.status, GetParam().status);
  EXPECT_EQ(answer.body, GetParam().body);
}
INSTANTIATE_TEST_SUITE_P(, Health, testing::ValuesIn(kCases), [](auto& c) { return c.param.name; });

TEST(HttpServer, AnswersManyRequestsOfOneClient) {
  AsioLoop loop;
  auto server = HttpServer::listen(loop, "127.0.0.1:0", answer_health);
  ASSERT_TRUE(server);
  kube::HttpClient client(loop, {});
  const auto get = [&](std::string path) {
    return run_to_end(
        loop,
        client.request({.url = "http://127.0.0.1:" + std::to_string((*server)->port()) + path}));
  };
  for (int i = 0; i < 3; ++i) {
    const auto answer = get("/readyz");
    ASSERT_TRUE(answer) << answer.error().message;
    EXPECT_EQ(answer->body, "ok");
  }
  EXPECT_EQ(get("/nope")->status, 404);
}

TEST(HttpServer, SaysWhatIsWrongWithAnAddress) {
  AsioLoop loop;
  EXPECT_FALSE(HttpServer::listen(loop, "8080", answer_health));
  EXPECT_FALSE(HttpServer::listen(loop, ":99999", answer_health));
}

}  // namespace
}  // namespace manta::operator_
