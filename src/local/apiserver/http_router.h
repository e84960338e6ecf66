// From an HTTP request to its answer, without any I/O: what paths, query parameters and headers of
// the Kubernetes API mean. Answers with one body are made here; for streams the router says what to
// stream and http_session.cc does it.
#pragma once

#include "local/apiserver/http_answer.h"
#include "local/apiserver/http_request.h"
#include "local/apiserver/rest.h"

#include <memory>
#include <string>

namespace manta::local {

class Discovery;
class OpenApi;

class HttpRouter {
 public:
  explicit HttpRouter(Rest& rest);
  ~HttpRouter();

  HttpAnswer handle(HttpRequest request);
  /// One line of a watch stream, newline included. The last plain one is kept: an event that a
  /// thousand watches hear of is encoded once.
  std::string encode_event(WatchStream& stream, const WatchItem& item);
  std::string encode_error_event(const Error& error);

 private:
  struct Route;

  // http_router.cc: which place a path means.
  HttpAnswer version() const;
  HttpAnswer openapi(const Target& url);
  HttpAnswer discovery(const Target& url, const Accept& accept);
  HttpAnswer resource(const HttpRequest& http, Target url, const Accept& accept);
  HttpAnswer call(const HttpRequest& http, Route& route);

  // http_router_objects.cc
  HttpAnswer object(const Route& route, Json object, bool created);
  HttpAnswer list(const Route& route);
  HttpAnswer list_documents(const Route& route, const ListPage& page, JsonObject metadata);
  HttpAnswer watch(const Route& route);

  // http_router_pods.cc
  HttpAnswer pod_stream(const Route& route);
  HttpAnswer proxy(const Route& route);

  Rest& rest_;
  std::unique_ptr<Discovery> discovery_;
  std::unique_ptr<OpenApi> openapi_;
  WatchItem encoded_item_ = {};  // whose text is encoded_
  std::string encoded_ = {};
};

}  // namespace manta::local
