// The API server's HTTP(S) front: what kubectl, helm and client libraries connect to. HTTP/1.1 on a
// loopback address, TLS and a bearer token when given, streaming watches and logs, WebSockets for
// exec, attach and port-forward.
#pragma once

#include "base/asio_loop.h"
#include "local/apiserver/api_server.h"

#include <cstdint>
#include <memory>
#include <string>

namespace manta::local {

struct HttpServerOptions {
  std::string address = "127.0.0.1";
  std::uint16_t port = 0;            // 0: a free one, see HttpServer::port()
  std::string certificate_pem = {};  // with private_key_pem: TLS; both empty: plain HTTP
  std::string private_key_pem = {};
  std::string token = {};  // empty: everyone may do everything
};

class HttpServer {
 public:
  HttpServer(AsioLoop& loop, ApiServer& api, HttpServerOptions options);
  ~HttpServer();

  /// Binds and listens; fails when the address is taken or the certificate cannot be read.
  Result<void> start();
  /// Closes the listener and every connection.
  void stop();
  std::uint16_t port() const;

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

/// A certificate of its own authority for loopback use (127.0.0.1, localhost, `kubernetes` names),
/// valid for ten years. Fails only when OpenSSL does.
struct SelfSignedCertificate {
  std::string certificate_pem = {};
  std::string private_key_pem = {};
};
Result<SelfSignedCertificate> make_self_signed_certificate(const std::vector<std::string>& names,
                                                           Time now, Random& random);

/// Are these a certificate and its private key, in PEM? Says which one is not.
Result<void> check_certificate(const std::string& certificate_pem,
                               const std::string& private_key_pem);

}  // namespace manta::local
