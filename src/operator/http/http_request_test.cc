#include "operator/http/http_request.h"

#include <gtest/gtest.h>

namespace manta::operator_ {
namespace {

// What the reader makes of the bytes: requests, then how it goes on.
std::string outcome(std::string_view bytes) {
  RequestReader reader({.head = 200, .body = 20});
  reader.feed(bytes);
  std::string out;
  while (true) {
    auto request = reader.next();
    if (!request) return out + std::to_string(request.error().http_status);
    if (!*request) return out + "…";
    out += (*request)->method + " " + (*request)->target;
    if (!(*request)->body.empty()) out += " (" + (*request)->body + ")";
    out += (*request)->keep_alive ? " | " : " close | ";
  }
}

struct Case {
  const char* name;
  std::string bytes;
  const char* want;
};
const Case kCases[] = {
    {"Whole", "GET /a HTTP/1.1\r\nHost: x\r\n\r\n", "GET /a | …"},
    {"NoHeaders", "GET /a HTTP/1.1\r\n\r\n", "GET /a | …"},
    {"Half", "GET /a HTTP/1.1\r\nHost", "…"},
    {"Two", "GET /a HTTP/1.1\r\n\r\nHEAD /b HTTP/1.1\r\n\r\n", "GET /a | HEAD /b | …"},
    {"Body", "POST / HTTP/1.1\r\nContent-Length: 5\r\n\r\nhelloGET", "POST / (hello) | …"},
    {"BodyToCome", "POST / HTTP/1.1\r\nContent-Length: 5\r\n\r\nhel", "…"},
    {"Closes", "GET / HTTP/1.1\r\nConnection: Close\r\n\r\n", "GET / close | …"},
    {"OldVersion", "GET / HTTP/1.0\r\n\r\n", "GET / close | …"},
    {"Http2", "PRI * HTTP/2.0\r\n\r\n", "505"},
    {"NoVersion", "GET /\r\n\r\n", "400"},
    {"TwoTargets", "GET /a /b HTTP/1.1\r\n\r\n", "400"},
    {"AbsoluteTarget", "GET http://x/ HTTP/1.1\r\n\r\n", "400"},
    {"LoneLineFeeds", "GET / HTTP/1.1\r\nA: b\nC: d\r\n\r\n", "400"},
    {"NamelessHeader", "GET / HTTP/1.1\r\n: x\r\n\r\n", "400"},
    {"BlankBeforeColon", "GET / HTTP/1.1\r\nA : x\r\n\r\n", "400"},
    {"FoldedHeader", "GET / HTTP/1.1\r\nA: x\r\n y\r\n\r\n", "400"},
    {"ControlCharacter", std::string("GET / HTTP/1.1\r\nA: \x01\r\n\r\n"), "400"},
    {"TwoLengths", "POST / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nx", "400"},
    {"SignedLength", "POST / HTTP/1.1\r\nContent-Length: +1\r\n\r\nx", "400"},
    {"ListedLength", "POST / HTTP/1.1\r\nContent-Length: 1, 1\r\n\r\nx", "400"},
    {"LargeBody", "POST / HTTP/1.1\r\nContent-Length: 21\r\n\r\n", "413"},
    {"HugeBody", "POST / HTTP/1.1\r\nContent-Length: 99999999999999999999\r\n\r\n", "413"},
    {"Chunked", "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "501"},
    {"LongHead", "GET /" + std::string(300, 'a') + " HTTP/1.1\r\n\r\n", "431"},
    {"EndlessHead", "GET /" + std::string(300, 'a'), "431"},
};
class Requests : public testing::TestWithParam<Case> {};
TEST_P(Requests, Row) { EXPECT_EQ(outcome(GetParam().bytes), GetParam().want); }
INSTANTIATE_TEST_SUITE_P(, Requests, testing::ValuesIn(kCases),
                         [](auto& c) { return c.param.name; });

// However the network cuts a head that is just as long as it may be.
TEST(RequestReader, TakesTheLongestHeadByteByByte) {
  const auto head = "GET /" + std::string(186, 'a') + " HTTP/1.1";
  ASSERT_EQ(head.size(), 200u);
  for (const bool longer : {false, true}) {
    RequestReader reader({.head = longer ? 199u : 200u});
    std::optional<int> refused;
    bool taken = false;
    for (const char byte : head + "\r\n\r\n") {
      reader.feed({&byte, 1});
      const auto request = reader.next();
      if (!request) refused = request.error().http_status;
      if (!request) break;
      taken |= request->has_value();
    }
    EXPECT_EQ(taken, !longer);
    EXPECT_EQ(refused, longer ? std::optional(431) : std::nullopt);
  }
}

TEST(ServedRequest, HasHeadersByLowerCaseName) {
  RequestReader reader({});
  reader.feed("GET /a?b=c HTTP/1.1\r\nAccept:  text/plain \r\nACCEPT: */*\r\n\r\n");
  const auto request = reader.next();
  ASSERT_TRUE(request && *request);
  EXPECT_EQ((*request)->header("accept"), "text/plain, */*");
  EXPECT_EQ((*request)->header("host"), "");
  EXPECT_EQ((*request)->path(), "/a");
  EXPECT_EQ((*request)->query(), "b=c");
}

}  // namespace
}  // namespace manta::operator_
