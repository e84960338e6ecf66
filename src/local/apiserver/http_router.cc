#include "local/apiserver/http_router.h"

#include "fmt/format.h"
#include "local/apiserver/discovery.h"
#include "local/apiserver/http_options.h"
#include "local/apiserver/http_route.h"

namespace manta::local {
namespace {

bool is_core(const Kind& kind, std::string_view plural) {
  return kind.builtin() && kind.resource.group.empty() && kind.resource.plural == plural;
}

bool is_stream(std::string_view subresource) {
  return subresource == "log" || subresource == "exec" || subresource == "attach" ||
         subresource == "portforward";
}

/// Logs are read, streams opened by GET (WebSocket) or POST (SPDY).
bool may_stream(std::string_view subresource, std::string_view method) {
  return method == "GET" || (method == "POST" && subresource != "log");
}

Error not_allowed() {
  return {.code = ErrorCode::MethodNotAllowed,
          .message = "the server does not allow this method on the requested resource",
          .http_status = 405};
}

HttpAnswer document_answer(const std::optional<Json>& document) {
  return document ? json_answer(*document) : page_not_found();
}

/// The verb of a method that writes.
Result<void> read_verb(const HttpRequest& http, const Kind& kind, const QueryMap& query,
                       kube::Request& request) {
  const auto& method = http.method;
  const bool named = !request.name.empty();
  if (method == "POST") {
    request.verb = kube::Verb::Create;
    if (named && request.subresource.empty()) return failed(not_allowed());
  } else if (method == "PUT") {
    request.verb = kube::Verb::Update;
    if (!named) return failed(not_allowed());
  } else if (method == "PATCH") {
    request.verb = kube::Verb::Patch;
    if (!named) return failed(not_allowed());
    const auto type = patch_type(media_type(header(http, "content-type")));
    if (!type)
      return failed(unsupported_media(
          kind.builtin() ? "application/json-patch+json, application/merge-patch+json, "
                           "application/strategic-merge-patch+json, application/apply-patch+yaml"
                         : "application/json-patch+json, application/merge-patch+json, "
                           "application/apply-patch+yaml"));
    request.patch_type = *type;
    // Whoever applies says who they are; the User-Agent will not do.
    if (*type == kube::PatchType::Apply) request.field_manager = first(query, "fieldManager");
  } else if (method == "DELETE") {
    request.verb = named ? kube::Verb::Delete : kube::Verb::DeleteCollection;
  } else {
    return failed(not_allowed());
  }
  return {};
}

/// The body of a method that writes: an object, a patch or DeleteOptions.
Result<void> read_content(const HttpRequest& http, const Kind& kind, const QueryMap& query,
                          BuiltinTypes& types, kube::Request& request) {
  auto body = read_body(http, types);
  if (!body) {
    auto error = body.error();
    if (request.verb == kube::Verb::Patch && error.code == ErrorCode::BadRequest)
      error.message = "invalid JSON patch";
    else if (error.code == ErrorCode::BadRequest)
      error.message = fmt::format("the object provided is unrecognized (must be of type {}): {}",
                                  kind.resource.kind, error.message);
    return failed(std::move(error));
  }
  if (http.method == "DELETE") return read_delete_options(*body, query, request);
  request.body = std::move(*body);
  return {};
}

/// kubectl checks the fields of a v1 List (what `kubectl get -o yaml` writes) itself, by schemas in
/// this old format, and gives up without it. Ours names none: each item is then checked here, by
/// fieldValidation, as every other object is.
HttpAnswer old_openapi() {
  static constexpr std::string_view kTitle = "Kubernetes";
  std::string document = "\n\x03";  // field 1, the format's version
  document += "2.0";
  document += "\x12";  // field 2, about the document: a title and an empty version
  document += static_cast<char>(kTitle.size() + 4);
  document += "\n";
  document += static_cast<char>(kTitle.size());
  document += kTitle;
  document += std::string_view("\x12\0", 2);
  auto answer = text_answer(std::move(document), 200);
  answer.content_type = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf";
  return answer;
}

}  // namespace

HttpRouter::HttpRouter(Rest& rest)
    : rest_(rest),
      discovery_(std::make_unique<Discovery>(rest.kinds())),
      openapi_(std::make_unique<OpenApi>(rest.kinds(), rest.types(), [&rest](const auto& name) {
        const auto crds =
            rest.kinds().find("apiextensions.k8s.io", "v1", "customresourcedefinitions");
        return rest.get(*crds, "", name);
      })) {}
HttpRouter::~HttpRouter() = default;

HttpAnswer HttpRouter::handle(HttpRequest request) {
  auto url = split_target(request.target);
  const auto& parts = url.segments;
  if (parts.empty())
    return json_answer(
        JsonObject{{"paths", JsonArray{"/api", "/api/v1", "/apis", "/healthz", "/livez",
                                       "/openapi/v3", "/readyz", "/version"}}});
  const auto& root = parts[0];
  if (root == "healthz" || root == "livez" || root == "readyz") return text_answer("ok");
  if (root == "version") return version();
  if (root == "openapi" && parts.size() >= 2 && parts[1] == "v3") return openapi(url);
  if (root == "openapi" && parts.size() == 2 && parts[1] == "v2") return old_openapi();
  if (root != "api" && root != "apis") return page_not_found();
  const auto accept = read_accept(header(request, "accept"));
  if (parts.size() <= (root == "api" ? 2 : 3)) return discovery(url, accept);
  return resource(request, std::move(url), accept);
}

HttpAnswer HttpRouter::version() const {
  const auto& text = rest_.options().version;
  const auto dot = text.find('.');
  const auto second = text.find('.', dot + 1);
  return json_answer(JsonObject{{"major", text.substr(1, dot - 1)},
                                {"minor", text.substr(dot + 1, second - dot - 1)},
                                {"gitVersion", text + "+manta"},
                                {"gitCommit", ""},
                                {"gitTreeState", "clean"},
                                {"buildDate", "1970-01-01T00:00:00Z"},
                                {"goVersion", ""},
                                {"compiler", "clang"},
                                {"platform", "linux/amd64"}});
}

HttpAnswer HttpRouter::openapi(const Target& url) {
  const auto& parts = url.segments;
  if (parts.size() == 2) return json_answer(openapi_->index());
  if (parts.size() == 4 && parts[2] == "api")
    return document_answer(openapi_->document("", parts[3]));
  if (parts.size() == 5 && parts[2] == "apis")
    return document_answer(openapi_->document(parts[3], parts[4]));
  return page_not_found();
}

/// /api, /api/VERSION, /apis, /apis/GROUP, /apis/GROUP/VERSION.
HttpAnswer HttpRouter::discovery(const Target& url, const Accept& accept) {
  const auto& parts = url.segments;
  const bool core = parts[0] == "api";
  if (parts.size() == 1 && accept.discovery) {
    auto answer = json_answer(discovery_->aggregated(core));
    answer.content_type = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
    return answer;
  }
  if (parts.size() == 1)
    return json_answer(core ? discovery_->core_versions() : discovery_->groups());
  if (core) return document_answer(discovery_->resources("", parts[1]));
  if (parts.size() == 2) return document_answer(discovery_->group(parts[1]));
  return document_answer(discovery_->resources(parts[1], parts[2]));
}

/// …/[namespaces/NAMESPACE/]RESOURCE[/NAME[/SUBRESOURCE[/PATH]]]
HttpAnswer HttpRouter::resource(const HttpRequest& http, Target url, const Accept& accept) {
  const auto& parts = url.segments;
  const bool core = parts[0] == "api";
  Route route;
  route.query = std::move(url.query);
  route.accept = accept;
  const std::string group = core ? "" : parts[1];
  const std::string version = core ? parts[1] : parts[2];
  std::size_t at = core ? 2 : 3;
  auto& target = route.request;
  const bool scoped = parts[at] == "namespaces" && parts.size() > at + 2 &&
                      !(core && (parts[at + 2] == "status" || parts[at + 2] == "finalize") &&
                        parts.size() == at + 3);
  if (scoped) {
    target.namespace_ = parts[at + 1];
    at += 2;
  }
  route.kind = rest_.kinds().find(group, version, parts[at]);
  if (!route.kind) {
    if (rest_.kinds().in(group, version).empty() ||
        !rest_.kinds().in(group, version).front()->builtin())
      return page_not_found();
    return error_answer({.code = ErrorCode::NotFound,
                         .message = "the server could not find the requested resource",
                         .http_status = 404});
  }
  target.resource = route.kind->resource;
  if (parts.size() > at + 1) target.name = parts[at + 1];
  if (parts.size() > at + 2) target.subresource = parts[at + 2];
  if (parts.size() > at + 3) {
    for (std::size_t i = at + 3; i < parts.size(); ++i) route.rest += "/" + parts[i];
    if (url.trailing_slash) route.rest += "/";
    if (target.subresource != "proxy") return page_not_found();
  } else if (url.trailing_slash) {
    route.rest = "/";
  }
  const bool any_type = is_stream(target.subresource) || target.subresource == "proxy";
  if (!accept.json && !any_type)
    return error_answer({.code = ErrorCode::NotAcceptable,
                         .message = "only the following media types are accepted: application/json",
                         .http_status = 406});
  return call(http, route);
}

HttpAnswer HttpRouter::call(const HttpRequest& http, Route& route) {
  auto& request = route.request;
  const auto& kind = *route.kind;
  const bool of_pod = is_core(kind, "pods");
  if (of_pod && !request.name.empty() && is_stream(request.subresource))
    return may_stream(request.subresource, http.method) ? pod_stream(route)
                                                        : error_answer(not_allowed());
  if ((of_pod || is_core(kind, "services")) && request.subresource == "proxy") return proxy(route);

  if (auto ok = read_options(http, route.query, request); !ok) return error_answer(ok.error());
  if (http.method == "GET" || http.method == "HEAD") {
    const bool watching = is_true(first(route.query, "watch")) && request.subresource.empty();
    if (watching || request.name.empty()) {
      if (auto ok = check_list_options(route.query, watching); !ok) return error_answer(ok.error());
      return watching ? watch(route) : list(route);
    }
    request.verb = kube::Verb::Get;
  } else {
    if (auto ok = read_verb(http, kind, route.query, request); !ok) return error_answer(ok.error());
    if (auto ok = read_content(http, kind, route.query, rest_.types(), request); !ok)
      return error_answer(ok.error());
  }
  Context context;
  context.caller = http.caller;
  auto result = rest_.run(request, context);
  HttpAnswer answer =
      result ? object(route, std::move(*result), context.created) : error_answer(result.error());
  answer.warnings = std::move(context.warnings);
  return answer;
}

}  // namespace manta::local
