#include "kube/http1_parser.h"

#include <gtest/gtest.h>

namespace manta::kube::http {
namespace {

struct Outcome {
  std::string text = {};  // status, headers that matter, body; or the error
  std::size_t used = 0;
  bool complete = false;
  bool keeps_alive = false;
};

Outcome parse(std::string_view bytes, std::size_t step, bool head_request = false,
              bool closed = false) {
  Outcome out;
  std::string body;
  Http1Parser parser({.on_head =
                          [&](HttpResponse head) {
                            out.text = std::to_string(head.status) + " " +
                                       std::string(head.header("x")) + "|";
                          },
                      .on_body = [&](std::string_view piece) { return body.append(piece), true; }});
  parser.expect(head_request);
  while (out.used < bytes.size() && !parser.is_complete()) {
    const auto used = parser.feed(bytes.substr(out.used, step));
    if (!used) return {.text = used.error().message};
    out.used += *used;
  }
  if (closed) parser.end_of_stream();
  out.text += body;
  out.complete = parser.is_complete();
  out.keeps_alive = parser.keeps_alive();
  return out;
}

TEST(Http1Parser, AnySplitGivesTheSameResponse) {
  struct Row {
    const char *bytes, *text;
    bool keeps_alive;
  };
  const Row rows[] = {
      {"HTTP/1.1 200 OK\r\nX: a\r\nContent-Length: 5\r\n\r\nhello", "200 a|hello", true},
      {"HTTP/1.1 204 No Content\r\n\r\n", "204 |", true},
      {"HTTP/1.1 404 \r\nx:b \r\ncontent-length:0\r\n\r\n", "404 b|", true},
      {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5;ext=1\r\nhello\r\n6\r\n "
       "world\r\n0\r\nT: 1\r\n\r\n",
       "200 |hello world", true},
      {"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nX: z\r\nContent-Length: 1\r\n\r\n!",
       "200 z|!", true},
      {"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 1\r\n\r\n!", "200 |!", false},
      {"HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\n!", "200 |!", false},
      {"HTTP/1.0 200 OK\r\nConnection: Keep-Alive\r\nContent-Length: 1\r\n\r\n!", "200 |!", true},
      {"HTTP/1.1 200 OK\nContent-Length: 2\n\nok", "200 |ok", true}};
  for (const auto& row : rows)
    for (const std::size_t step : {1, 2, 3, 7, 1000}) {
      const auto out = parse(row.bytes, step);
      EXPECT_EQ(out.text, row.text) << row.bytes;
      EXPECT_TRUE(out.complete);
      EXPECT_EQ(out.used, std::string_view(row.bytes).size());
      EXPECT_EQ(out.keeps_alive, row.keeps_alive) << row.bytes;
    }
}

TEST(Http1Parser, WhatIsNoBodyHasABound) {
  const auto repeated = [](std::string_view begin, std::string_view text) {
    std::string bytes(begin);
    while (bytes.size() < 1 << 20) bytes += text;
    return parse(bytes, 1000).text;
  };
  constexpr std::string_view kLarge = "malformed HTTP/1.1 response: its head is larger than 64 KiB";
  EXPECT_EQ(repeated("", "\n"), kLarge);
  EXPECT_EQ(repeated("HTTP/1.1 200 OK\n", "A: b\n"), kLarge);
  EXPECT_EQ(repeated("", "HTTP/1.1 100 Continue\r\n\r\n"), kLarge);
  const std::string chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
  EXPECT_EQ(repeated(chunked + "0\r\n", "A: b\r\n"), kLarge);
  EXPECT_EQ(repeated(chunked, "1;" + std::string(200, 'x') + "\r\n \r\n"),
            "malformed HTTP/1.1 response: the line of a chunk's size is too long");
}

TEST(Http1Parser, EndsOfBodies) {
  EXPECT_FALSE(
      parse("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhello", 100, false, true).complete);
  EXPECT_TRUE(parse("HTTP/1.1 200 OK\r\n\r\nhello", 100, false, true).complete);
  EXPECT_FALSE(parse("HTTP/1.1 200 OK\r\n\r\nhello", 100, false, true).keeps_alive);
  EXPECT_TRUE(parse("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n", 100, true).complete) << "HEAD";
  EXPECT_EQ(parse("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n!HTTP/1.1", 100).used, 39u);
}

TEST(Http1Parser, RefusesWhatIsNotHttp) {
  for (const auto* bytes :
       {"SSH-2.0-OpenSSH\r\n", "HTTP/2 200\r\n\r\n", "HTTP/1.1 abc\r\n",
        "HTTP/1.1 200 OK\r\nno colon\r\n", "HTTP/1.1 200 OK\r\nContent-Length: x\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nab\r\n"})
    EXPECT_NE(parse(bytes, 100).text.find("malformed"), std::string::npos) << bytes;
  EXPECT_NE(parse("HTTP/1.1 200 OK\r\nX: " + std::string(70'000, 'x'), 1000).text.find("64 KiB"),
            std::string::npos);
}

}  // namespace
}  // namespace manta::kube::http
