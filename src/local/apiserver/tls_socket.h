// The server's side of TLS on a socket, with no buffers of its own: OpenSSL reads and writes the
// socket itself, and lets go of its records' memory while nothing is on the way
// (SSL_MODE_RELEASE_BUFFERS). Asio's stream keeps 68 KiB for each connection, which a thousand idle
// watches make 68 MiB.
//
// A stream to Asio's composed operations. One read and one write may be on the way at a time; the
// owner keeps the socket alive until both have ended.
#pragma once

#include <boost/asio/buffer.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <openssl/err.h>
#include <openssl/ssl.h>

#include <memory>
#include <utility>

namespace manta::local {

class TlsSocket {
 public:
  using executor_type = boost::asio::ip::tcp::socket::executor_type;
  using lowest_layer_type = boost::asio::ip::tcp::socket::lowest_layer_type;
  using Error = boost::system::error_code;

  TlsSocket(boost::asio::ip::tcp::socket socket, SSL_CTX* context)
      : socket_(std::move(socket)), ssl_(SSL_new(context), SSL_free) {
    Error ignored;
    socket_.non_blocking(true, ignored);
    SSL_set_fd(ssl_.get(), static_cast<int>(socket_.native_handle()));
    SSL_set_mode(ssl_.get(), SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    SSL_set_accept_state(ssl_.get());
  }

  executor_type get_executor() { return socket_.get_executor(); }
  lowest_layer_type& lowest_layer() { return socket_.lowest_layer(); }

  template <class Handler>
  void async_handshake(Handler handler) {
    step([](SSL* ssl) { return SSL_do_handshake(ssl); }, std::move(handler));
  }
  template <class Handler>
  void async_read_some(boost::asio::mutable_buffer into, Handler handler) {
    step([into](SSL* ssl) { return SSL_read(ssl, into.data(), length(into)); }, std::move(handler));
  }
  template <class Buffers, class Handler>
  void async_write_some(const Buffers& buffers, Handler handler) {
    const boost::asio::const_buffer from = *boost::asio::buffer_sequence_begin(buffers);
    step([from](SSL* ssl) { return SSL_write(ssl, from.data(), length(from)); },
         std::move(handler));
  }

 private:
  template <class Buffer>
  static int length(const Buffer& buffer) {
    return static_cast<int>(std::min<std::size_t>(buffer.size(), 1 << 20));
  }

  /// Tries until it is done, waiting for the socket in between.
  template <class Try, class Handler>
  void step(Try attempt, Handler handler) {
    ERR_clear_error();
    const int done = attempt(ssl_.get());
    const int why = done > 0 ? SSL_ERROR_NONE : SSL_get_error(ssl_.get(), done);
    if (why == SSL_ERROR_WANT_READ || why == SSL_ERROR_WANT_WRITE) {
      using Wait = boost::asio::ip::tcp::socket;
      socket_.async_wait(why == SSL_ERROR_WANT_READ ? Wait::wait_read : Wait::wait_write,
                         [this, attempt, handler = std::move(handler)](const Error& error) mutable {
                           if (error)
                             handler(error, 0);
                           else
                             step(attempt, std::move(handler));
                         });
      return;
    }
    Error error;
    if (why == SSL_ERROR_ZERO_RETURN) error = boost::asio::error::eof;
    if (why != SSL_ERROR_NONE && !error) error = boost::asio::error::connection_reset;
    // Never from within the call: a loop of small writes would be a recursion.
    boost::asio::post(socket_.get_executor(),
                      [error, done, handler = std::move(handler)]() mutable {
                        handler(error, error ? 0 : static_cast<std::size_t>(done));
                      });
  }

  boost::asio::ip::tcp::socket socket_;
  std::unique_ptr<SSL, decltype(&SSL_free)> ssl_;
};

}  // namespace manta::local
