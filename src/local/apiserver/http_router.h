// From an HTTP request to its answer, without any I/O: what paths, query parameters and headers of
// the Kubernetes API mean. Answers with one body are made here; for streams the router says what to
// stream and http_server.cc does it.
#pragma once

#include "local/apiserver/rest.h"
#include "local/pod_backend.h"

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace manta::local {

struct HttpRequest {
  std::string method = "GET";
  std::string target = {};                          // path and query
  std::map<std::string, std::string> headers = {};  // names in lower case
  std::string body = {};
  Caller caller = {};
};

/// A watch to stream: events from `watcher`, written by encode_event().
struct WatchStream {
  std::shared_ptr<Watcher> watcher = {};
  KindPtr kind = {};
  bool table = false;
  bool metadata_only = false;
  bool table_header = true;  // only the first Table has column definitions
  Duration timeout = std::chrono::minutes{30};
};

enum class PodStreamKind { Log, Exec, Attach, PortForward };
struct PodStream {
  PodStreamKind kind = PodStreamKind::Log;
  ContainerTarget target = {};
  LogOptions log = {};
  ExecRequest exec = {};
  std::vector<std::uint16_t> ports = {};
};

/// pods/proxy and services/proxy: plain HTTP to this place.
struct ProxyTarget {
  std::string host = {};
  std::uint16_t port = 80;
  std::string path = "/";
};

struct HttpAnswer {
  int status = 200;
  std::string content_type = "application/json";
  std::map<std::string, std::string> headers = {};
  std::vector<std::string> warnings = {};
  std::string body = {};
  // At most one of these, instead of a body.
  std::optional<WatchStream> watch = {};
  std::optional<PodStream> pod_stream = {};
  std::optional<ProxyTarget> proxy = {};
};

class Discovery;
class OpenApi;

class HttpRouter {
 public:
  explicit HttpRouter(Rest& rest);
  ~HttpRouter();

  HttpAnswer handle(HttpRequest request);
  /// One line of a watch stream, newline included.
  std::string encode_event(WatchStream& stream, const WatchItem& item);
  std::string encode_error_event(const Error& error);
  static HttpAnswer error_answer(const Error& error);

 private:
  struct Route;
  HttpAnswer rest_call(HttpRequest& request, Route& route);
  HttpAnswer list(const Kind& kind, const kube::Request& request, const HttpRequest& http);
  HttpAnswer open_watch(KindPtr kind, const Route& route, const HttpRequest& http);
  HttpAnswer pod_stream(const Kind& kind, const Route& route, const HttpRequest& http);
  HttpAnswer proxy(const Route& route);
  HttpAnswer object_answer(const Kind& kind, Json object, const HttpRequest& http, bool created);

  Rest& rest_;
  std::unique_ptr<Discovery> discovery_;
  std::unique_ptr<OpenApi> openapi_;
};

/// The Status object of an error. Who is concerned is read from the message, which the server's own
/// texts name first: `pods "x" not found`.
Json status_of(const Error& error);

}  // namespace manta::local
