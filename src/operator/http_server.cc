#include "operator/http_server.h"

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ip/v6_only.hpp>
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

constexpr std::size_t kMaxHead = 8 << 10;
constexpr std::size_t kMaxConnections = 64;
constexpr std::chrono::seconds kIdle{30};

std::string_view reason_of(int status) {
  switch (status) {
    case 200:
      return "OK";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 400:
      return "Bad Request";
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
      boost::system::error_code bad;
      const auto ip = host.empty() ? asio::ip::address(asio::ip::address_v6::any())
                                   : asio::ip::make_address(host, bad);
      if (!bad) return tcp::endpoint(ip, port);
    }
  }
  return failed(ErrorCode::Invalid,
                fmt::format("listen address \"{}\" must be host:port or :port", address));
}

}  // namespace

struct HttpServer::Impl : std::enable_shared_from_this<HttpServer::Impl> {
  struct Connection {
    explicit Connection(tcp::socket s) : socket(std::move(s)), timer(socket.get_executor()) {}
    tcp::socket socket;
    asio::steady_timer timer;
    std::string input = {};
    std::string output = {};
    std::array<char, 4096> buffer = {};
    bool keep = true;
  };
  using ConnectionPtr = std::shared_ptr<Connection>;

  Impl(asio::io_context& context, Handler h) : acceptor(context), handler(std::move(h)) {}

  void accept() {
    acceptor.async_accept(
        [self = shared_from_this()](boost::system::error_code error, tcp::socket socket) {
          if (self->closed) return;
          if (!error && self->connections.size() < kMaxConnections) {
            auto connection = std::make_shared<Connection>(std::move(socket));
            self->connections.insert(connection);
            self->read(connection);
          }
          self->accept();
        });
  }

  void read(const ConnectionPtr& connection) {
    connection->timer.expires_after(kIdle);
    connection->timer.async_wait(
        [self = shared_from_this(), connection](boost::system::error_code error) {
          if (!error) self->close(connection);
        });
    connection->socket.async_read_some(asio::buffer(connection->buffer),
                                       [self = shared_from_this(), connection](
                                           boost::system::error_code error, std::size_t count) {
                                         if (error || self->closed) return self->close(connection);
                                         connection->input.append(connection->buffer.data(), count);
                                         self->respond(connection);
                                       });
  }

  void respond(const ConnectionPtr& connection) {
    const auto end = connection->input.find("\r\n\r\n");
    if (end == std::string::npos) {
      if (connection->input.size() > kMaxHead) return close(connection);
      return read(connection);
    }
    const auto head = connection->input.substr(0, end);
    connection->input.erase(0, end + 4);
    const auto answer = answer_to(head);
    connection->keep = head.find("HTTP/1.1") != std::string::npos &&
                       head.find("onnection: close") == std::string::npos;
    connection->output = fmt::format(
        "HTTP/1.1 {} {}\r\nContent-Type: {}\r\nX-Content-Type-Options: nosniff\r\n"
        "Content-Length: {}\r\n{}\r\n",
        answer.status, reason_of(answer.status), answer.content_type, answer.body.size(),
        connection->keep ? "" : "Connection: close\r\n");
    if (!head.starts_with("HEAD ")) connection->output += answer.body;
    asio::async_write(
        connection->socket, asio::buffer(connection->output),
        [self = shared_from_this(), connection](boost::system::error_code error, std::size_t) {
          if (error || self->closed || !connection->keep) return self->close(connection);
          if (connection->input.empty())
            self->read(connection);
          else
            self->respond(connection);
        });
  }

  HttpAnswer answer_to(std::string_view head) const {
    const auto method_end = head.find(' ');
    const auto target_end = head.find(' ', method_end + 1);
    if (method_end == std::string_view::npos || target_end == std::string_view::npos)
      return {.status = 400, .body = "bad request\n"};
    const auto method = head.substr(0, method_end);
    if (method != "GET" && method != "HEAD") return {.status = 405, .body = "only GET\n"};
    return handler(head.substr(method_end + 1, target_end - method_end - 1));
  }

  void close(const ConnectionPtr& connection) {
    boost::system::error_code ignored;
    connection->timer.cancel();
    connection->socket.close(ignored);
    connections.erase(connection);
  }

  void close_all() {
    closed = true;
    boost::system::error_code ignored;
    acceptor.close(ignored);
    for (const auto& connection : std::set(connections)) close(connection);
  }

  tcp::acceptor acceptor;
  Handler handler;
  std::set<ConnectionPtr> connections = {};
  bool closed = false;
};

Result<std::unique_ptr<HttpServer>> HttpServer::listen(AsioLoop& loop, const std::string& address,
                                                       Handler handler) {
  const auto endpoint = parse_address(address);
  if (!endpoint) return std::unexpected(endpoint.error());
  auto impl = std::make_shared<Impl>(loop.context(), std::move(handler));
  auto open = [&](tcp::endpoint at) {
    boost::system::error_code error;
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
    boost::system::error_code ignored;
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
  boost::system::error_code ignored;
  return impl_->acceptor.local_endpoint(ignored).port();
}

HttpAnswer answer_health(std::string_view target) {
  const auto question = target.find('?');
  const auto path = target.substr(0, question);
  const auto query =
      question == std::string_view::npos ? std::string_view() : target.substr(question + 1);
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
