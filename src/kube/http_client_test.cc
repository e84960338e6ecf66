#include "kube/http_client.h"

#include "base/async.h"
#include "kube/http_test_server.h"

#include <gtest/gtest.h>

namespace manta::kube {
namespace {

using namespace std::chrono_literals;

std::string outcome(const Result<HttpResponse>& response) {
  if (!response)
    return std::string(to_string(response.error().code)) + ": " + response.error().message;
  return std::to_string(response->status) + " " + response->body;
}

TEST(HttpClient, OneConnectionServesManyRequestsInTurn) {
  TestServer server([](const std::string& request) {
    return TestServer::Reply{TestServer::ok(request.substr(0, request.find('\r')), "X-Y: z\r\n")};
  });
  AsioLoop loop;
  HttpClient client(loop, {});
  for (int i = 0; i < 3; ++i) {
    const auto response = run_to_end(loop, client.request({.url = server.url("/a?b=c")}));
    EXPECT_EQ(outcome(response), "200 GET /a?b=c HTTP/1.1");
    EXPECT_EQ(response->header("x-y"), "z");
  }
  EXPECT_EQ(server.connections(), 1);
  EXPECT_EQ(client.open_connections(), 1u);
}

TEST(HttpClient, BodiesAndHeadersArriveWhole) {
  std::string seen;
  TestServer server([&](const std::string& request) {
    seen = request;
    return TestServer::Reply{TestServer::ok(std::string(3 << 20, 'r'))};
  });
  AsioLoop loop;
  HttpClient client(loop, {});
  const auto response = run_to_end(loop, client.request({.method = "POST",
                                                         .url = server.url("/p"),
                                                         .headers = {{"X-A", "1"}},
                                                         .body = std::string(2 << 20, 'q')}));
  EXPECT_EQ(outcome(response), "200 " + std::string(3 << 20, 'r'));
  EXPECT_NE(seen.find("\r\nX-A: 1\r\n"), std::string::npos);
  EXPECT_NE(seen.find("\r\nHost: " + server.host_port() + "\r\n"), std::string::npos);
  EXPECT_EQ(seen.size() - seen.find("\r\n\r\n") - 4, 2u << 20);
}

TEST(HttpClient, ManyAtOnceStayWithinTheConnectionLimit) {
  TestServer server([](const std::string&) { return TestServer::Reply{TestServer::ok("x")}; });
  AsioLoop loop;
  HttpClient client(loop, {.max_http1_connections = 4});
  std::vector<Task<Result<HttpResponse>>> tasks;
  for (int i = 0; i < 200; ++i) tasks.push_back(client.request({.url = server.url()}));
  for (const auto& response : run_to_end(loop, when_all(loop, std::move(tasks))))
    EXPECT_EQ(outcome(response), "200 x");
  EXPECT_LE(server.connections(), 4);
}

TEST(HttpClient, StreamsTakeNoRequestsPlace) {
  TestServer server([](const std::string& request) {
    if (request.find("/watch") != std::string::npos) return TestServer::Reply{};  // goes on
    return TestServer::Reply{TestServer::ok("x")};
  });
  AsioLoop loop;
  HttpClient client(loop, {.max_http1_connections = 2});
  std::stop_source stop;
  std::vector<Task<Result<HttpResponse>>> tasks;
  for (int i = 0; i < 5; ++i)
    tasks.push_back(
        client.stream({.url = server.url("/watch"), .timeout = {}, .stop = stop.get_token()},
                      [](std::string_view) { return Result<void>{}; }, {}));
  tasks.push_back(
      [](HttpClient& from, std::string url, std::stop_source& end) -> Task<Result<HttpResponse>> {
        auto response = co_await from.request({.url = std::move(url), .timeout = 5s});
        end.request_stop();
        co_return response;
      }(client, server.url(), stop));
  const auto responses = run_to_end(loop, when_all(loop, std::move(tasks)));
  EXPECT_EQ(outcome(responses.back()), "200 x");
}

TEST(HttpClient, LimitsAndDeadlines) {
  TestServer server([](const std::string& request) {
    if (request.find("/large") != std::string::npos)
      return TestServer::Reply{TestServer::ok(std::string(1000, 'x'))};
    return TestServer::Reply{};  // says nothing
  });
  AsioLoop loop;
  HttpClient client(loop, {});
  EXPECT_EQ(run_to_end(loop, client.request({.url = server.url("/large"), .max_bytes = 999}))
                .error()
                .code,
            ErrorCode::TooLarge);
  EXPECT_EQ(
      outcome(run_to_end(loop, client.request({.url = server.url("/large"), .max_bytes = 1000}))),
      "200 " + std::string(1000, 'x'));
  const auto late =
      run_to_end(loop, client.request({.url = server.url("/silent"), .timeout = 20ms}));
  EXPECT_EQ(outcome(late), "Timeout: no answer from " + server.url("") + " within 20ms");
  std::stop_source stop;
  loop.after(10ms, [&] { stop.request_stop(); });
  EXPECT_EQ(
      run_to_end(loop, client.request({.url = server.url("/silent"), .stop = stop.get_token()}))
          .error()
          .code,
      ErrorCode::Cancelled);
  EXPECT_EQ(run_to_end(loop, client.request({.url = "ftp://x"})).error().code,
            ErrorCode::BadRequest);
}

TEST(HttpClient, ReadsOnALostConnectionAreSentAgainOnceWritesAreNot) {
  int gets = 0, posts = 0;
  TestServer server([&](const std::string& request) {
    const bool get = request.starts_with("GET");
    const int count = get ? ++gets : ++posts;
    if (count == 1) return TestServer::Reply{.close = true};
    return TestServer::Reply{TestServer::ok("again")};
  });
  AsioLoop loop;
  HttpClient client(loop, {});
  EXPECT_EQ(outcome(run_to_end(loop, client.request({.url = server.url()}))), "200 again");
  const auto post =
      run_to_end(loop, client.request({.method = "POST", .url = server.url(), .body = "x"}));
  EXPECT_EQ(post.error().code, ErrorCode::Unavailable);
  EXPECT_EQ(posts, 1);
  EXPECT_EQ(outcome(run_to_end(
                loop, client.request({.method = "POST", .url = server.url(), .body = "x"}))),
            "200 again");
}

TEST(HttpClient, AServerThatIsNotThere) {
  std::string url;
  {
    TestServer server([](const std::string&) { return TestServer::Reply{}; });
    url = server.url();
  }
  AsioLoop loop;
  HttpClient client(loop, {.max_backoff = 1ms});
  for (int i = 0; i < 3; ++i) {
    const auto response = run_to_end(loop, client.request({.url = url}));
    ASSERT_FALSE(response);
    EXPECT_EQ(response.error().code, ErrorCode::Unavailable);
    EXPECT_NE(response.error().message.find("cannot connect to 127.0.0.1"), std::string::npos)
        << response.error().message;
  }
  const auto unknown = run_to_end(loop, client.request({.url = "http://no-such-host.invalid"}));
  EXPECT_NE(outcome(unknown).find("cannot resolve no-such-host.invalid"), std::string::npos)
      << outcome(unknown);
}

TEST(HttpClient, StreamsGoToTheSinkAndErrorsToTheBody) {
  TestServer server([](const std::string& request) {
    if (request.find("/bad") != std::string::npos)
      return TestServer::Reply{TestServer::ok("sorry", "", 410)};
    return TestServer::Reply{
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n"};
  });
  AsioLoop loop;
  HttpClient client(loop, {});
  std::string seen;
  const auto sink = [&](std::string_view piece) -> Result<void> {
    return seen += piece, Result<void>{};
  };
  EXPECT_EQ(outcome(run_to_end(loop, client.stream({.url = server.url("/good")}, sink, 5s))),
            "200 ");
  EXPECT_EQ(seen, "abcde");
  EXPECT_EQ(outcome(run_to_end(loop, client.stream({.url = server.url("/bad")}, sink, 5s))),
            "410 sorry");
  EXPECT_EQ(seen, "abcde");
  const auto stopped = run_to_end(loop, client.stream(
                                            {.url = server.url("/good")},
                                            [](std::string_view) -> Result<void> {
                                              return failed(ErrorCode::Expired, "no more");
                                            },
                                            5s));
  EXPECT_EQ(outcome(stopped), "Expired: no more");
}

TEST(HttpClient, ProxiesForHttpGetTheWholeUrl) {
  std::string seen;
  TestServer proxy([&](const std::string& request) {
    seen = request;
    return TestServer::Reply{TestServer::ok("by proxy")};
  });
  AsioLoop loop;
  HttpClient client(loop, {.proxy = {.http = "http://user:pw@" + proxy.host_port(),
                                     .no_proxy = "direct.invalid"}});
  EXPECT_EQ(outcome(run_to_end(loop, client.request({.url = "http://far.invalid:8000/x?y"}))),
            "200 by proxy");
  EXPECT_TRUE(
      seen.starts_with("GET http://far.invalid:8000/x?y HTTP/1.1\r\nHost: far.invalid:8000\r\n"))
      << seen;
  EXPECT_NE(seen.find("Proxy-Authorization: Basic dXNlcjpwdw=="), std::string::npos);
  EXPECT_EQ(run_to_end(loop, client.request({.url = "http://direct.invalid/"})).error().code,
            ErrorCode::Unavailable);
}

TEST(HttpClient, ProxiesForHttpsGetConnect) {
  std::string seen;
  TestServer proxy([&](const std::string& request) {
    seen = request;
    return TestServer::Reply{"HTTP/1.1 407 Who are you\r\n\r\n", true};
  });
  AsioLoop loop;
  HttpClient client(loop, {.proxy = {.https = "http://user:pw@" + proxy.host_port()}});
  const auto refused = run_to_end(loop, client.request({.url = "https://far.invalid:6443/x"}));
  EXPECT_NE(outcome(refused).find("refused a tunnel to far.invalid:6443: HTTP/1.1 407"),
            std::string::npos)
      << outcome(refused);
  EXPECT_TRUE(seen.starts_with("CONNECT far.invalid:6443 HTTP/1.1\r\n"));
  EXPECT_NE(seen.find("Proxy-Authorization: Basic dXNlcjpwdw=="), std::string::npos);
}

class Tls : public testing::Test {
 protected:
  Tls()
      : own(TestCertificate::make("IP:127.0.0.1,DNS:named.test")),
        users(TestCertificate::make("DNS:user")) {
    context = SSL_CTX_new(TLS_server_method());
    BIO* bio = BIO_new_mem_buf(own.cert_pem.data(), -1);
    X509* cert = PEM_read_bio_X509(bio, nullptr, nullptr, nullptr);
    SSL_CTX_use_certificate(context, cert);
    X509_free(cert);
    BIO_free(bio);
    bio = BIO_new_mem_buf(own.key_pem.data(), -1);
    EVP_PKEY* key = PEM_read_bio_PrivateKey(bio, nullptr, nullptr, nullptr);
    SSL_CTX_use_PrivateKey(context, key);
    EVP_PKEY_free(key);
    BIO_free(bio);
    server = std::make_unique<TestServer>(
        [](const std::string&) { return TestServer::Reply{TestServer::ok("secret")}; }, context);
  }
  ~Tls() override {
    server.reset();
    SSL_CTX_free(context);
  }
  void require_client_certificate() {
    BIO* bio = BIO_new_mem_buf(users.cert_pem.data(), -1);
    X509* cert = PEM_read_bio_X509(bio, nullptr, nullptr, nullptr);
    X509_STORE_add_cert(SSL_CTX_get_cert_store(context), cert);
    X509_free(cert);
    BIO_free(bio);
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
  }
  std::string ask(TlsOptions tls) {
    AsioLoop loop;
    HttpClient client(loop, {.tls = std::move(tls)});
    return outcome(run_to_end(loop, client.request({.url = server->url()})));
  }

  TestCertificate own, users;
  SSL_CTX* context = nullptr;
  std::unique_ptr<TestServer> server;
};

TEST_F(Tls, VerifiesTheServer) {
  EXPECT_EQ(ask({.ca_pem = own.cert_pem}), "200 secret");
  EXPECT_EQ(ask({.ca_pem = own.cert_pem, .server_name = "named.test"}), "200 secret");
  EXPECT_NE(ask({.ca_pem = own.cert_pem, .server_name = "other.test"}).find("ostname mismatch"),
            std::string::npos)
      << ask({.ca_pem = own.cert_pem, .server_name = "other.test"});
  EXPECT_NE(ask({.ca_pem = users.cert_pem}).find("Unavailable: TLS with"), std::string::npos);
  EXPECT_EQ(ask({.ca_pem = users.cert_pem, .server_name = "other.test", .skip_verify = true}),
            "200 secret");
  EXPECT_NE(ask({.ca_pem = "nonsense"}).find("Invalid: the CA certificate"), std::string::npos);
}

TEST_F(Tls, ShowsTheClientCertificate) {
  require_client_certificate();
  EXPECT_EQ(ask({.ca_pem = own.cert_pem,
                 .client_cert_pem = users.cert_pem,
                 .client_key_pem = users.key_pem}),
            "200 secret");
  EXPECT_NE(ask({.ca_pem = own.cert_pem}).find("Unavailable"), std::string::npos);
  EXPECT_NE(ask({.ca_pem = own.cert_pem,
                 .client_cert_pem = users.cert_pem,
                 .client_key_pem = own.key_pem})
                .find("Invalid: "),
            std::string::npos);
}

TEST_F(Tls, NewCertificatesCountForNewConnections) {
  require_client_certificate();
  AsioLoop loop;
  HttpClient client(loop, {.tls = {.ca_pem = own.cert_pem}, .max_backoff = 1ms});
  EXPECT_FALSE(run_to_end(loop, client.request({.url = server->url()})));
  client.set_tls(
      {.ca_pem = own.cert_pem, .client_cert_pem = users.cert_pem, .client_key_pem = users.key_pem});
  EXPECT_EQ(outcome(run_to_end(loop, client.request({.url = server->url()}))), "200 secret");
  client.set_tls({.ca_pem = users.cert_pem});
  EXPECT_FALSE(run_to_end(loop, client.request({.url = server->url()})))
      << "the old connection is not used any more";
}

TEST(ProxiesFrom, BothSpellings) {
  const auto proxy =
      proxies_from({{"https_proxy", "http://a"}, {"HTTP_PROXY", "http://b"}, {"NO_PROXY", "c"}});
  EXPECT_EQ(proxy.https, "http://a");
  EXPECT_EQ(proxy.http, "http://b");
  EXPECT_EQ(proxy.no_proxy, "c");
  EXPECT_EQ(proxies_from({{"HTTP_PROXY", "http://b"}, {"REQUEST_METHOD", "GET"}}).http, "");
}

}  // namespace
}  // namespace manta::kube
