#include "kube/http_url.h"

#include <gtest/gtest.h>

namespace manta::kube {
namespace {

TEST(ParseUrl, Parts) {
  struct Row {
    const char *text, *host;
    int port;
    const char *target, *authority, *userinfo;
  };
  const Row rows[] = {{"http://h", "h", 80, "/", "h", ""},
                      {"https://h/", "h", 443, "/", "h", ""},
                      {"https://h:6443/a/b?c=d#e", "h", 6443, "/a/b?c=d", "h:6443", ""},
                      {"HTTP://h?x=y", "h", 80, "/?x=y", "h", ""},
                      {"https://[::1]:443", "::1", 443, "/", "[::1]", ""},
                      {"http://[fe80::1]:8080/x", "fe80::1", 8080, "/x", "[fe80::1]:8080", ""},
                      {"http://u:p%40w@proxy:3128", "proxy", 3128, "/", "proxy:3128", "u:p@w"}};
  for (const auto& row : rows) {
    const auto url = parse_url(row.text);
    ASSERT_TRUE(url) << row.text;
    EXPECT_EQ(url->host, row.host);
    EXPECT_EQ(url->port, row.port);
    EXPECT_EQ(url->target, row.target);
    EXPECT_EQ(url->authority(), row.authority);
    EXPECT_EQ(url->userinfo, row.userinfo);
  }
  for (const auto* bad :
       {"", "h:80", "ftp://h", "http://", "http://h:0", "http://h:70000", "http://h:x",
        "http://[::1", "http://h/a b", "http://h/\r\nX: y", "http://[::1]x"})
    EXPECT_FALSE(parse_url(bad)) << bad;
}

TEST(NoProxy, NamesHosts) {
  struct Row {
    const char *list, *url;
    bool without;
  };
  const Row rows[] = {{"", "http://a", false},
                      {"*", "http://a", true},
                      {"example.com", "http://example.com", true},
                      {"example.com", "http://a.Example.com", true},
                      {".example.com", "http://a.example.com", true},
                      {".example.com", "http://example.com", false},
                      {"example.com", "http://badexample.com", false},
                      {"x, a:8080", "http://a:8080", true},
                      {"a:8080", "http://a:80", false},
                      {"10.0.0.0/8", "https://10.96.0.1", true},
                      {"10.0.0.0/8", "https://11.96.0.1", false},
                      {"10.96.0.1", "https://10.96.0.1:6443", true},
                      {"fd00::/8", "https://[fd00::1]", true},
                      {"::1", "https://[::1]", true},
                      {".svc,.cluster.local", "https://x.ns.svc", true}};
  for (const auto& row : rows)
    EXPECT_EQ(is_without_proxy(row.list, *parse_url(row.url)), row.without)
        << row.list << " " << row.url;
  EXPECT_TRUE(is_loopback("127.0.0.1") && is_loopback("::1") && is_loopback("localhost"));
  EXPECT_FALSE(is_loopback("128.0.0.1") || is_loopback("::2") ||
               is_loopback("localhost.example.com"));
}

TEST(PercentEncode, LeavesUnreserved) {
  EXPECT_EQ(percent_encode("aZ0-_.~/ =é"), "aZ0-_.~%2F%20%3D%C3%A9");
}

}  // namespace
}  // namespace manta::kube
