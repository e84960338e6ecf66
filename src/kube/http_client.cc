#include "kube/http_client.h"

#include "base/async.h"
#include "base/hash.h"
#include "kube/http1_connection.h"
#include "kube/http2_connection.h"
#include "kube/http_connection.h"
#include "kube/http_transport.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <unordered_map>

namespace manta::kube {

using http::Connection;
using http::Exchange;

std::string_view HttpResponse::header(std::string_view name) const {
  for (const auto& [key, value] : headers)
    if (key == name) return value;
  return {};
}

ProxyOptions proxies_from(const std::map<std::string, std::string, std::less<>>& environment) {
  const auto get = [&](const char* upper, const char* lower) {
    for (const auto* name : {upper, lower})
      if (const auto found = environment.find(name);
          found != environment.end() && !found->second.empty())
        return found->second;
    return std::string();
  };
  ProxyOptions proxy{.https = get("HTTPS_PROXY", "https_proxy"),
                     .no_proxy = get("NO_PROXY", "no_proxy")};
  // In a CGI program HTTP_PROXY comes from a request's header. Source: Go's httpproxy.
  if (!environment.contains("REQUEST_METHOD")) proxy.http = get("HTTP_PROXY", "http_proxy");
  return proxy;
}

namespace {

bool is_idempotent(std::string_view method) { return method == "GET" || method == "HEAD"; }

/// The proxy for a URL, if any.
Result<std::optional<Url>> proxy_for(const ProxyOptions& proxy, const Url& url) {
  auto text = url.is_tls() ? proxy.https : proxy.http;
  if (text.empty()) return std::optional<Url>();
  if (!proxy.even_loopback && (is_loopback(url.host) || is_without_proxy(proxy.no_proxy, url)))
    return std::optional<Url>();
  if (text.find("://") == std::string::npos) text = "http://" + text;
  auto parsed = parse_url(text);
  if (!parsed)
    return failed(ErrorCode::BadRequest,
                  "the proxy's URL must be http://[user:password@]host:port");
  if (parsed->is_tls())
    return failed(ErrorCode::BadRequest,
                  fmt::format("proxy {}: only http:// proxies are supported", parsed->origin()));
  return std::optional<Url>(std::move(*parsed));
}

/// Connections to one origin and the exchanges that wait for one.
struct Pool {
  std::vector<std::shared_ptr<Connection>> connections = {};
  std::deque<std::shared_ptr<Exchange>> waiting = {};
  std::size_t connecting = 0;
  bool http1 = false;  // what the last connection spoke
  int failures = 0;
  bool backing_off = false;
};

}  // namespace

struct HttpClient::Impl : std::enable_shared_from_this<HttpClient::Impl> {
  Impl(AsioLoop& l, HttpClientOptions o) : loop(l), options(std::move(o)) {}

  AsioLoop& loop;
  HttpClientOptions options;
  std::shared_ptr<http::TlsContext> tls = {};
  std::unordered_map<std::string, std::unique_ptr<Pool>> pools = {};
  bool closed = false;

  Task<Result<HttpResponse>> run(HttpRequest request, BodySink sink, Duration head_timeout);
  Result<void> enqueue(const std::shared_ptr<Exchange>& exchange);
  void pump(const std::string& origin);
  bool wants_connection(const Pool& pool) const;
  task_detail::Detached connect(std::string origin, Url url);
  void connected(const std::string& origin, Pool& pool, http::Transport::Ready ready);
  void connect_failed(const std::string& origin, Pool& pool, const Error& error);
  Result<http::Transport::Target> target_of(const Url& url);
  http::OnChange on_change(const std::string& origin);
};

Result<http::Transport::Target> HttpClient::Impl::target_of(const Url& url) {
  http::Transport::Target target{
      .url = url, .timeout = options.connect_timeout, .on_resolved = options.on_resolved};
  auto proxy = proxy_for(options.proxy, url);
  if (!proxy) return failed(std::move(proxy.error()));
  target.proxy = std::move(*proxy);
  if (url.is_tls()) {
    if (!tls) {
      auto made = http::TlsContext::make(options.tls);
      if (!made) return failed(std::move(made.error()));
      tls = std::move(*made);
    }
    target.tls = tls;
  }
  return target;
}

Result<void> HttpClient::Impl::enqueue(const std::shared_ptr<Exchange>& exchange) {
  if (closed) return failed(ErrorCode::Cancelled, "the HTTP client is closed");
  auto proxy = proxy_for(options.proxy, exchange->url);
  if (!proxy) return failed(std::move(proxy.error()));
  exchange->target = exchange->url.target;
  if (*proxy && !exchange->url.is_tls()) {
    exchange->target = exchange->url.origin() + exchange->url.target;
    if (!(*proxy)->userinfo.empty())
      exchange->proxy_authorization = "Basic " + base64_encode((*proxy)->userinfo);
  }
  const auto origin = exchange->url.origin();
  auto& pool = pools[origin];
  if (!pool) pool = std::make_unique<Pool>();
  exchange->detach = [p = pool.get(), e = exchange.get()] {
    std::erase_if(p->waiting, [e](const auto& waiting) { return waiting.get() == e; });
  };
  pool->waiting.push_back(exchange);
  pump(origin);
  return {};
}

http::OnChange HttpClient::Impl::on_change(const std::string& origin) {
  // Posted: a connection tells us from within its own functions.
  return [weak = weak_from_this(), l = &loop, origin] {
    if (weak.expired()) return;
    l->post([weak, origin] {
      if (const auto self = weak.lock()) self->pump(origin);
    });
  };
}

bool HttpClient::Impl::wants_connection(const Pool& pool) const {
  const auto open = pool.connections.size() + pool.connecting;
  if (pool.backing_off || pool.waiting.empty()) return false;
  if (pool.http1) {
    // A watch holds its connection for good: enough of them would leave none for requests.
    const auto streams = static_cast<std::size_t>(
        std::count_if(pool.connections.begin(), pool.connections.end(),
                      [](const auto& connection) { return connection->is_streaming(); }));
    return open - streams < options.max_http1_connections && pool.connecting < pool.waiting.size();
  }
  const auto is_full = [](const auto& connection) { return connection->is_full(); };
  return pool.connecting == 0 &&
         std::all_of(pool.connections.begin(), pool.connections.end(), is_full) &&
         open < options.max_http2_connections;
}

void HttpClient::Impl::pump(const std::string& origin) {
  const auto found = pools.find(origin);
  if (closed || found == pools.end()) return;
  Pool& pool = *found->second;
  std::erase_if(pool.connections, [](const auto& connection) { return connection->is_closed(); });
  while (!pool.waiting.empty()) {
    const auto free = std::find_if(pool.connections.begin(), pool.connections.end(),
                                   [](const auto& connection) { return connection->can_start(); });
    if (free == pool.connections.end()) break;
    auto exchange = std::move(pool.waiting.front());
    pool.waiting.pop_front();
    exchange->detach = {};
    exchange->was_started = true;
    (*free)->start(std::move(exchange));
  }
  while (wants_connection(pool)) {
    ++pool.connecting;
    connect(origin, pool.waiting.front()->url);
  }
}

task_detail::Detached HttpClient::Impl::connect(std::string origin, Url url) {
  const auto self = shared_from_this();  // lives until the attempt ends, closed or not
  auto target = target_of(url);
  Result<http::Transport::Ready> ready = failed(ErrorCode::Internal, "");
  if (target) {
    ready = co_await http::Transport::connect(loop, std::move(*target));
  } else {
    // Never within pump(), which is looking at the pool.
    co_await sleep(loop, Duration{0});
    ready = failed(std::move(target.error()));
  }
  if (closed) {
    if (ready) ready->transport->close();
    co_return;
  }
  Pool& pool = *pools.at(origin);
  --pool.connecting;
  if (ready)
    connected(origin, pool, std::move(*ready));
  else
    connect_failed(origin, pool, ready.error());
  pump(origin);
}

void HttpClient::Impl::connected(const std::string& origin, Pool& pool,
                                 http::Transport::Ready ready) {
  pool.failures = 0;
  pool.http1 = ready.alpn != "h2";
  const auto make = pool.http1 ? http::make_http1_connection : http::make_http2_connection;
  pool.connections.push_back(
      make(loop, std::move(ready.transport), options.tick, on_change(origin)));
}

void HttpClient::Impl::connect_failed(const std::string& origin, Pool& pool, const Error& error) {
  // Whoever waits for a connection hears at once; the next attempt waits a little.
  if (pool.connections.empty())
    for (auto& exchange : std::exchange(pool.waiting, {})) exchange->finish(failed(error));
  pool.failures = std::min(pool.failures + 1, 16);
  pool.backing_off = true;
  const auto delay =
      std::min<Duration>(std::chrono::milliseconds{50} * (1 << pool.failures), options.max_backoff);
  loop.after(delay, [weak = weak_from_this(), origin] {
    const auto self = weak.lock();
    if (!self || self->closed) return;
    self->pools.at(origin)->backing_off = false;
    self->pump(origin);
  });
}

Task<Result<HttpResponse>> HttpClient::Impl::run(HttpRequest request, BodySink sink,
                                                 Duration head_timeout) {
  const auto self = shared_from_this();
  auto url = parse_url(request.url);
  if (!url) co_return failed(std::move(url.error()));
  const auto shared = std::make_shared<const HttpRequest>(std::move(request));
  std::shared_ptr<Exchange> exchange;
  std::optional<Error> ended;  // by the deadline or the stop token, whichever attempt it hits

  const auto end_with = [&](Error error) {
    if (ended) return;
    ended = std::move(error);
    exchange->fail(*ended);
  };
  const auto late = [&](Duration limit, const char* what) {
    end_with(Error{.code = ErrorCode::Timeout,
                   .message = fmt::format("no {} from {} within {}", what, url->origin(),
                                          format_go_duration(limit))});
  };
  if (shared->stop.stop_requested())
    co_return failed(ErrorCode::Cancelled, "stopped before it was sent");

  Result<void> result = {};
  Loop::TimerId total = 0, head = 0;
  {
    exchange = std::make_shared<Exchange>(loop);
    if (shared->timeout > Duration{0})
      total = loop.after(shared->timeout, [&] { late(shared->timeout, "answer"); });
    if (head_timeout > Duration{0})
      head = loop.after(head_timeout, [&] { late(head_timeout, "response head"); });
    std::stop_callback on_stop(
        shared->stop, [&] { end_with(Error{.code = ErrorCode::Cancelled, .message = "stopped"}); });
    for (int attempt = 0;; ++attempt) {
      if (attempt > 0) exchange = std::make_shared<Exchange>(loop);
      exchange->request = shared;
      exchange->url = *url;
      exchange->sink = sink;
      exchange->on_head = [&] { loop.cancel(std::exchange(head, 0)); };
      auto queued = enqueue(exchange);
      if (!queued) {
        result = std::move(queued);
        break;
      }
      result = co_await exchange->done;
      const bool lost =
          !result && result.error().code == ErrorCode::Unavailable && exchange->was_started;
      const bool again =
          exchange->surely_unsent || (is_idempotent(shared->method) && !exchange->has_head);
      if (!lost || !again || ended || attempt > 0) break;
    }
  }
  loop.cancel(total);
  loop.cancel(head);
  exchange->on_head = {};
  if (ended && !result) co_return failed(*ended);
  if (!result) co_return failed(std::move(result.error()));
  co_return std::move(exchange->response);
}

HttpClient::HttpClient(AsioLoop& loop, HttpClientOptions options)
    : impl_(std::make_shared<Impl>(loop, std::move(options))) {}

HttpClient::~HttpClient() {
  impl_->closed = true;
  const Error why{.code = ErrorCode::Cancelled, .message = "the HTTP client is closed"};
  for (auto& [origin, pool] : impl_->pools) {
    for (auto& connection : std::exchange(pool->connections, {})) connection->close(why);
    for (auto& exchange : std::exchange(pool->waiting, {})) exchange->finish(failed(why));
  }
}

Task<Result<HttpResponse>> HttpClient::request(HttpRequest request) {
  return impl_->run(std::move(request), {}, Duration{0});
}

Task<Result<HttpResponse>> HttpClient::stream(HttpRequest request, BodySink sink,
                                              Duration head_timeout) {
  return impl_->run(std::move(request), std::move(sink), head_timeout);
}

void HttpClient::set_tls(TlsOptions tls) {
  impl_->options.tls = std::move(tls);
  impl_->tls.reset();
  for (auto& [origin, pool] : impl_->pools)
    for (auto& connection : std::vector(pool->connections)) connection->drain();
}

std::size_t HttpClient::open_connections() const {
  std::size_t count = 0;
  for (const auto& [origin, pool] : impl_->pools)
    count += static_cast<std::size_t>(
        std::count_if(pool->connections.begin(), pool->connections.end(),
                      [](const auto& connection) { return !connection->is_closed(); }));
  return count;
}

}  // namespace manta::kube
