#include "operator/http/http_server.h"

#include "kube/http_client.h"
#include "kube/http_test_server.h"
#include "operator/http/server_certificates.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

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
    {"Excluded", "/readyz?verbose&exclude=readyz", 200,
     "[+]readyz excluded: ok\nreadyz check passed\n"},
    {"Other", "/nope", 404, "404 page not found\n"},
};
class Health : public testing::TestWithParam<Case> {};
TEST_P(Health, Row) {
  const auto answer = answer_health({.method = "GET", .target = GetParam().target});
  EXPECT_EQ(answer.status, GetParam().status);
  EXPECT_EQ(answer.body, GetParam().body);
}
INSTANTIATE_TEST_SUITE_P(, Health, testing::ValuesIn(kCases), [](auto& c) { return c.param.name; });

// A server on loopback that tells what it was asked, and a client.
struct Site {
  explicit Site(HttpServer::Options options = {}, kube::TlsOptions tls = {})
      : client(loop, {.tls = std::move(tls)}) {
    scheme = options.certificates ? "https://" : "http://";
    options.address = "127.0.0.1:0";
    auto listening = HttpServer::listen(loop, std::move(options), [](const ServedRequest& request) {
      return HttpAnswer{.body = request.method + " " + request.target + " " + request.body};
    });
    EXPECT_TRUE(listening);
    server = std::move(*listening);
  }
  Result<kube::HttpResponse> ask(std::string method, std::string path, std::string body = "") {
    return run_to_end(
        loop, client.request({.method = std::move(method),
                              .url = scheme + "127.0.0.1:" + std::to_string(server->port()) + path,
                              .body = std::move(body)}));
  }
  AsioLoop loop;
  std::string scheme;
  std::unique_ptr<HttpServer> server;
  kube::HttpClient client;
};

TEST(HttpServer, AnswersManyRequestsOfOneClient) {
  Site site({.max_body_bytes = 10});
  for (int i = 0; i < 3; ++i) EXPECT_EQ(site.ask("GET", "/a?b")->body, "GET /a?b ");
  EXPECT_EQ(site.ask("POST", "/a", "hello")->body, "POST /a hello");
  EXPECT_EQ(site.ask("GET", "/a")->body, "GET /a ");
  EXPECT_EQ(site.client.open_connections(), 1u);
}

TEST(HttpServer, RefusesALargeBody) {
  Site site({.max_body_bytes = 10});
  EXPECT_EQ(site.ask("POST", "/a", "more than ten")->status, 413);
}

TEST(HttpServer, ServesMoreClientsThanItHasPlaces) {
  Site site({.max_connections = 1});
  for (int i = 0; i < 3; ++i) {
    kube::HttpClient other(site.loop, {});
    const auto answer = run_to_end(
        site.loop,
        other.request({.url = "http://127.0.0.1:" + std::to_string(site.server->port()) + "/x",
                       .headers = {{"Connection", "close"}}}));
    ASSERT_TRUE(answer) << answer.error().message;
    EXPECT_EQ(answer->body, "GET /x ");
  }
}

TEST(HttpServer, OnlyReadsWhereThatIsAll) {
  const auto handler = only_get([](const ServedRequest&) { return HttpAnswer{}; });
  EXPECT_EQ(handler({.method = "GET"}).status, 200);
  EXPECT_EQ(handler({.method = "HEAD"}).status, 200);
  EXPECT_EQ(handler({.method = "POST"}).status, 405);
}

TEST(HttpServer, SaysWhatIsWrongWithAnAddress) {
  AsioLoop loop;
  for (const auto* address : {"8080", ":99999", "nowhere.example:80"})
    EXPECT_FALSE(HttpServer::listen(loop, {.address = address}, answer_health)) << address;
}

TEST(HttpServer, SaysThatAPortIsTaken) {
  Site site;
  const auto second = HttpServer::listen(
      site.loop, {.address = "127.0.0.1:" + std::to_string(site.server->port())}, answer_health);
  ASSERT_FALSE(second);
  EXPECT_NE(second.error().message.find("in use"), std::string::npos) << second.error().message;
}

// A folder with tls.crt and tls.key, as a kubelet mounts a Secret: a link that is swapped.
struct CertificateFolder {
  CertificateFolder() {
    std::string pattern = testing::TempDir() + "certsXXXXXX";
    folder = ::mkdtemp(pattern.data());
  }
  ~CertificateFolder() { std::filesystem::remove_all(folder); }
  void put(const kube::TestCertificate& certificate) {
    const auto version = folder / std::to_string(++versions);
    std::filesystem::create_directory(version);
    std::ofstream(version / "tls.crt") << certificate.cert_pem;
    std::ofstream(version / "tls.key") << certificate.key_pem;
    std::filesystem::create_directory_symlink(version, folder / "new");
    std::filesystem::rename(folder / "new", folder / "data");
  }
  auto load() const {
    return ServerCertificates::load(folder / "data" / "tls.crt", folder / "data" / "tls.key");
  }
  std::filesystem::path folder;
  int versions = 0;
};

TEST(ServerCertificates, AreReadAgainWhenTheyChange) {
  const auto first = kube::TestCertificate::make("IP:127.0.0.1");
  const auto second = kube::TestCertificate::make("IP:127.0.0.1");
  CertificateFolder folder;
  folder.put(first);
  const auto certificates = folder.load();
  ASSERT_TRUE(certificates) << certificates.error().message;
  Site site({.certificates = *certificates}, {.ca_pem = first.cert_pem});
  EXPECT_EQ(site.ask("GET", "/")->body, "GET / ");
  folder.put(second);
  site.client.set_tls({.ca_pem = second.cert_pem});  // a new connection, which trusts only the new
  const auto answer = site.ask("GET", "/");
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(answer->body, "GET / ");
  EXPECT_EQ((*certificates)->reads(), 2u);
}

TEST(ServerCertificates, ABadPairLeavesTheLastGoodOne) {
  const auto good = kube::TestCertificate::make("IP:127.0.0.1");
  CertificateFolder folder;
  folder.put(good);
  const auto certificates = folder.load().value();
  Site site({.certificates = certificates}, {.ca_pem = good.cert_pem});
  folder.put({.cert_pem = good.cert_pem, .key_pem = "not a key"});
  EXPECT_EQ(site.ask("GET", "/")->body, "GET / ");
  EXPECT_EQ(certificates->read_errors(), 1u);
}

TEST(ServerCertificates, MustBeThereAtTheStart) {
  CertificateFolder folder;
  EXPECT_FALSE(folder.load());
  folder.put({.cert_pem = kube::TestCertificate::make("IP:127.0.0.1").cert_pem,
              .key_pem = kube::TestCertificate::make("IP:127.0.0.1").key_pem});
  EXPECT_FALSE(folder.load());  // another's key
}

}  // namespace
}  // namespace manta::operator_
