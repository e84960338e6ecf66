#include "local/apiserver/http_server.h"

#include "base/async.h"
#include "fmt/format.h"
#include "local/apiserver/http_session.h"

#include <malloc.h>
#include <openssl/bn.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <vector>

namespace manta::local {

/// kubectl's single calls are not worth a walk over the heap; a hundred watches are.
constexpr int kTrimAfter = 100;

struct HttpServer::Impl : std::enable_shared_from_this<HttpServer::Impl> {
  Impl(AsioLoop& l, ApiServer& api, HttpServerOptions given)
      : loop(l),
        options(std::move(given)),
        context(std::make_shared<SessionContext>(l, api, options.token)) {}

  void serve(ConnectionPtr connection) {
    std::erase_if(connections, [](const auto& weak) { return weak.expired(); });
    connections.push_back(connection);
    run(shared_from_this(), std::move(connection));
  }
  static task_detail::Detached run(std::shared_ptr<Impl> self, ConnectionPtr connection) {
    co_await serve_http(self->context, std::move(connection));
    if (++self->ended < kTrimAfter) co_return;
    // A wave of clients has gone; on a later turn, when this one's memory is free as well.
    self->ended = 0;
    self->loop.post([] { malloc_trim(0); });
  }

  AsioLoop& loop;
  HttpServerOptions options;
  std::shared_ptr<const SessionContext> context;
  std::unique_ptr<Acceptor> acceptor = {};
  std::vector<std::weak_ptr<ServerConnection>> connections = {};
  int ended = 0;  // connections since memory was last given back
};

HttpServer::HttpServer(AsioLoop& loop, ApiServer& api, HttpServerOptions options)
    : impl_(std::make_shared<Impl>(loop, api, std::move(options))) {}
HttpServer::~HttpServer() { stop(); }

Result<void> HttpServer::start() {
  auto listening =
      Acceptor::listen(impl_->loop,
                       {impl_->options.address, impl_->options.port, impl_->options.certificate_pem,
                        impl_->options.private_key_pem},
                       [weak = std::weak_ptr(impl_)](ConnectionPtr connection) {
                         if (auto live = weak.lock()) live->serve(std::move(connection));
                       });
  if (!listening) return failed(listening.error());
  impl_->acceptor = std::move(*listening);
  return {};
}

void HttpServer::stop() {
  impl_->acceptor.reset();
  for (const auto& weak : impl_->connections)
    if (auto live = weak.lock()) live->close();
  impl_->connections.clear();
}

std::uint16_t HttpServer::port() const { return impl_->acceptor ? impl_->acceptor->port() : 0; }

namespace {

template <auto Free>
struct Deleter {
  template <class T>
  void operator()(T* pointer) const {
    Free(pointer);
  }
};
using KeyPtr = std::unique_ptr<EVP_PKEY, Deleter<EVP_PKEY_free>>;
using CertPtr = std::unique_ptr<X509, Deleter<X509_free>>;
using BioPtr = std::unique_ptr<BIO, Deleter<BIO_free_all>>;

std::string text_of(BIO* bio) {
  char* data = nullptr;
  const auto size = BIO_get_mem_data(bio, &data);
  return std::string(data, static_cast<std::size_t>(size));
}

bool add_extension(X509* certificate, int id, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, certificate, certificate, nullptr, nullptr, 0);
  auto* extension = X509V3_EXT_conf_nid(nullptr, &context, id, value.c_str());
  if (!extension) return false;
  const bool added = X509_add_ext(certificate, extension, -1) == 1;
  X509_EXTENSION_free(extension);
  return added;
}

}  // namespace

Result<SelfSignedCertificate> make_self_signed_certificate(const std::vector<std::string>& names,
                                                           Time now, Random& random) {
  auto problem = [](std::string_view what) {
    return failed(ErrorCode::Internal, fmt::format("making a TLS certificate: {} failed", what));
  };
  KeyPtr key(EVP_EC_gen("P-256"));
  CertPtr certificate(X509_new());
  if (!key || !certificate) return problem("making a key");
  X509_set_version(certificate.get(), 2);
  ASN1_INTEGER_set_uint64(X509_get_serialNumber(certificate.get()), random.next() >> 1);
  const auto seconds =
      static_cast<time_t>(std::chrono::floor<std::chrono::seconds>(now).time_since_epoch().count());
  ASN1_TIME_set(X509_getm_notBefore(certificate.get()), seconds - 3600);
  ASN1_TIME_set(X509_getm_notAfter(certificate.get()), seconds + 3650LL * 86'400);
  X509_set_pubkey(certificate.get(), key.get());
  auto* subject = X509_get_subject_name(certificate.get());
  X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC,
                             reinterpret_cast<const unsigned char*>("manta"), -1, -1, 0);
  X509_set_issuer_name(certificate.get(), subject);
  std::string alternatives =
      "IP:127.0.0.1,DNS:localhost,DNS:kubernetes,DNS:kubernetes.default,DNS:"
      "kubernetes.default.svc";
  for (const auto& name : names) {
    const bool ip =
        name.find_first_not_of("0123456789.") == name.npos || name.find(':') != name.npos;
    alternatives += fmt::format(",{}:{}", ip ? "IP" : "DNS", name);
  }
  if (!add_extension(certificate.get(), NID_basic_constraints, "critical,CA:TRUE") ||
      !add_extension(certificate.get(), NID_subject_alt_name, alternatives))
    return problem("adding names");
  if (!X509_sign(certificate.get(), key.get(), EVP_sha256())) return problem("signing");
  BioPtr certificate_text(BIO_new(BIO_s_mem())), key_text(BIO_new(BIO_s_mem()));
  if (!PEM_write_bio_X509(certificate_text.get(), certificate.get()) ||
      !PEM_write_bio_PrivateKey(key_text.get(), key.get(), nullptr, nullptr, 0, nullptr, nullptr))
    return problem("writing");
  return SelfSignedCertificate{text_of(certificate_text.get()), text_of(key_text.get())};
}

Result<void> check_certificate(const std::string& certificate_pem,
                               const std::string& private_key_pem) {
  auto memory = [](const std::string& text) {
    return BioPtr(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
  };
  const CertPtr certificate(
      PEM_read_bio_X509(memory(certificate_pem).get(), nullptr, nullptr, nullptr));
  if (!certificate) return failed(ErrorCode::Invalid, "the certificate cannot be read");
  const KeyPtr key(
      PEM_read_bio_PrivateKey(memory(private_key_pem).get(), nullptr, nullptr, nullptr));
  if (!key) return failed(ErrorCode::Invalid, "the key cannot be read");
  if (X509_check_private_key(certificate.get(), key.get()) != 1)
    return failed(ErrorCode::Invalid, "they do not belong together");
  return {};
}

}  // namespace manta::local
