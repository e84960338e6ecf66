#include "kube/http_api.h"

#include "base/excerpt.h"
#include "base/log.h"
#include "kube/http_api_limiter.h"
#include "kube/http_api_path.h"
#include "kube/http_api_watch.h"
#include "kube/http_client.h"
#include "kube/http_credentials.h"
#include "kube/http_transport.h"
#include "kube/http_url.h"

#include <fmt/format.h>

#include <charconv>

namespace manta::kube {
namespace {

constexpr auto kWatchHead = std::chrono::seconds{30};   // until the server answers a watch at all
constexpr auto kWatchGrace = std::chrono::seconds{30};  // past the end that it was asked for
// The server that is away is asked often enough that its return is not missed for long.
constexpr auto kLongestReconnect = std::chrono::seconds{2};
constexpr Duration kShortest = std::chrono::milliseconds{1};  // 0 would be no limit
constexpr int kRetries = 10;                                  // as client-go

TlsOptions tls_options(const ClientConfig& config) {
  return {.ca_pem = config.ca_pem,
          .client_cert_pem = config.client_cert_pem,
          .client_key_pem = config.client_key_pem,
          .server_name = config.tls_server_name,
          .skip_verify = config.insecure_skip_tls_verify};
}

HttpClientOptions client_options(const ClientConfig& config) {
  HttpClientOptions options{.tls = tls_options(config),
                            .proxy = proxies_from(config.environment),
                            .max_backoff = kLongestReconnect};
  if (!config.proxy_url.empty())
    options.proxy = {.https = config.proxy_url, .http = config.proxy_url, .even_loopback = true};
  return options;
}

std::optional<std::chrono::milliseconds> retry_after_of(const HttpResponse& response) {
  const auto text = response.header("retry-after");
  std::int64_t seconds = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), seconds);
  if (text.empty() || read.ec != std::errc{} || read.ptr != text.data() + text.size() ||
      seconds < 0)
    return std::nullopt;
  return std::chrono::seconds(std::min<std::int64_t>(seconds, 86'400));
}

Error error_of(const HttpResponse& response) {
  constexpr std::size_t kLongestBody = 256;
  const auto status = parse_json(response.body);
  Error error = error_from_status(
      response.status, status && string_at(*status, {"kind"}) == "Status" ? *status : Json());
  const bool is_status = status && string_at(*status, {"kind"}) == "Status";
  // Proxies and filters answer with plain text; some of it tells the user what is wrong.
  if (!is_status && !response.body.empty())
    error.message += ": " + excerpt(response.body, kLongestBody);
  if (const auto after = retry_after_of(response)) error.retry_after = after;
  return error;
}

/// How long to wait before the same request is sent again; nothing: its answer stands.
std::optional<Duration> retry_pause(std::string_view method, const Result<HttpResponse>& response) {
  if (!response) return std::nullopt;
  const bool read = method == "GET" || method == "HEAD";
  if (response->status != 429 && !(read && response->status >= 500)) return std::nullopt;
  const auto after = retry_after_of(*response);
  return after ? std::optional<Duration>(*after) : std::nullopt;
}

class HttpApi final : public Api {
 public:
  HttpApi(AsioLoop& loop, HttpApiOptions options)
      : loop_(loop),
        options_(std::move(options)),
        client_(loop, client_options_with(options_)),
        credentials_(loop, options_.config,
                     [this](std::string cert, std::string key) {
                       use_certificate(std::move(cert), std::move(key));
                     }),
        limiter_(loop, options_.qps, options_.burst),
        base_(options_.config.server) {
    while (base_.ends_with('/')) base_.pop_back();
  }

  Task<Result<Response>> call(Request request) override;
  Task<Result<void>> watch(WatchRequest request, WatchSink sink, std::stop_token stop) override;
  Task<Result<RawResponse>> raw(RawRequest request) override;

 private:
  enum class Retry { No, WhenTold };
  /// Adds what every request has, and tries once more with new credentials on 401.
  Task<Result<HttpResponse>> send(HttpRequest request, Retry retry, HttpClient::BodySink sink = {});
  Task<Result<HttpResponse>> send_once(HttpRequest request, const HttpClient::BodySink& sink);
  Task<bool> wait_for_place(Resource resource, std::string method, std::stop_token stop);

  void use_certificate(std::string cert, std::string key) {
    auto tls = tls_options(options_.config);
    tls.client_cert_pem = std::move(cert);
    tls.client_key_pem = std::move(key);
    client_.set_tls(std::move(tls));
  }

  static HttpClientOptions client_options_with(const HttpApiOptions& options) {
    auto out = client_options(options.config);
    if (auto* observer = options.observer)
      out.on_resolved = [observer](Duration took) { observer->resolved(took); };
    return out;
  }

  AsioLoop& loop_;
  HttpApiOptions options_;
  HttpClient client_;
  Credentials credentials_;
  RateLimiter limiter_;
  std::string base_;
};

Task<bool> HttpApi::wait_for_place(Resource resource, std::string method, std::stop_token stop) {
  const Steady asked = loop_.steady();
  const bool go_on = co_await limiter_.wait(std::move(resource), std::move(stop));
  if (options_.observer) options_.observer->waited(method, loop_.steady() - asked);
  co_return go_on;
}

Task<Result<HttpResponse>> HttpApi::send_once(HttpRequest request,
                                              const HttpClient::BodySink& sink) {
  const Steady began = loop_.steady();
  HttpObserver::Exchange exchange{.request_bytes = request.body.size(), .is_watch = bool(sink)};
  const std::string method = request.method;
  Result<HttpResponse> response = failed(ErrorCode::Internal, "");
  if (sink)
    response = co_await client_.stream(std::move(request), sink, kWatchHead);
  else
    response = co_await client_.request(std::move(request));
  if (options_.observer) {
    exchange.method = method;
    exchange.status = response ? response->status : 0;
    exchange.took = loop_.steady() - began;
    exchange.response_bytes = response ? response->body.size() : 0;
    options_.observer->exchanged(exchange);
  }
  co_return response;
}

Task<Result<HttpResponse>> HttpApi::send(HttpRequest request, Retry retry,
                                         HttpClient::BodySink sink) {
  const auto& config = options_.config;
  request.url = base_ + request.url;
  request.headers.emplace_back("User-Agent", options_.user_agent);
  if (!config.impersonate_user.empty())
    request.headers.emplace_back("Impersonate-User", config.impersonate_user);
  if (!config.impersonate_uid.empty())
    request.headers.emplace_back("Impersonate-Uid", config.impersonate_uid);
  for (const auto& group : config.impersonate_groups)
    request.headers.emplace_back("Impersonate-Group", group);
  const Steady end = loop_.steady() + request.timeout;
  bool renewed = false;
  int retries = retry == Retry::WhenTold ? kRetries : 0;
  while (true) {
    auto authorization = co_await credentials_.authorization();
    if (!authorization) co_return failed(std::move(authorization.error()));
    auto copy = request;
    if (request.timeout > Duration{0})
      copy.timeout = std::max<Duration>(end - loop_.steady(), kShortest);
    if (!authorization->empty()) copy.headers.emplace_back("Authorization", *authorization);
    auto response = co_await send_once(std::move(copy), sink);
    if (response && response->status == 401 && !std::exchange(renewed, true)) {
      if (co_await credentials_.renew(*authorization)) continue;
      co_return response;
    }
    const auto pause = retry_pause(request.method, response);
    const bool in_time = pause && (request.timeout <= Duration{0} || loop_.steady() + *pause < end);
    if (!in_time || --retries < 0) co_return response;
    if (options_.observer) options_.observer->retried(request.method, response->status);
    if (!co_await sleep(loop_, *pause, request.stop)) co_return response;
  }
}

Task<Result<Response>> HttpApi::call(Request request) {
  if (!co_await wait_for_place(request.resource, method_of(request.verb), {}))
    co_return failed(ErrorCode::Cancelled, "stopped");
  const auto target = target_of(request);
  auto payload = payload_of(request);
  HttpRequest http{.method = method_of(request.verb),
                   .url = target,
                   .headers = {{"Accept", "application/json"}},
                   .body = std::move(payload.text),
                   .timeout = request.timeout,
                   .max_bytes = options_.max_response_bytes};
  if (!payload.content_type.empty())
    http.headers.emplace_back("Content-Type", payload.content_type);
  const auto what = fmt::format("{} {}", http.method, target.substr(0, target.find('?')));
  request.body = nullptr;
  auto response = co_await send(std::move(http), Retry::WhenTold);
  if (!response) co_return failed(response.error().in(what));
  if (response->status < 200 || response->status >= 300) co_return failed(error_of(*response));
  auto body = parse_json(response->body);
  if (!body)
    co_return failed(ErrorCode::Internal, fmt::format("{}: the server's answer cannot be read: {}",
                                                      what, body.error().message));
  Response out{.body = std::move(*body)};
  for (const auto& [name, value] : response->headers)
    if (name == "warning") out.warnings.push_back(warning_text(value));
  co_return out;
}

Task<Result<void>> HttpApi::watch(WatchRequest request, WatchSink sink, std::stop_token stop) {
  if (!co_await wait_for_place(request.resource, "GET", stop)) co_return Result<void>{};
  const auto target = target_of(request);
  const auto decoder =
      std::make_shared<WatchDecoder>(std::move(sink), options_.max_watch_event_bytes);
  auto response = co_await send(HttpRequest{.url = target,
                                            .headers = {{"Accept", "application/json"}},
                                            .timeout = request.timeout + kWatchGrace,
                                            .max_bytes = 1 << 20,
                                            .stop = stop},
                                Retry::WhenTold,
                                [decoder](std::string_view bytes) { return decoder->feed(bytes); });
  if (stop.stop_requested()) co_return Result<void>{};
  if (!response)
    co_return failed(response.error().http_status != 0
                         ? response.error()  // an ERROR event: the server's own words
                         : response.error().in("watch " + target.substr(0, target.find('?'))));
  if (response->status < 200 || response->status >= 300) co_return failed(error_of(*response));
  co_return Result<void>{};
}

Task<Result<RawResponse>> HttpApi::raw(RawRequest request) {
  if (!request.path.starts_with('/'))
    co_return failed(ErrorCode::BadRequest,
                     fmt::format("path {:?} must begin with /", request.path));
  HttpRequest http{.method = request.method,
                   .url = request.path,
                   .body = std::move(request.body),
                   .timeout = request.timeout,
                   .max_bytes = request.max_bytes};
  for (auto& [name, value] : request.headers) http.headers.emplace_back(name, value);
  const auto what =
      fmt::format("{} {}", request.method, request.path.substr(0, request.path.find('?')));
  auto response = co_await send(std::move(http), Retry::No);  // the answer may be another server's
  if (!response) co_return failed(response.error().in(what));
  RawResponse out{.status = response->status, .body = std::move(response->body)};
  for (auto& [name, value] : response->headers) {
    auto& merged = out.headers[name];
    merged += merged.empty() ? value : ", " + value;
  }
  co_return out;
}

}  // namespace

Result<std::unique_ptr<Api>> make_http_api(AsioLoop& loop, HttpApiOptions options) {
  const auto& config = options.config;
  const auto where = config.source.empty() ? std::string("client configuration") : config.source;
  const auto url = parse_url(config.server);
  if (!url) return failed(url.error().in(where));
  if (url->is_tls())  // tell now about certificates that cannot be read; made again when it
                      // connects
    if (auto tls = http::TlsContext::make(tls_options(config)); !tls)
      return failed(tls.error().in(where));
  return std::unique_ptr<Api>(std::make_unique<HttpApi>(loop, std::move(options)));
}

}  // namespace manta::kube
