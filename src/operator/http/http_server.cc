#include "operator/http/http_server.h"

#include "base/log.h"
#include "operator/http/server_certificates.h"

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ip/v6_only.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <fmt/format.h>

#include <array>
#include <charconv>
#include <set>

namespace manta::operator_ {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

constexpr std::chrono::seconds kIdle{30};
constexpr std::chrono::milliseconds kAcceptPause{100};  // after an error: no file left, say

std::string_view reason_of(int status) {
  switch (status) {
    case 200:
      return "OK";
    case 400:
      return "Bad Request";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 413:
      return "Content Too Large";
    case 431:
      return "Request Header Fields Too Large";
    case 501:
      return "Not Implemented";
    case 505:
      return "HTTP Version Not Supported";
    default:
      return "Internal Server Error";
  }
}

Result<tcp::endpoint> parse_address(const std::string& address) {
  const auto colon = address.rfind(':');
  std::uint16_t port = 0;
  if (colon != std::string::npos) {
    const auto* end = address.data() + address.size();
    const auto [stop, error] = std::from_chars(address.data() + colon + 1, end, port);
    if (error == std::errc{} && stop == end) {
      auto host = address.substr(0, colon);
      if (host.size() > 2 && host.front() == '[') host = host.substr(1, host.size() - 2);
      if (host == "localhost") host = "127.0.0.1";
      error_code bad;
      const auto ip = host.empty() ? asio::ip::address(asio::ip::address_v6::any())
                                   : asio::ip::make_address(host, bad);
      if (!bad) return tcp::endpoint(ip, port);
    }
  }
  return failed(ErrorCode::Invalid,
                fmt::format("listen address \"{}\" must be host:port or :port", address));
}

std::string text_of(const HttpAnswer& answer, bool with_body, bool keep_alive) {
  auto text =
      fmt::format("HTTP/1.1 {} {}\r\nContent-Type: {}\r\nX-Content-Type-Options: nosniff\r\n",
                  answer.status, reason_of(answer.status), answer.content_type);
  if (!answer.content_encoding.empty())
    text += fmt::format("Content-Encoding: {}\r\n", answer.content_encoding);
  text += fmt::format("Content-Length: {}\r\n", answer.body.size());
  if (!keep_alive) text += "Connection: close\r\n";
  text += "\r\n";
  if (with_body) text += answer.body;
  return text;
}

struct Connection {
  Connection(tcp::socket s, RequestReader::Limits limits)
      : socket(std::move(s)), timer(socket.get_executor()), reader(limits) {}

  template <class Done>
  void read(Done done) {
    if (tls)
      tls->async_read_some(asio::buffer(buffer), std::move(done));
    else
      socket.async_read_some(asio::buffer(buffer), std::move(done));
  }
  template <class Done>
  void write(std::string text, Done done) {
    output = std::move(text);
    if (tls)
      asio::async_write(*tls, asio::buffer(output), std::move(done));
    else
      asio::async_write(socket, asio::buffer(output), std::move(done));
  }

  tcp::socket socket;
  asio::steady_timer timer;
  RequestReader reader;
  std::shared_ptr<asio::ssl::context> context = {};  // outlives the stream
  std::optional<asio::ssl::stream<tcp::socket&>> tls = {};
  std::array<char, 4096> buffer = {};
  std::string output = {};
};
using ConnectionPtr = std::shared_ptr<Connection>;

}  // namespace

struct HttpServer::Impl : std::enable_shared_from_this<HttpServer::Impl> {
  Impl(asio::io_context& context, Options o, Handler h)
      : acceptor(context), pause(context), options(std::move(o)), handler(std::move(h)) {}

  void accept() {
    accepting = false;
    if (closed || connections.size() >= options.max_connections) return;
    accepting = true;
    acceptor.async_accept([self = shared_from_this()](error_code error, tcp::socket socket) {
      if (self->closed) return;
      if (!error) {
        self->begin(std::move(socket));
        return self->accept();
      }
      self->pause.expires_after(kAcceptPause);
      self->pause.async_wait([self](error_code) { self->accept(); });
    });
  }

  void begin(tcp::socket socket) {
    auto connection = std::make_shared<Connection>(
        std::move(socket), RequestReader::Limits{.body = options.max_body_bytes});
    connections.insert(connection);
    watch_silence(connection);
    if (!options.certificates) return read(connection);
    connection->context = options.certificates->current();
    connection->tls.emplace(connection->socket, *connection->context);
    connection->tls->async_handshake(asio::ssl::stream_base::server,
                                     [self = shared_from_this(), connection](error_code error) {
                                       if (error || self->closed) return self->close(connection);
                                       self->read(connection);
                                     });
  }

  void watch_silence(const ConnectionPtr& connection) {
    connection->timer.expires_after(kIdle);
    connection->timer.async_wait([self = shared_from_this(), connection](error_code error) {
      if (!error) self->close(connection);
    });
  }

  void read(const ConnectionPtr& connection) {
    connection->read([self = shared_from_this(), connection](error_code error, std::size_t count) {
      if (error || self->closed) return self->close(connection);
      self->watch_silence(connection);
      connection->reader.feed({connection->buffer.data(), count});
      self->respond(connection);
    });
  }

  void respond(const ConnectionPtr& connection) {
    auto request = connection->reader.next();
    if (!request) {
      const auto& error = request.error();
      return send(connection, {.status = error.http_status, .body = error.message + "\n"}, true,
                  false);
    }
    if (!*request) return read(connection);
    send(connection, handler(**request), (*request)->method != "HEAD", (*request)->keep_alive);
  }

  void send(const ConnectionPtr& connection, const HttpAnswer& answer, bool with_body,
            bool keep_alive) {
    connection->write(
        text_of(answer, with_body, keep_alive),
        [self = shared_from_this(), connection, keep_alive](error_code error, std::size_t) {
          if (error || self->closed || !keep_alive) return self->close(connection);
          self->watch_silence(connection);
          self->respond(connection);
        });
  }

  void close(const ConnectionPtr& connection) {
    error_code ignored;
    connection->timer.cancel();
    connection->socket.shutdown(tcp::socket::shutdown_send, ignored);
    connection->socket.close(ignored);
    connections.erase(connection);
    if (!accepting) accept();
  }

  void close_all() {
    closed = true;
    error_code ignored;
    acceptor.close(ignored);
    pause.cancel();
    for (const auto& connection : std::set(connections)) close(connection);
  }

  tcp::acceptor acceptor;
  asio::steady_timer pause;
  Options options;
  Handler handler;
  std::set<ConnectionPtr> connections = {};
  bool accepting = false;
  bool closed = false;
};

Result<std::unique_ptr<HttpServer>> HttpServer::listen(AsioLoop& loop, Options options,
                                                       Handler handler) {
  const auto address = options.address;
  const auto endpoint = parse_address(address);
  if (!endpoint) return std::unexpected(endpoint.error());
  auto impl = std::make_shared<Impl>(loop.context(), std::move(options), std::move(handler));
  auto open = [&](tcp::endpoint at) {
    error_code error;
    impl->acceptor.open(at.protocol(), error);
    if (!error) impl->acceptor.set_option(tcp::acceptor::reuse_address(true), error);
    if (!error && at.protocol() == tcp::v6())
      impl->acceptor.set_option(asio::ip::v6_only(false), error);
    if (!error) impl->acceptor.bind(at, error);
    if (!error) impl->acceptor.listen(tcp::acceptor::max_listen_connections, error);
    return error;
  };
  auto error = open(*endpoint);
  if (error && endpoint->address().is_unspecified()) {  // a host without IPv6
    error_code ignored;
    impl->acceptor.close(ignored);
    error = open(tcp::endpoint(tcp::v4(), endpoint->port()));
  }
  if (error)
    return failed(ErrorCode::Unavailable,
                  fmt::format("cannot listen on {}: {}", address, error.message()));
  impl->accept();
  return std::unique_ptr<HttpServer>(new HttpServer(std::move(impl)));
}

HttpServer::~HttpServer() { impl_->close_all(); }

std::uint16_t HttpServer::port() const {
  error_code ignored;
  return impl_->acceptor.local_endpoint(ignored).port();
}

HttpServer::Handler only_get(HttpServer::Handler handler) {
  return [handler = std::move(handler)](const ServedRequest& request) -> HttpAnswer {
    if (request.method != "GET" && request.method != "HEAD")
      return {.status = 405, .body = "only GET\n"};
    return handler(request);
  };
}

HttpAnswer answer_health(const ServedRequest& request) {
  const auto path = request.path();
  const auto query = request.query();
  for (std::string_view check : {"healthz", "readyz"}) {
    if (path != fmt::format("/{}", check) && path != fmt::format("/{}/", check) &&
        path != fmt::format("/{0}/{0}", check))
      continue;
    if (query.find("verbose") == std::string_view::npos) return {.body = "ok"};
    if (query.find(fmt::format("exclude={}", check)) != std::string_view::npos)
      return {.body = fmt::format("[+]{0} excluded: ok\n{0} check passed\n", check)};
    return {.body = fmt::format("[+]{0} ok\n{0} check passed\n", check)};
  }
  return {.status = 404, .body = "404 page not found\n"};
}

}  // namespace manta::operator_
