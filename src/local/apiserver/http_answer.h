// What the router answers: one body, or what to stream.
#pragma once

#include "base/json.h"
#include "base/result.h"
#include "local/apiserver/rest.h"
#include "local/pod_backend.h"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace manta::local {

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

HttpAnswer json_answer(const Json& body, int status = 200);
HttpAnswer text_answer(std::string text, int status = 200);
HttpAnswer page_not_found();
HttpAnswer error_answer(const Error& error);

/// The Status object of an error. Who is concerned is read from the message, which the server's own
/// texts name first: `pods "x" not found`.
Json status_of(const Error& error);

}  // namespace manta::local
