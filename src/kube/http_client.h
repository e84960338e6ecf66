// An HTTP client on the event loop: HTTP/2 over TLS where the server offers it, else HTTP/1.1.
// Connections are pooled for each origin; many requests share one HTTP/2 connection.
//
//   HttpClient client(loop, {});
//   auto answer = co_await client.request({.url = "http://10.0.0.7:8265/api/jobs/"});
//   if (answer && answer->status == 200) use(answer->body);
//
// Any status is an answer. Errors: Timeout, Unavailable (no connection, or it was lost: a write MAY
// have been processed), TooLarge, Cancelled, BadRequest (the URL). Requests that surely never left
// are sent again once, and so are GET and HEAD on a lost connection. Redirects are not followed.
#pragma once

#include "base/asio_loop.h"
#include "base/result.h"
#include "base/task.h"

#include <functional>
#include <map>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace manta::kube {

struct TlsOptions {
  std::string ca_pem = {};  // empty: the system's roots
  std::string client_cert_pem = {};
  std::string client_key_pem = {};
  std::string server_name = {};  // for SNI and verification; empty: the URL's host
  bool skip_verify = false;
};

/// Proxies as URLs (http://[user:password@]host:port); empty is none.
struct ProxyOptions {
  std::string https = {};      // for https:// origins, by CONNECT
  std::string http = {};       // for http:// origins
  std::string no_proxy = {};   // comma-separated hosts, domains, addresses, networks, or *
  bool even_loopback = false;  // a kubeconfig's proxy-url is used for every host
};
/// From HTTPS_PROXY, HTTP_PROXY and NO_PROXY or their lower-case forms.
ProxyOptions proxies_from(const std::map<std::string, std::string, std::less<>>& environment);

struct HttpClientOptions {
  TlsOptions tls = {};
  ProxyOptions proxy = {};
  std::size_t max_http1_connections = 16;  // to one origin, besides those that streams hold
  std::size_t max_http2_connections = 2;   // to one origin; the second when streams run out
  Duration connect_timeout = std::chrono::seconds{15};
  /// A connection with requests on it that hears nothing for two ticks gets a PING, and is given up
  /// after the third. One without requests is closed after six.
  Duration tick = std::chrono::seconds{15};
  Duration max_backoff = std::chrono::seconds{5};       // between connects that fail
  std::function<void(Duration took)> on_resolved = {};  // a host's name was looked up
};

struct HttpRequest {
  std::string method = "GET";
  std::string url = {};  // http(s)://host[:port]/path?query
  std::vector<std::pair<std::string, std::string>> headers = {};
  std::string body = {};
  Duration timeout = std::chrono::seconds{30};  // for the whole exchange; 0 is no limit
  std::size_t max_bytes = 16 << 20;             // of the response's body
  std::stop_token stop = {};
};

struct HttpResponse {
  int status = 0;
  std::vector<std::pair<std::string, std::string>> headers = {};  // names in lower case
  std::string body = {};

  /// The first header of that (lower-case) name, or empty.
  std::string_view header(std::string_view name) const;
};

class HttpClient {
 public:
  /// Gets pieces of a 2xx body as they arrive. An error ends the exchange with it.
  using BodySink = std::function<Result<void>(std::string_view)>;

  HttpClient(AsioLoop& loop, HttpClientOptions options);
  /// Closes every connection; no request may be running.
  ~HttpClient();

  Task<Result<HttpResponse>> request(HttpRequest request);
  /// As request(), but a 2xx body goes to `sink` and max_bytes limits only other bodies. Fails with
  /// Timeout when no response head came within `head_timeout`.
  Task<Result<HttpResponse>> stream(HttpRequest request, BodySink sink, Duration head_timeout);

  /// For connections from now on; those that are open finish what they carry and close.
  void set_tls(TlsOptions tls);
  std::size_t open_connections() const;

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace manta::kube
