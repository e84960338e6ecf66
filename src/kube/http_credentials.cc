#include "kube/http_credentials.h"

#include "base/hash.h"
#include "base/log.h"
#include "kube/kubeconfig_internal.h"

namespace manta::kube {
namespace {

constexpr auto kTokenFileAge = std::chrono::seconds{60};  // as client-go; kubelets rotate hourly
constexpr auto kPluginLimit = std::chrono::seconds{60};

}  // namespace

Credentials::Credentials(AsioLoop& loop, const ClientConfig& config,
                         std::function<void(std::string, std::string)> on_certificate)
    : loop_(loop), config_(config), on_certificate_(std::move(on_certificate)) {
  if (!config.token.empty())
    header_ = "Bearer " + config.token;
  else if (!config.username.empty())
    header_ = "Basic " + base64_encode(config.username + ":" + config.password);
}

Result<void> Credentials::read_token_file() {
  auto text = kubeconfig_detail::read_text_file(config_.token_file);
  if (text)
    while (!text->empty() && (text->back() == '\n' || text->back() == '\r' || text->back() == ' '))
      text->pop_back();
  if (!text || text->empty()) {
    if (!have_)
      return failed(ErrorCode::Unauthorized,
                    text ? config_.token_file + " is empty" : text.error().message);
    log::error("cannot read the token file again",
               {{"file", config_.token_file}});  // the old one may still do
  } else {
    header_ = "Bearer " + *text;
    have_ = true;
  }
  read_at_ = loop_.steady();
  return {};
}

Task<Result<void>> Credentials::run_plugin() {
  if (running_) {
    OneShot<Result<void>> done(loop_);
    waiting_.push_back(done);
    co_return co_await done;
  }
  running_ = true;
  auto credential =
      co_await run_exec_plugin(loop_, *config_.exec, config_.environment, kPluginLimit);
  running_ = false;
  Result<void> result = {};
  if (credential) {
    header_ = credential->token.empty() ? std::string() : "Bearer " + credential->token;
    expires_ = credential->expires;
    have_ = true;
    if (credential->client_cert_pem != last_certificate_) {
      last_certificate_ = credential->client_cert_pem;
      on_certificate_(std::move(credential->client_cert_pem),
                      std::move(credential->client_key_pem));
    }
  } else {
    result = failed(std::move(credential.error()));
  }
  for (auto& waiter : std::exchange(waiting_, {})) waiter.set(result);
  co_return result;
}

Task<Result<std::string>> Credentials::authorization() {
  Result<void> ready = {};
  if (config_.exec) {
    if (!have_ || (expires_ && *expires_ <= loop_.now())) ready = co_await run_plugin();
  } else if (!config_.token_file.empty()) {
    if (!have_ || loop_.steady() - read_at_ >= kTokenFileAge) ready = read_token_file();
  }
  if (!ready) co_return failed(std::move(ready.error()));
  co_return header_;
}

Task<bool> Credentials::renew(std::string used) {
  if (header_ != used) co_return true;  // another request has renewed it meanwhile
  const auto certificate = last_certificate_;
  if (config_.exec)
    (void)co_await run_plugin();
  else if (!config_.token_file.empty())
    (void)read_token_file();
  co_return header_ != used || last_certificate_ != certificate;
}

}  // namespace manta::kube
