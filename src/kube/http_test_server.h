// A small HTTP/1.1 server on loopback for tests: blocking threads, maybe TLS. Only tests include
// it.
#pragma once

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace manta::kube {

/// A self-signed certificate and its key.
struct TestCertificate {
  std::string cert_pem, key_pem;

  static TestCertificate make(const std::string& alternative_name) {
    EVP_PKEY* key = EVP_EC_gen("P-256");
    X509* cert = X509_new();
    X509_set_version(cert, 2);
    ASN1_INTEGER_set(X509_get_serialNumber(cert), 1);
    X509_gmtime_adj(X509_getm_notBefore(cert), -3600);
    X509_gmtime_adj(X509_getm_notAfter(cert), 3600);
    X509_set_pubkey(cert, key);
    X509_NAME* name = X509_get_subject_name(cert);
    X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC,
                               reinterpret_cast<const unsigned char*>("test"), -1, -1, 0);
    X509_set_issuer_name(cert, name);
    X509_EXTENSION* extension =
        X509V3_EXT_conf_nid(nullptr, nullptr, NID_subject_alt_name, alternative_name.c_str());
    X509_add_ext(cert, extension, -1);
    X509_EXTENSION_free(extension);
    X509_sign(cert, key, EVP_sha256());
    const auto pem = [](auto write) {
      BIO* out = BIO_new(BIO_s_mem());
      write(out);
      char* data = nullptr;
      const auto size = BIO_get_mem_data(out, &data);
      std::string text(data, static_cast<std::size_t>(size));
      BIO_free(out);
      return text;
    };
    TestCertificate made{pem([&](BIO* out) { PEM_write_bio_X509(out, cert); }), pem([&](BIO* out) {
                           PEM_write_bio_PrivateKey(out, key, nullptr, nullptr, 0, nullptr,
                                                    nullptr);
                         })};
    X509_free(cert);
    EVP_PKEY_free(key);
    return made;
  }
};

class TestServer {
 public:
  struct Reply {
    std::string bytes = {};
    bool close = false;
    std::string endless = {};  // sent after `bytes` again and again, until nobody listens
    std::chrono::milliseconds apart{0};
  };
  /// Gets the whole request; called by one connection at a time.
  using Handler = std::function<Reply(const std::string& request)>;

  static std::string ok(const std::string& body, const std::string& headers = "",
                        int status = 200) {
    return "HTTP/1.1 " + std::to_string(status) + " X\r\n" + headers +
           "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
  }

  explicit TestServer(Handler handler, SSL_CTX* tls = nullptr)
      : handler_(std::move(handler)), tls_(tls) {
    listener_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(bind(listener_, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    EXPECT_EQ(listen(listener_, 64), 0);
    socklen_t size = sizeof address;
    getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size);
    port_ = ntohs(address.sin_port);
    accepting_ = std::thread([this] { accept_all(); });
  }
  ~TestServer() {
    shutdown(listener_, SHUT_RDWR);
    accepting_.join();
    close(listener_);
    {
      const std::lock_guard lock(mutex_);
      for (const int fd : open_) shutdown(fd, SHUT_RDWR);
    }
    for (auto& thread : serving_) thread.join();
  }

  std::string url(const std::string& path = "/") const {
    return (tls_ ? "https" : "http") + std::string("://127.0.0.1:") + std::to_string(port_) + path;
  }
  std::string host_port() const { return "127.0.0.1:" + std::to_string(port_); }
  int connections() const { return connections_; }
  /// Bytes that the kernel took; what a client reads is less.
  std::uint64_t sent() const { return sent_; }

 private:
  void accept_all() {
    for (int fd; (fd = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC)) >= 0;) {
      ++connections_;
      const std::lock_guard lock(mutex_);
      open_.push_back(fd);
      serving_.emplace_back([this, fd] { serve(fd); });
    }
  }

  bool put(SSL* ssl, int fd, std::string_view bytes) {
    while (!bytes.empty()) {
      const auto part = ssl ? SSL_write(ssl, bytes.data(), static_cast<int>(bytes.size()))
                            : static_cast<int>(send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL));
      if (part <= 0) return false;
      bytes.remove_prefix(static_cast<std::size_t>(part));
      sent_ += static_cast<std::uint64_t>(part);
    }
    return true;
  }

  void serve(int fd) {
    SSL* ssl = nullptr;
    bool alive = true;
    if (tls_) {
      ssl = SSL_new(tls_);
      SSL_set_fd(ssl, fd);
      alive = SSL_accept(ssl) == 1;
    }
    std::string buffer;
    while (alive) {
      const auto end = buffer.find("\r\n\r\n");
      const auto length = buffer.find("Content-Length: ");
      std::size_t want = end == std::string::npos ? std::string::npos : end + 4;
      if (end != std::string::npos && length < end) want += std::stoul(buffer.substr(length + 16));
      if (buffer.size() < want) {
        char piece[65536];
        const auto got = ssl ? SSL_read(ssl, piece, sizeof piece)
                             : static_cast<int>(read(fd, piece, sizeof piece));
        if (got <= 0) break;
        buffer.append(piece, static_cast<std::size_t>(got));
        continue;
      }
      Reply reply;
      {
        const std::lock_guard lock(handling_);
        reply = handler_(buffer.substr(0, want));
      }
      buffer.erase(0, want);
      put(ssl, fd, reply.bytes);
      while (!reply.endless.empty() && put(ssl, fd, reply.endless))
        std::this_thread::sleep_for(reply.apart);
      alive = !reply.close;
    }
    if (ssl) SSL_free(ssl);
    const std::lock_guard lock(mutex_);
    std::erase(open_, fd);
    shutdown(fd, SHUT_RDWR);
    close(fd);
  }

  Handler handler_;
  SSL_CTX* tls_;
  int listener_ = -1;
  int port_ = 0;
  std::atomic<int> connections_ = 0;
  std::atomic<std::uint64_t> sent_ = 0;
  std::mutex mutex_ = {}, handling_ = {};
  std::vector<int> open_ = {};
  std::vector<std::thread> serving_ = {};
  std::thread accepting_ = {};
};

}  // namespace manta::kube
