#include "kube/http_transport.h"

#include "base/async.h"
#include "base/hash.h"

#include <boost/asio/buffer.hpp>
#include <boost/asio/connect.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/write.hpp>
#include <fmt/format.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

namespace manta::kube::http {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

constexpr std::size_t kReadSize = 16 << 10;  // a TLS record

class Tls final : public TlsContext {
 public:
  explicit Tls(const TlsOptions& options)
      : context(asio::ssl::context::tls_client),
        server_name(options.server_name),
        skip_verify(options.skip_verify) {}

  asio::ssl::context context;
  std::string server_name;
  bool skip_verify;
};

Error unavailable(std::string message) {
  return {.code = ErrorCode::Unavailable, .message = std::move(message)};
}

class Stream final : public Transport {
 public:
  Stream(AsioLoop& loop, Target target)
      : loop_(loop), target_(std::move(target)), socket_(loop.context()) {}

  Task<Result<Ready>> run() {
    bool late = false;
    const auto timer = loop_.after(target_.timeout, [&] {
      late = true;
      close();
      if (const auto give_up = std::exchange(give_up_resolving_, {})) give_up();
    });
    auto ready = co_await establish();
    loop_.cancel(timer);
    if (!ready) close();
    if (late && !ready)
      co_return failed(ErrorCode::Unavailable,
                       fmt::format("no connection to {} within {}", target_.url.host_port(),
                                   format_go_duration(target_.timeout)));
    co_return ready;
  }

  void read(OnRead done) override {
    auto on_read = [self = shared_from_this(), this, done = std::move(done)](const error_code& ec,
                                                                             std::size_t size) {
      if (ec)
        return done(
            failed(unavailable(ec == asio::error::eof ? "closed by the server" : ec.message())));
      done(std::string_view(buffer_.data(), size));
    };
    if (tls_)
      tls_->async_read_some(asio::buffer(buffer_), std::move(on_read));
    else
      socket_.async_read_some(asio::buffer(buffer_), std::move(on_read));
  }

  void write(std::string data, OnWritten done) override {
    outgoing_ = std::move(data);
    auto on_written = [self = shared_from_this(), this, done = std::move(done)](
                          const error_code& ec, std::size_t) {
      outgoing_ = {};
      if (ec) return done(failed(unavailable(ec.message())));
      done({});
    };
    if (tls_)
      asio::async_write(*tls_, asio::buffer(outgoing_), std::move(on_written));
    else
      asio::async_write(socket_, asio::buffer(outgoing_), std::move(on_written));
  }

  void close() override {
    error_code ignored;
    socket_.close(ignored);
  }

 private:
  using Done = OneShot<error_code>;

  Task<Result<Ready>> establish() {
    const Url& first = target_.proxy ? *target_.proxy : target_.url;
    auto reached = co_await reach(first);
    if (!reached) co_return failed(std::move(reached.error()));
    error_code ignored;
    socket_.set_option(tcp::no_delay(true), ignored);
    socket_.set_option(asio::socket_base::keep_alive(true), ignored);
    if (target_.proxy && target_.url.is_tls()) {
      auto tunnel = co_await open_tunnel();
      if (!tunnel) co_return failed(std::move(tunnel.error()));
    }
    Ready ready{.transport = shared_from_this()};
    if (target_.url.is_tls()) {
      auto alpn = co_await shake_hands();
      if (!alpn) co_return failed(std::move(alpn.error()));
      ready.alpn = std::move(*alpn);
    }
    buffer_.resize(kReadSize);
    co_return ready;
  }

  Task<Result<void>> reach(Url url) {
    std::vector<tcp::endpoint> endpoints;
    error_code ec;
    const auto address = asio::ip::make_address(url.host, ec);
    if (!ec) {
      endpoints.emplace_back(address, url.port);  // no resolver thread for an address
    } else {
      // The system's resolver cannot be interrupted, so a late answer goes to nobody.
      auto found = std::make_shared<std::vector<tcp::endpoint>>();
      Done resolved(loop_);
      give_up_resolving_ = [resolved] { resolved.set(asio::error::timed_out); };
      const Steady asked = loop_.steady();
      resolver_.emplace(loop_.context());
      resolver_->async_resolve(url.host, std::to_string(url.port),
                               [found, resolved](const error_code& error, auto results) {
                                 for (const auto& entry : results)
                                   found->push_back(entry.endpoint());
                                 resolved.set(error);
                               });
      ec = co_await resolved;
      give_up_resolving_ = {};
      if (target_.on_resolved) target_.on_resolved(loop_.steady() - asked);
      endpoints = *found;
      resolver_.reset();
      if (ec)
        co_return failed(unavailable(fmt::format("cannot resolve {}: {}", url.host, ec.message())));
    }
    Done connected(loop_);
    asio::async_connect(
        socket_, endpoints,
        [self = shared_from_this(), connected](const error_code& error, const tcp::endpoint&) {
          connected.set(error);
        });
    ec = co_await connected;
    if (ec)
      co_return failed(
          unavailable(fmt::format("cannot connect to {}: {}", url.host_port(), ec.message())));
    co_return Result<void>{};
  }

  // The proxy's answer is read byte by byte, so that nothing of what follows is taken with it.
  Task<Result<void>> open_tunnel() {
    const auto place = target_.url.host_port();
    std::string request = fmt::format("CONNECT {0} HTTP/1.1\r\nHost: {0}\r\n", place);
    if (!target_.proxy->userinfo.empty())
      request += "Proxy-Authorization: Basic " + base64_encode(target_.proxy->userinfo) + "\r\n";
    request += "\r\n";
    Done sent(loop_);
    asio::async_write(socket_, asio::buffer(request),
                      [self = shared_from_this(), sent](const error_code& error, std::size_t) {
                        sent.set(error);
                      });
    auto ec = co_await sent;
    std::string answer;
    while (!ec && !answer.ends_with("\r\n\r\n") && answer.size() < 16'384) {
      char byte = 0;
      Done got(loop_);
      asio::async_read(socket_, asio::buffer(&byte, 1),
                       [self = shared_from_this(), got](const error_code& error, std::size_t) {
                         got.set(error);
                       });
      ec = co_await got;
      answer += byte;
    }
    const auto proxy = target_.proxy->host_port();
    if (ec) co_return failed(unavailable(fmt::format("proxy {}: {}", proxy, ec.message())));
    if (!answer.starts_with("HTTP/1.1 200") && !answer.starts_with("HTTP/1.0 200"))
      co_return failed(unavailable(fmt::format("proxy {} refused a tunnel to {}: {}", proxy, place,
                                               answer.substr(0, answer.find('\r')))));
    co_return Result<void>{};
  }

  Task<Result<std::string>> shake_hands() {
    auto& tls = static_cast<Tls&>(*target_.tls);
    tls_.emplace(socket_, tls.context);
    SSL* ssl = tls_->native_handle();
    const std::string name = tls.server_name.empty() ? target_.url.host : tls.server_name;
    error_code ec;
    const bool numeric = (asio::ip::make_address(name, ec), !ec);
    if (!numeric) SSL_set_tlsext_host_name(ssl, name.c_str());
    if (!tls.skip_verify) {
      if (numeric)
        X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), name.c_str());
      else
        SSL_set1_host(ssl, name.c_str());
    }
    Done shaken(loop_);
    tls_->async_handshake(
        asio::ssl::stream_base::client,
        [self = shared_from_this(), shaken](const error_code& error) { shaken.set(error); });
    ec = co_await shaken;
    if (ec) {
      const auto verify = SSL_get_verify_result(ssl);
      co_return failed(unavailable(
          fmt::format("TLS with {} as {:?}: {}", target_.url.host_port(), name,
                      verify != X509_V_OK ? X509_verify_cert_error_string(verify) : ec.message())));
    }
    const unsigned char* chosen = nullptr;
    unsigned int size = 0;
    SSL_get0_alpn_selected(ssl, &chosen, &size);
    co_return std::string(reinterpret_cast<const char*>(chosen), size);
  }

  std::shared_ptr<Stream> shared_from_this() {
    return std::static_pointer_cast<Stream>(Transport::shared_from_this());
  }

  AsioLoop& loop_;
  Target target_;
  tcp::socket socket_;
  std::optional<tcp::resolver> resolver_ = {};
  std::function<void()> give_up_resolving_ = {};
  std::optional<asio::ssl::stream<tcp::socket&>> tls_ = {};
  std::vector<char> buffer_ = {};
  std::string outgoing_ = {};
};

}  // namespace

Result<std::shared_ptr<TlsContext>> TlsContext::make(const TlsOptions& options) {
  auto tls = std::make_shared<Tls>(options);
  auto& context = tls->context;
  SSL_CTX* native = context.native_handle();
  SSL_CTX_set_min_proto_version(native, TLS1_2_VERSION);
  SSL_CTX_set_mode(native, SSL_MODE_RELEASE_BUFFERS);
  static constexpr unsigned char kProtocols[] = "\x02h2\x08http/1.1";
  SSL_CTX_set_alpn_protos(native, kProtocols, sizeof kProtocols - 1);
  SSL_CTX_set_verify(native, options.skip_verify ? SSL_VERIFY_NONE : SSL_VERIFY_PEER, nullptr);
  // Go trusts whatever certificate the CA file has, an intermediate or the server's own too.
  X509_STORE_set_flags(SSL_CTX_get_cert_store(native), X509_V_FLAG_PARTIAL_CHAIN);

  const auto bad = [](std::string_view what, const error_code& ec) {
    ERR_clear_error();
    return failed(ErrorCode::Invalid,
                  fmt::format("{} cannot be read as PEM: {}", what, ec.message()));
  };
  error_code ec;
  if (!options.skip_verify) {
    if (options.ca_pem.empty())
      context.set_default_verify_paths(ec);
    else
      context.add_certificate_authority(asio::buffer(options.ca_pem), ec);
    if (ec) return bad("the CA certificate", ec);
  }
  if (!options.client_cert_pem.empty()) {
    context.use_certificate_chain(asio::buffer(options.client_cert_pem), ec);
    if (ec) return bad("the client certificate", ec);
    context.use_private_key(asio::buffer(options.client_key_pem), asio::ssl::context::pem, ec);
    if (ec) return bad("the client certificate's key", ec);
    if (SSL_CTX_check_private_key(native) != 1) {
      ERR_clear_error();
      return failed(ErrorCode::Invalid,
                    "the client certificate and its key do not belong together");
    }
  }
  ERR_clear_error();
  return tls;
}

Task<Result<Transport::Ready>> Transport::connect(AsioLoop& loop, Target target) {
  const auto stream = std::make_shared<Stream>(loop, std::move(target));
  co_return co_await stream->run();
}

}  // namespace manta::kube::http
