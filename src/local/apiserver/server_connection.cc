#include "local/apiserver/server_connection.h"

#include "base/async.h"
#include "fmt/format.h"
#include "local/apiserver/tls_socket.h"

#include <boost/asio/connect.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/write.hpp>

#include <deque>
#include <set>

namespace manta::local {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

/// Awaits an Asio operation: `start` is given the handler to pass to it.
template <class Start>
struct Operation {
  Start start;
  error_code error = {};
  std::size_t size = 0;

  bool await_ready() const noexcept { return false; }
  void await_suspend(std::coroutine_handle<> handle) {
    start([this, handle](const error_code& ec, std::size_t count = 0) {
      error = ec;
      size = count;
      handle.resume();
    });
  }
  std::pair<error_code, std::size_t> await_resume() const { return {error, size}; }
};
template <class Start>
Operation<Start> operation(Start start) {
  return Operation<Start>{std::move(start)};
}

template <class Stream>
class Connection final : public ServerConnection,
                         public std::enable_shared_from_this<Connection<Stream>> {
 public:
  Connection(AsioLoop& loop, Stream stream) : loop_(loop), stream_(std::move(stream)) {}

  Stream& stream() { return stream_; }

  Task<Result<std::string>> read_some() override {
    auto self = this->shared_from_this();
    // Small while little comes: who watches says nothing for hours.
    std::string data(read_size_, '\0');
    const auto [error, size] = co_await operation(
        [&](auto handler) { stream_.async_read_some(asio::buffer(data), std::move(handler)); });
    if (error || size == 0) co_return failed(ErrorCode::Unavailable, error.message());
    read_size_ = size == data.size() ? kMostRead : kLeastRead;
    data.resize(size);
    data.shrink_to_fit();
    co_return data;
  }

  Task<bool> write(std::string data) override {
    if (closed_) co_return false;
    OneShot<bool> done(loop_);
    queue_.push_back({std::move(data), done});
    if (!writing_) pump(this->shared_from_this());
    co_return co_await done;
  }

  void close() override {
    if (std::exchange(closed_, true)) return;
    error_code ignored;
    auto& socket = stream_.lowest_layer();
    socket.shutdown(tcp::socket::shutdown_both, ignored);
    socket.close(ignored);
  }

 private:
  struct Item {
    std::string data;
    OneShot<bool> done;
  };

  static task_detail::Detached pump(std::shared_ptr<Connection> self) {
    self->writing_ = true;
    while (!self->queue_.empty()) {
      auto item = std::move(self->queue_.front());
      self->queue_.pop_front();
      if (self->closed_) {
        item.done.set(false);
        continue;
      }
      const auto [error, size] = co_await operation([&](auto handler) {
        asio::async_write(self->stream_, asio::buffer(item.data), std::move(handler));
      });
      if (error) self->close();
      item.done.set(!error);
    }
    self->writing_ = false;
  }

  AsioLoop& loop_;
  Stream stream_;
  static constexpr std::size_t kLeastRead = 1024;
  static constexpr std::size_t kMostRead = 16u << 10;
  std::size_t read_size_ = kLeastRead;
  std::deque<Item> queue_ = {};
  bool writing_ = false;
  bool closed_ = false;
};

using Plain = Connection<tcp::socket>;
using Secure = Connection<TlsSocket>;

class TcpAcceptor final : public Acceptor {
 public:
  TcpAcceptor(AsioLoop& loop, Serve serve)
      : loop_(loop), acceptor_(loop.context()), serve_(std::make_shared<Serve>(std::move(serve))) {}
  ~TcpAcceptor() override { stop(); }

  Result<void> open(const Options& options) {
    error_code error;
    auto what = fmt::format("listening on {}:{}", options.address, options.port);
    const auto address = asio::ip::make_address(options.address, error);
    if (error) return failed(ErrorCode::Invalid, fmt::format("{}: {}", what, error.message()));
    const tcp::endpoint endpoint(address, options.port);
    acceptor_.open(endpoint.protocol(), error);
    if (!error) acceptor_.set_option(tcp::acceptor::reuse_address(true), error);
    if (!error) acceptor_.bind(endpoint, error);
    if (!error) acceptor_.listen(asio::socket_base::max_listen_connections, error);
    if (error) return failed(ErrorCode::Unavailable, fmt::format("{}: {}", what, error.message()));
    port_ = acceptor_.local_endpoint(error).port();
    if (options.certificate_pem.empty()) return {};
    try {
      context_ = std::make_shared<asio::ssl::context>(asio::ssl::context::tls_server);
      context_->set_options(asio::ssl::context::default_workarounds | asio::ssl::context::no_sslv2 |
                            asio::ssl::context::no_sslv3);
      context_->use_certificate_chain(asio::buffer(options.certificate_pem));
      context_->use_private_key(asio::buffer(options.private_key_pem), asio::ssl::context::pem);
      // Sessions in memory per client are not worth it on loopback.
      SSL_CTX_set_session_cache_mode(context_->native_handle(), SSL_SESS_CACHE_OFF);
      SSL_CTX_set_mode(context_->native_handle(), SSL_MODE_RELEASE_BUFFERS);
    } catch (const std::exception& exception) {
      return failed(ErrorCode::Invalid,
                    fmt::format("the TLS certificate or key cannot be used: {}", exception.what()));
    }
    return {};
  }

  void accept() {
    acceptor_.async_accept(
        [this, alive = std::weak_ptr<Serve>(serve_)](const error_code& error, tcp::socket socket) {
          if (alive.expired() || error == asio::error::operation_aborted) return;
          if (!error) {
            error_code ignored;
            socket.set_option(tcp::no_delay(true), ignored);
            if (context_)
              handshake(loop_, context_, std::move(socket), serve_);
            else
              (*serve_)(std::make_shared<Plain>(loop_, std::move(socket)));
            accept();
            return;
          }
          // Out of file descriptors, most likely: the connection waits in the queue, and asking for
          // it at once again would fail as fast, over and over.
          loop_.after(std::chrono::milliseconds{100}, [this, alive] {
            if (!alive.expired()) accept();
          });
        });
  }

  std::uint16_t port() const override { return port_; }
  void stop() override {
    error_code ignored;
    acceptor_.close(ignored);
  }

 private:
  static task_detail::Detached handshake(AsioLoop& loop,
                                         std::shared_ptr<asio::ssl::context> context,
                                         tcp::socket socket, std::weak_ptr<Serve> serve) {
    auto connection =
        std::make_shared<Secure>(loop, TlsSocket(std::move(socket), context->native_handle()));
    // Who does not finish the handshake is not waited for.
    const auto timer =
        loop.after(std::chrono::seconds{10}, [weak = std::weak_ptr<Secure>(connection)] {
          if (auto live = weak.lock()) live->close();
        });
    const auto [error, size] = co_await operation(
        [&](auto handler) { connection->stream().async_handshake(std::move(handler)); });
    loop.cancel(timer);
    if (error) co_return;
    if (auto live = serve.lock()) (*live)(connection);
  }

  AsioLoop& loop_;
  tcp::acceptor acceptor_;
  std::shared_ptr<Serve> serve_;
  std::shared_ptr<asio::ssl::context> context_ = {};
  std::uint16_t port_ = 0;
};

}  // namespace

Result<std::unique_ptr<Acceptor>> Acceptor::listen(AsioLoop& loop, Options options, Serve serve) {
  auto acceptor = std::make_unique<TcpAcceptor>(loop, std::move(serve));
  if (auto ok = acceptor->open(options); !ok) return failed(ok.error());
  acceptor->accept();
  return acceptor;
}

Task<Result<ConnectionPtr>> connect_to(AsioLoop& loop, std::string host, std::uint16_t port) {
  error_code bad;
  const auto address = asio::ip::make_address(host, bad);
  if (bad) co_return failed(ErrorCode::Invalid, fmt::format("{} is no IP address", host));
  auto connection = std::make_shared<Plain>(loop, tcp::socket(loop.context()));
  const auto timer =
      loop.after(std::chrono::seconds{10}, [weak = std::weak_ptr<Plain>(connection)] {
        if (auto live = weak.lock()) live->close();
      });
  const auto [error, size] = co_await operation([&](auto handler) {
    connection->stream().async_connect(tcp::endpoint(address, port), std::move(handler));
  });
  loop.cancel(timer);
  if (error)
    co_return failed(ErrorCode::Unavailable,
                     fmt::format("dial tcp {}:{}: connect: {}", host, port, error.message()));
  co_return ConnectionPtr(connection);
}

}  // namespace manta::local
