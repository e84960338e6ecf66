#include "local/node/prober.h"

#include "base/text.h"

#include <boost/asio/connect.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/write.hpp>
#include <fmt/format.h>

#include <charconv>

namespace manta::local {

namespace asio = boost::asio;
using tcp = asio::ip::tcp;

std::string build_probe_request(const Handler& handler, std::string_view host) {
  std::string request = fmt::format("GET {} HTTP/1.1\r\n", handler.path);
  bool has_host = false, has_agent = false, has_accept = false;
  for (const auto& [name, value] : handler.headers) {
    const auto known = lower_case(name);
    has_host = has_host || known == "host";
    has_agent = has_agent || known == "user-agent";
    has_accept = has_accept || known == "accept";
    request += fmt::format("{}: {}\r\n", name, value);
  }
  if (!has_host) request += fmt::format("Host: {}:{}\r\n", host, handler.port);
  if (!has_agent) request += "User-Agent: kube-probe/1.35\r\n";
  if (!has_accept) request += "Accept: */*\r\n";
  return request + "Connection: close\r\n\r\n";
}

HandlerResult judge_probe_answer(std::string_view answer) {
  const auto space = answer.find(' ');
  int status = 0;
  if (!answer.starts_with("HTTP/") || space == std::string_view::npos ||
      std::from_chars(answer.data() + space + 1, answer.data() + answer.size(), status).ec !=
          std::errc{})
    return {false, "the answer is no HTTP"};
  if (status >= 200 && status < 400) return {true, {}};
  return {false, fmt::format("HTTP probe failed with statuscode: {}", status)};
}

namespace {

/// One connection of a TCP, HTTP or HTTPS probe. Callbacks hold it alive; `done` is set once.
class Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(AsioLoop& loop, const Handler& handler, std::string host)
      : handler_(handler),
        host_(std::move(host)),
        resolver_(loop.context()),
        stream_(loop.context(), context_),
        done_(loop) {
    context_.set_verify_mode(
        asio::ssl::verify_none);  // as the kubelet: Pods have no names to check
  }

  OneShot<HandlerResult> start() {
    boost::system::error_code no_address;
    const auto address = asio::ip::make_address(host_, no_address);
    if (!no_address) {  // the common case; a resolver would start a thread
      socket().async_connect(
          tcp::endpoint(address, static_cast<std::uint16_t>(handler_.port)),
          [self = shared_from_this()](const auto& error) { self->after_connect(error); });
      return done_;
    }
    resolver_.async_resolve(host_, std::to_string(handler_.port),
                            [self = shared_from_this()](const auto& error, const auto& found) {
                              if (error) return self->fail("resolving " + self->host_, error);
                              asio::async_connect(self->socket(), found,
                                                  [self](const auto& failure, const auto&) {
                                                    self->after_connect(failure);
                                                  });
                            });
    return done_;
  }

  void give_up() {
    finish({false, fmt::format("{} {}:{}: context deadline exceeded (no answer in time)",
                               handler_.kind == Handler::Kind::Tcp ? "dial tcp" : "Get http://",
                               host_, handler_.port)});
  }

 private:
  tcp::socket& socket() { return stream_.next_layer(); }

  void after_connect(const boost::system::error_code& error) {
    if (error) return fail(fmt::format("dial tcp {}:{}", host_, handler_.port), error);
    connected();
  }

  void connected() {
    if (handler_.kind == Handler::Kind::Tcp) return finish({true, {}});
    request_ = build_probe_request(handler_, host_);
    if (!handler_.https) return exchange(socket());
    stream_.async_handshake(asio::ssl::stream_base::client,
                            [self = shared_from_this()](const auto& error) {
                              if (error) return self->fail("TLS handshake", error);
                              self->exchange(self->stream_);
                            });
  }

  template <class Channel>
  void exchange(Channel& channel) {
    asio::async_write(channel, asio::buffer(request_),
                      [self = shared_from_this(), &channel](const auto& error, std::size_t) {
                        if (error) return self->fail("sending the request", error);
                        self->read(channel);
                      });
  }

  template <class Channel>
  void read(Channel& channel) {
    channel.async_read_some(asio::buffer(buffer_), [self = shared_from_this(), &channel](
                                                       const auto& error, std::size_t got) {
      self->answer_.append(self->buffer_.data(), got);
      // The status line says it all.
      if (self->answer_.find("\r\n") != std::string::npos || self->answer_.size() > 4096)
        return self->finish(judge_probe_answer(self->answer_));
      if (error) return self->fail("reading the answer", error);
      self->read(channel);
    });
  }

  void fail(const std::string& what, const boost::system::error_code& error) {
    finish({false, fmt::format("{}: {}", what, error.message())});
  }

  void finish(HandlerResult result) {
    boost::system::error_code ignored;
    resolver_.cancel();
    socket().close(ignored);
    done_.set(std::move(result));
  }

  Handler handler_;
  std::string host_;
  asio::ssl::context context_{asio::ssl::context::tls_client};
  tcp::resolver resolver_;
  asio::ssl::stream<tcp::socket> stream_;
  OneShot<HandlerResult> done_;
  std::string request_ = {}, answer_ = {};
  std::array<char, 1024> buffer_ = {};
};

Task<HandlerResult> run_exec_handler(const Helpers& helpers, ContainerEntry container,
                                     std::vector<std::string> command, Duration timeout) {
  auto result = co_await run_command(helpers, std::move(container), std::move(command), timeout);
  if (!result) co_return HandlerResult{false, result.error().message};
  if (result->timed_out)
    co_return HandlerResult{false,
                            fmt::format("command timed out after {}", format_go_duration(timeout))};
  co_return HandlerResult{result->exit_code == 0, result->output};
}

}  // namespace

Task<HandlerResult> run_handler(const Helpers& helpers, ContainerEntry container,
                                std::string pod_ip, Handler handler, Duration timeout) {
  switch (handler.kind) {
    case Handler::Kind::None:
      co_return HandlerResult{true, {}};
    case Handler::Kind::Exec:
      co_return co_await run_exec_handler(helpers, std::move(container), std::move(handler.command),
                                          timeout);
    case Handler::Kind::Sleep:
      co_await sleep(helpers.loop, std::chrono::seconds{handler.sleep_seconds});
      co_return HandlerResult{true, {}};
    case Handler::Kind::Grpc:
      co_return HandlerResult{
          false, "gRPC probes are not supported by this node; use httpGet, tcpSocket or exec"};
    case Handler::Kind::Http:
    case Handler::Kind::Tcp:
      break;
  }
  auto connection = std::make_shared<Connection>(helpers.loop, handler,
                                                 handler.host.empty() ? pod_ip : handler.host);
  const auto timer = helpers.loop.after(timeout, [connection] { connection->give_up(); });
  auto done = connection->start();
  auto result = co_await done;
  helpers.loop.cancel(timer);
  co_return result;
}

}  // namespace manta::local
