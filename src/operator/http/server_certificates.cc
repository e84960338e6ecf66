#include "operator/http/server_certificates.h"

#include "base/log.h"

#include <boost/asio/ssl/context.hpp>
#include <fmt/format.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <sys/stat.h>

namespace manta::operator_ {
namespace {

constexpr unsigned char kProtocol[] = "\x08http/1.1";

int choose_protocol(SSL*, const unsigned char** out, unsigned char* size,
                    const unsigned char* offered, unsigned int offered_size, void*) {
  unsigned char* chosen = nullptr;
  if (SSL_select_next_proto(&chosen, size, kProtocol, sizeof kProtocol - 1, offered,
                            offered_size) != OPENSSL_NPN_NEGOTIATED)
    return SSL_TLSEXT_ERR_NOACK;
  *out = chosen;
  return SSL_TLSEXT_ERR_OK;
}

}  // namespace

Result<std::shared_ptr<ServerCertificates>> ServerCertificates::load(std::string certificate_file,
                                                                     std::string key_file) {
  std::shared_ptr<ServerCertificates> made(
      new ServerCertificates(std::move(certificate_file), std::move(key_file)));
  if (auto ok = made->read(); !ok) return failed(ok.error());
  return made;
}

// stat() follows the links through which a kubelet swaps a Secret's files all at once.
std::string ServerCertificates::stamp() const {
  std::string text;
  for (const auto& file : {certificate_file_, key_file_}) {
    struct stat info{};
    if (::stat(file.c_str(), &info) != 0)
      text += "none;";
    else
      text += fmt::format("{}/{}/{}/{}.{};", info.st_dev, info.st_ino, info.st_size,
                          info.st_mtim.tv_sec, info.st_mtim.tv_nsec);
  }
  return text;
}

Result<void> ServerCertificates::read() {
  namespace ssl = boost::asio::ssl;
  stamp_ = stamp();
  ++reads_;
  auto context = std::make_shared<ssl::context>(ssl::context::tls_server);
  SSL_CTX* native = context->native_handle();
  SSL_CTX_set_min_proto_version(native, TLS1_2_VERSION);
  SSL_CTX_set_mode(native, SSL_MODE_RELEASE_BUFFERS);
  SSL_CTX_set_alpn_select_cb(native, choose_protocol, nullptr);
  boost::system::error_code bad;
  std::string what = certificate_file_;
  context->use_certificate_chain_file(certificate_file_, bad);
  if (!bad) {
    what = key_file_;
    context->use_private_key_file(key_file_, ssl::context::pem, bad);
  }
  ERR_clear_error();
  if (bad) {
    ++read_errors_;
    return failed(ErrorCode::Invalid, fmt::format("cannot use {} of the pair {} and {}: {}", what,
                                                  certificate_file_, key_file_, bad.message()));
  }
  context_ = std::move(context);
  return {};
}

std::shared_ptr<boost::asio::ssl::context> ServerCertificates::current() {
  if (stamp() != stamp_) {
    if (auto ok = read(); ok)
      log::info("Updated current TLS certificate",
                {{"logger", "controller-runtime.certwatcher"}, {"file", certificate_file_}});
    else
      log::error("error re-reading certificate",
                 {{"logger", "controller-runtime.certwatcher"}, {"error", ok.error().message}});
  }
  return context_;
}

}  // namespace manta::operator_
