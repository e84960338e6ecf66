#include "local/apiserver/http_router.h"

#include "base/yaml.h"
#include "fmt/format.h"
#include "local/apiserver/conversion.h"
#include "local/apiserver/discovery.h"
#include "local/apiserver/field_errors.h"
#include "local/apiserver/http_text.h"
#include "local/apiserver/json_edit.h"
#include "local/apiserver/protobuf.h"
#include "local/apiserver/table.h"

#include <algorithm>
#include <charconv>

namespace manta::local {

/// A resource path, taken apart.
struct HttpRouter::Route {
  KindPtr kind = {};
  kube::Request request = {};
  std::string rest = {};  // behind a proxy subresource
  QueryMap query = {};
};

namespace {

HttpAnswer json_answer(const Json& body, int status = 200) {
  HttpAnswer answer;
  answer.status = status;
  answer.body = dump_json(body) + "\n";
  return answer;
}

HttpAnswer text_answer(std::string text, int status = 200) {
  HttpAnswer answer;
  answer.status = status;
  answer.content_type = "text/plain; charset=utf-8";
  answer.body = std::move(text);
  return answer;
}

HttpAnswer page_not_found() { return text_answer("404 page not found\n", 404); }

std::string header(const HttpRequest& http, std::string_view name) {
  auto found = http.headers.find(std::string(name));
  return found == http.headers.end() ? std::string() : found->second;
}

/// What the Accept header asks for, of what we can do.
struct Accept {
  bool json = true;
  bool table = false;
  bool metadata = false;  // PartialObjectMetadata
  bool discovery = false;
};

Accept read_accept(const std::string& text) {
  Accept accept;
  if (text.empty()) return accept;
  accept.json = false;
  for (const auto& part : split_text(text, ',')) {
    const auto lower = trim_text(part);
    if (lower.starts_with("application/json")) {
      if (!accept.json) {  // the first that we can do wins
        accept.table = lower.find("as=Table") != lower.npos;
        accept.metadata = lower.find("as=PartialObjectMetadata") != lower.npos;
        accept.discovery = lower.find("as=APIGroupDiscoveryList") != lower.npos &&
                           lower.find("v=v2;") != lower.npos;
        // v2beta1 is not offered; look further down the list.
        if (lower.find("as=APIGroupDiscoveryList") != lower.npos && !accept.discovery) continue;
      }
      accept.json = true;
    } else if (lower.starts_with("*/*") || lower.starts_with("application/*") ||
               lower.starts_with("application/yaml") || lower.starts_with("text/")) {
      accept.json = true;
    }
  }
  return accept;
}

std::string_view media_type(std::string_view text) {
  return trim_text(text.substr(0, text.find(';')));
}

Error unsupported_media(std::string_view kinds) {
  return {.code = ErrorCode::UnsupportedMedia,
          .message = fmt::format(
              "the body of the request was in an unknown format - accepted media types include: {}",
              kinds),
          .http_status = 415};
}

Result<Json> read_body(const HttpRequest& http, BuiltinTypes& types) {
  const auto type = media_type(header(http, "content-type"));
  if (http.body.starts_with(kProtobufMagic)) return decode_protobuf(http.body, types);
  if (type.find("protobuf") != type.npos || type.find("cbor") != type.npos)
    return failed(unsupported_media(
        "application/json, application/yaml, application/vnd.kubernetes.protobuf"));
  if (http.body.empty()) return Json();
  if (type == "application/yaml" || type == "application/apply-patch+yaml") {
    auto parsed = parse_yaml_one(http.body);
    if (!parsed)
      return failed(bad_request(fmt::format("error decoding YAML: {}", parsed.error().message)));
    return parsed;
  }
  auto parsed = parse_json(http.body);
  if (!parsed)
    return failed(bad_request(
        fmt::format("couldn't get version/kind; json parse error: {}", parsed.error().message)));
  return parsed;
}

std::string first(const QueryMap& query, std::string_view name) {
  auto found = query.find(name);
  return found == query.end() || found->second.empty() ? std::string() : found->second.front();
}

bool is_true(const std::string& text) { return text == "true" || text == "1"; }

Result<std::optional<std::int64_t>> number(const QueryMap& query, std::string_view name) {
  const auto text = first(query, name);
  if (text.empty()) return std::optional<std::int64_t>();
  std::int64_t value = 0;
  auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code != std::errc() || end != text.data() + text.size())
    return failed(
        bad_request(fmt::format("strconv.ParseInt: parsing \"{}\": invalid syntax", text)));
  return std::optional(value);
}

kube::Propagation propagation_of(std::string_view text) {
  if (text == "Orphan") return kube::Propagation::Orphan;
  if (text == "Background") return kube::Propagation::Background;
  if (text == "Foreground") return kube::Propagation::Foreground;
  return kube::Propagation::Default;
}

Result<void> read_delete_options(const Json& body, const QueryMap& query, kube::Request& request) {
  auto grace = number(query, "gracePeriodSeconds");
  if (!grace) return failed(grace.error());
  request.grace_period_seconds = *grace;
  request.propagation = propagation_of(first(query, "propagationPolicy"));
  if (const auto orphan = first(query, "orphanDependents"); !orphan.empty())
    request.propagation =
        is_true(orphan) ? kube::Propagation::Orphan : kube::Propagation::Background;
  if (!body.is_object()) return {};
  if (const auto* value = find(body, {"gracePeriodSeconds"}); value && value->is_int64())
    request.grace_period_seconds = value->get_int64();
  if (const auto policy = string_at(body, {"propagationPolicy"}); !policy.empty()) {
    request.propagation = propagation_of(policy);
    if (request.propagation == kube::Propagation::Default) {
      FieldErrors errors;
      errors.not_supported("propagationPolicy", Json(policy),
                           {"Foreground", "Background", "Orphan"});
      return failed(errors.to_error({"", "v1", "", "DeleteOptions"}, ""));
    }
  }
  if (const auto* orphan = find(body, {"orphanDependents"}); orphan && orphan->is_bool())
    request.propagation =
        orphan->get_bool() ? kube::Propagation::Orphan : kube::Propagation::Background;
  request.precondition_uid = string_at(body, {"preconditions", "uid"});
  request.precondition_resource_version = string_at(body, {"preconditions", "resourceVersion"});
  for (const auto& value : array_at(body, {"dryRun"}))
    if (value == Json("All")) request.dry_run = true;
  return {};
}

/// Our name for who writes: the first part of the User-Agent, as the server takes it.
std::string default_manager(const Caller& caller) {
  return caller.user_agent.substr(0, caller.user_agent.find('/'));
}

std::optional<kube::PatchType> patch_type(std::string_view media) {
  if (media == "application/json-patch+json") return kube::PatchType::Json;
  if (media == "application/merge-patch+json") return kube::PatchType::Merge;
  if (media == "application/strategic-merge-patch+json") return kube::PatchType::Strategic;
  if (media == "application/apply-patch+yaml") return kube::PatchType::Apply;
  return std::nullopt;
}

Json partial(const Json& object) {
  return JsonObject{{"kind", "PartialObjectMetadata"},
                    {"apiVersion", "meta.k8s.io/v1"},
                    {"metadata", object_at(object, {"metadata"})}};
}

bool is_pods(const Kind& kind) {
  return kind.builtin() && kind.resource.group.empty() && kind.resource.plural == "pods";
}
bool is_services(const Kind& kind) {
  return kind.builtin() && kind.resource.group.empty() && kind.resource.plural == "services";
}

}  // namespace

Json status_of(const Error& error) {
  JsonObject details;
  const std::string_view message = error.message;
  auto from = message;
  constexpr std::string_view kConflict = "Operation cannot be fulfilled on ";
  if (from.starts_with(kConflict)) from.remove_prefix(kConflict.size());
  const auto space = from.find(' ');
  const bool named = error.code == ErrorCode::NotFound || error.code == ErrorCode::AlreadyExists ||
                     error.code == ErrorCode::Conflict || error.code == ErrorCode::Forbidden ||
                     error.code == ErrorCode::Invalid;
  if (named && space != from.npos && from.substr(space + 1).starts_with('"')) {
    const auto quoted = from.substr(space + 2);
    const auto name = quoted.substr(0, quoted.find('"'));
    const auto kind = from.substr(0, space);
    const auto dot = kind.find('.');
    if (!name.empty()) details["name"] = name;
    if (dot != kind.npos) details["group"] = kind.substr(dot + 1);
    details["kind"] = kind.substr(0, dot);
  }
  if (!error.causes.empty()) {
    JsonArray causes;
    for (const auto& cause : error.causes) {
      JsonObject one{{"reason", cause.reason}, {"message", cause.message}};
      if (!cause.field.empty()) one["field"] = cause.field;
      causes.push_back(std::move(one));
    }
    details["causes"] = std::move(causes);
  }
  if (error.retry_after)
    details["retryAfterSeconds"] =
        std::chrono::duration_cast<std::chrono::seconds>(*error.retry_after).count();
  const int code = error.http_status ? error.http_status : kube::http_status_of(error.code);
  JsonObject status{{"kind", "Status"},
                    {"apiVersion", "v1"},
                    {"metadata", JsonObject{}},
                    {"status", "Failure"},
                    {"message", error.message}};
  if (error.code != ErrorCode::Internal)
    status["reason"] = kube::status_reason_of(error.code);
  else
    status["reason"] = "InternalError";
  // The answer to a path that is no resource has empty details, for whatever reason.
  const bool empty_details =
      error.code == ErrorCode::Invalid || message.starts_with("the server could not find");
  if (empty_details || !details.empty()) status["details"] = std::move(details);
  status["code"] = code;
  return status;
}

HttpAnswer HttpRouter::error_answer(const Error& error) {
  const auto status = status_of(error);
  auto answer = json_answer(status, static_cast<int>(int_at(status, {"code"})));
  if (error.retry_after)
    answer.headers["Retry-After"] = std::to_string(
        std::chrono::duration_cast<std::chrono::seconds>(*error.retry_after).count());
  return answer;
}

HttpRouter::HttpRouter(Rest& rest)
    : rest_(rest),
      discovery_(std::make_unique<Discovery>(rest.kinds())),
      openapi_(std::make_unique<OpenApi>(rest.kinds(), rest.types())) {}
HttpRouter::~HttpRouter() = default;

HttpAnswer HttpRouter::handle(HttpRequest request) {
  const auto url = split_target(request.target);
  const auto& parts = url.segments;
  const auto accept = read_accept(header(request, "accept"));
  if (parts.empty())
    return json_answer(
        JsonObject{{"paths", JsonArray{"/api", "/api/v1", "/apis", "/healthz", "/livez",
                                       "/openapi/v3", "/readyz", "/version"}}});
  if (parts[0] == "healthz" || parts[0] == "livez" || parts[0] == "readyz")
    return text_answer("ok");
  if (parts[0] == "version") {
    const auto& version = rest_.options().version;
    const auto dot = version.find('.');
    const auto second = version.find('.', dot + 1);
    return json_answer(JsonObject{{"major", version.substr(1, dot - 1)},
                                  {"minor", version.substr(dot + 1, second - dot - 1)},
                                  {"gitVersion", version + "+manta"},
                                  {"gitCommit", ""},
                                  {"gitTreeState", "clean"},
                                  {"buildDate", "1970-01-01T00:00:00Z"},
                                  {"goVersion", ""},
                                  {"compiler", "clang"},
                                  {"platform", "linux/amd64"}});
  }
  if (parts[0] == "openapi" && parts.size() >= 2 && parts[1] == "v3") {
    if (parts.size() == 2) return json_answer(openapi_->index());
    std::optional<Json> document;
    if (parts.size() == 4 && parts[2] == "api") document = openapi_->document("", parts[3]);
    if (parts.size() == 5 && parts[2] == "apis") document = openapi_->document(parts[3], parts[4]);
    return document ? json_answer(*document) : page_not_found();
  }
  const bool core = parts[0] == "api";
  if (!core && parts[0] != "apis") return page_not_found();
  auto found = [](const std::optional<Json>& document) {
    return document ? json_answer(*document) : page_not_found();
  };
  auto aggregated = [&] {
    auto answer = json_answer(discovery_->aggregated(core));
    answer.content_type = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
    return answer;
  };
  if (parts.size() == 1) {
    if (accept.discovery) return aggregated();
    return json_answer(core ? discovery_->core_versions() : discovery_->groups());
  }
  if (core && parts.size() == 2) return found(discovery_->resources("", parts[1]));
  if (!core && parts.size() == 2) return found(discovery_->group(parts[1]));
  if (!core && parts.size() == 3) return found(discovery_->resources(parts[1], parts[2]));

  Route route;
  route.query = url.query;
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
  if (!accept.json && target.subresource != "proxy" && target.subresource != "log" &&
      target.subresource != "exec" && target.subresource != "attach" &&
      target.subresource != "portforward")
    return error_answer({.code = ErrorCode::NotAcceptable,
                         .message = "only the following media types are accepted: application/json",
                         .http_status = 406});
  return rest_call(request, route);
}

HttpAnswer HttpRouter::rest_call(HttpRequest& http, Route& route) {
  auto& request = route.request;
  const auto& kind = *route.kind;
  const auto& query = route.query;
  const auto& method = http.method;
  auto not_allowed = [] {
    return error_answer(
        {.code = ErrorCode::MethodNotAllowed,
         .message = "the server does not allow this method on the requested resource",
         .http_status = 405});
  };
  if (is_pods(kind) && !request.name.empty()) {
    const auto& sub = request.subresource;
    if (sub == "log" || sub == "exec" || sub == "attach" || sub == "portforward")
      return pod_stream(kind, route, http);
  }
  if ((is_pods(kind) || is_services(kind)) && request.subresource == "proxy") return proxy(route);

  request.label_selector = first(query, "labelSelector");
  request.field_selector = first(query, "fieldSelector");
  request.resource_version = first(query, "resourceVersion");
  request.resource_version_match = first(query, "resourceVersionMatch");
  request.continue_ = first(query, "continue");
  request.field_manager = first(query, "fieldManager");
  if (request.field_manager.empty()) request.field_manager = default_manager(http.caller);
  request.field_validation = first(query, "fieldValidation");
  request.force = is_true(first(query, "force"));
  if (const auto dry = first(query, "dryRun"); !dry.empty()) {
    if (dry != "All") {
      FieldErrors errors;
      errors.add("dryRun", "FieldValueNotSupported",
                 fmt::format("Unsupported value: [\"{}\"]: supported values: \"All\"", dry));
      const auto options = method == "POST"     ? "CreateOptions"
                           : method == "PUT"    ? "UpdateOptions"
                           : method == "DELETE" ? "DeleteOptions"
                                                : "PatchOptions";
      return error_answer(errors.to_error({"meta.k8s.io", "v1", "", options}, ""));
    }
    request.dry_run = true;
  }
  auto limit = number(query, "limit");
  if (!limit) return error_answer(limit.error());
  request.limit = limit->value_or(0);

  if (method == "GET" || method == "HEAD") {
    if (is_true(first(query, "watch")) && request.subresource.empty())
      return open_watch(route.kind, route, http);
    if (request.name.empty()) return list(kind, request, http);
    request.verb = kube::Verb::Get;
  } else if (method == "POST") {
    request.verb = kube::Verb::Create;
    if (!request.name.empty() && request.subresource.empty()) return not_allowed();
  } else if (method == "PUT") {
    request.verb = kube::Verb::Update;
    if (request.name.empty()) return not_allowed();
  } else if (method == "PATCH") {
    request.verb = kube::Verb::Patch;
    if (request.name.empty()) return not_allowed();
    const auto type = patch_type(media_type(header(http, "content-type")));
    if (!type)
      return error_answer(unsupported_media(
          kind.builtin() ? "application/json-patch+json, application/merge-patch+json, "
                           "application/strategic-merge-patch+json, application/apply-patch+yaml"
                         : "application/json-patch+json, application/merge-patch+json, "
                           "application/apply-patch+yaml"));
    request.patch_type = *type;
  } else if (method == "DELETE") {
    request.verb = request.name.empty() ? kube::Verb::DeleteCollection : kube::Verb::Delete;
  } else {
    return not_allowed();
  }

  if (method != "GET" && method != "HEAD") {
    auto body = read_body(http, rest_.types());
    if (!body) {
      auto error = body.error();
      if (request.verb == kube::Verb::Patch && error.code == ErrorCode::BadRequest)
        error.message = "invalid JSON patch";
      else if (error.code == ErrorCode::BadRequest)
        error.message = fmt::format("the object provided is unrecognized (must be of type {}): {}",
                                    kind.resource.kind, error.message);
      return error_answer(error);
    }
    if (method == "DELETE") {
      if (auto ok = read_delete_options(*body, query, request); !ok)
        return error_answer(ok.error());
    } else {
      request.body = std::move(*body);
    }
  }

  Context context;
  context.caller = http.caller;
  auto result = rest_.run(request, context);
  HttpAnswer answer = result ? object_answer(kind, std::move(*result), http, context.created)
                             : error_answer(result.error());
  answer.warnings = std::move(context.warnings);
  return answer;
}

HttpAnswer HttpRouter::object_answer(const Kind& kind, Json object, const HttpRequest& http,
                                     bool created) {
  const auto accept = read_accept(header(http, "accept"));
  const bool own = string_at(object, {"kind"}) == kind.resource.kind;
  const int status = created ? 201 : 200;
  if (accept.table && own)
    return json_answer(
        make_table(
            kind, {object},
            JsonObject{{"resourceVersion", string_at(object, {"metadata", "resourceVersion"})}},
            rest_.loop().now(), true, first(split_target(http.target).query, "includeObject")),
        status);
  if (accept.metadata && own) return json_answer(partial(object), status);
  return json_answer(object, status);
}

HttpAnswer HttpRouter::list(const Kind& kind, const kube::Request& request,
                            const HttpRequest& http) {
  const auto accept = read_accept(header(http, "accept"));
  auto page = rest_.list(kind, request);
  if (!page) return error_answer(page.error());
  JsonObject metadata{{"resourceVersion", page->resource_version}};
  if (!page->continue_.empty()) metadata["continue"] = page->continue_;
  if (page->remaining) metadata["remainingItemCount"] = *page->remaining;
  if (accept.table || accept.metadata) {
    std::vector<Json> objects;
    for (const auto& text : page->items)
      if (auto object = parse_json(*text))
        objects.push_back(from_storage(kind, std::move(*object)));
    if (accept.table)
      return json_answer(make_table(kind, objects, std::move(metadata), rest_.loop().now(), true,
                                    first(split_target(http.target).query, "includeObject")));
    JsonArray items;
    for (const auto& object : objects) items.push_back(partial(object));
    return json_answer(JsonObject{{"kind", "PartialObjectMetadataList"},
                                  {"apiVersion", "meta.k8s.io/v1"},
                                  {"metadata", std::move(metadata)},
                                  {"items", std::move(items)}});
  }
  if (!stored_as_is(kind)) return json_answer(rest_.list_document(kind, *page));
  // The stored texts are what is asked for: no need to read and write them again.
  HttpAnswer answer;
  std::size_t size = 256;
  for (const auto& text : page->items) size += text->size() + 1;
  answer.body.reserve(size);
  answer.body += fmt::format("{{\"kind\":\"{}\",\"apiVersion\":\"{}\",\"metadata\":{},\"items\":[",
                             kind.list_kind, kind.resource.api_version(),
                             dump_json(Json(std::move(metadata))));
  bool comma = false;
  for (auto& text : page->items) {
    if (std::exchange(comma, true)) answer.body += ',';
    answer.body += *text;
    text.reset();
  }
  answer.body += "]}\n";
  return answer;
}

HttpAnswer HttpRouter::open_watch(KindPtr kind, const Route& route, const HttpRequest& http) {
  const auto accept = read_accept(header(http, "accept"));
  kube::WatchRequest request;
  request.resource = kind->resource;
  request.namespace_ = route.request.namespace_;
  request.label_selector = route.request.label_selector;
  request.field_selector = route.request.field_selector;
  if (!route.request.name.empty()) request.field_selector = "metadata.name=" + route.request.name;
  request.resource_version = route.request.resource_version;
  WatchOptions options;
  options.bookmarks = is_true(first(route.query, "allowWatchBookmarks"));
  options.send_initial = is_true(first(route.query, "sendInitialEvents"));
  if (options.send_initial && request.resource_version == "0") request.resource_version.clear();
  auto seconds = number(route.query, "timeoutSeconds");
  if (!seconds) return error_answer(seconds.error());
  auto opened = rest_.hub().open(kind, request, options);
  HttpAnswer answer;
  WatchStream stream;
  stream.kind = kind;
  stream.table = accept.table;
  stream.metadata_only = accept.metadata;
  if (seconds->value_or(0) > 0) stream.timeout = std::chrono::seconds{**seconds};
  if (!opened) {
    // A version that is gone is said inside the stream, as the real server's watch cache does.
    if (opened.error().code != ErrorCode::Expired) return error_answer(opened.error());
    answer.body = encode_error_event(opened.error());
    return answer;
  }
  stream.watcher = *opened;
  answer.watch = std::move(stream);
  return answer;
}

std::string HttpRouter::encode_event(WatchStream& stream, const WatchItem& item) {
  const auto type = item.type == kube::WatchEventType::Added      ? "ADDED"
                    : item.type == kube::WatchEventType::Modified ? "MODIFIED"
                    : item.type == kube::WatchEventType::Deleted  ? "DELETED"
                                                                  : "BOOKMARK";
  std::string object;
  if (item.type == kube::WatchEventType::Bookmark)
    object = dump_json(*item.object);
  else if (stream.table)
    object = dump_json(make_table(
        *stream.kind, {*item.object},
        JsonObject{{"resourceVersion", string_at(*item.object, {"metadata", "resourceVersion"})}},
        rest_.loop().now(), std::exchange(stream.table_header, false), "Metadata"));
  else if (stream.metadata_only)
    object = dump_json(partial(*item.object));
  else
    object = dump_json(*item.object);
  return fmt::format("{{\"type\":\"{}\",\"object\":{}}}\n", type, object);
}

std::string HttpRouter::encode_error_event(const Error& error) {
  return fmt::format("{{\"type\":\"ERROR\",\"object\":{}}}\n", dump_json(status_of(error)));
}

namespace {

/// The container that is meant when none is named.
Result<std::string> choose_container(const Json& pod, std::string name) {
  std::vector<std::string> all;
  for (const auto* list : {"containers", "initContainers", "ephemeralContainers"})
    for (const auto& container : array_at(pod, {"spec", list}))
      all.emplace_back(string_at(container, {"name"}));
  const auto pod_name = string_at(pod, {"metadata", "name"});
  if (name.empty()) {
    const auto& containers = array_at(pod, {"spec", "containers"});
    if (const auto chosen = find(pod, {"metadata", "annotations"}); chosen && chosen->is_object())
      if (const auto* value =
              chosen->get_object().if_contains("kubectl.kubernetes.io/default-container");
          value && value->is_string())
        name = std::string(value->get_string());
    if (name.empty() && containers.size() == 1) name = string_at(containers[0], {"name"});
    if (name.empty()) {
      std::string list;
      for (const auto& container : containers)
        list += (list.empty() ? "" : " ") + std::string(string_at(container, {"name"}));
      return failed(bad_request(fmt::format(
          "a container name must be specified for pod {}, choose one of: [{}]", pod_name, list)));
    }
  }
  if (std::ranges::find(all, name) == all.end())
    return failed(bad_request(fmt::format("container {} is not valid for pod {}", name, pod_name)));
  return name;
}

Result<LogOptions> read_log_options(const QueryMap& query, Time now) {
  LogOptions options;
  options.follow = is_true(first(query, "follow"));
  options.previous = is_true(first(query, "previous"));
  options.timestamps = is_true(first(query, "timestamps"));
  for (const auto& [name, slot] : {std::pair{"tailLines", &options.tail_lines},
                                   std::pair{"limitBytes", &options.limit_bytes}}) {
    auto value = number(query, name);
    if (!value) return failed(value.error());
    *slot = *value;
  }
  auto seconds = number(query, "sinceSeconds");
  if (!seconds) return failed(seconds.error());
  if (*seconds) options.since = now - std::chrono::seconds{**seconds};
  if (const auto since = first(query, "sinceTime"); !since.empty()) {
    auto time = parse_rfc3339(since);
    if (!time) return failed(bad_request(fmt::format("sinceTime: {}", time.error().message)));
    options.since = *time;
  }
  return options;
}

}  // namespace

HttpAnswer HttpRouter::pod_stream(const Kind& kind, const Route& route, const HttpRequest& http) {
  auto pod = rest_.get(kind, route.request.namespace_, route.request.name);
  if (!pod) return error_answer(pod.error());
  if (!rest_.backend)
    return error_answer({.code = ErrorCode::Unavailable,
                         .message = "no node answers for this Pod",
                         .http_status = 503});
  const auto& sub = route.request.subresource;
  PodStream stream;
  stream.target.namespace_ = route.request.namespace_;
  stream.target.pod = route.request.name;
  stream.target.uid = string_at(*pod, {"metadata", "uid"});
  stream.target.node = string_at(*pod, {"spec", "nodeName"});
  if (stream.target.node.empty())
    return sub == "log" ? text_answer("")
                        : error_answer(bad_request(fmt::format(
                              "pod {} does not have a host assigned", stream.target.pod)));
  if (sub != "portforward") {
    auto container = choose_container(*pod, first(route.query, "container"));
    if (!container) return error_answer(container.error());
    stream.target.container = std::move(*container);
  }
  if (sub == "log") {
    auto options = read_log_options(route.query, rest_.loop().now());
    if (!options) return error_answer(options.error());
    stream.kind = PodStreamKind::Log;
    stream.log = std::move(*options);
  } else if (sub == "portforward") {
    stream.kind = PodStreamKind::PortForward;
    if (auto ports = route.query.find("ports"); ports != route.query.end())
      for (const auto& text : ports->second)
        for (const auto& one : split_text(text, ','))
          stream.ports.push_back(static_cast<std::uint16_t>(std::atoi(one.c_str())));
  } else {
    stream.kind = sub == "exec" ? PodStreamKind::Exec : PodStreamKind::Attach;
    auto& exec = stream.exec;
    if (auto command = route.query.find("command"); command != route.query.end() && sub == "exec")
      exec.command = command->second;
    exec.with_stdin = is_true(first(route.query, "stdin"));
    exec.with_stdout = is_true(first(route.query, "stdout"));
    exec.with_stderr = is_true(first(route.query, "stderr"));
    exec.tty = is_true(first(route.query, "tty"));
    if (sub == "exec" && exec.command.empty())
      return error_answer(bad_request("you must specify at least one command for the container"));
    if (exec.tty) exec.with_stderr = false;
    exec.target = stream.target;
  }
  HttpAnswer answer;
  answer.pod_stream = std::move(stream);
  return answer;
}

HttpAnswer HttpRouter::proxy(const Route& route) {
  // name is [scheme:]name[:port].
  auto parts = split_text(route.request.name, ':');
  if (parts.size() == 3) parts.erase(parts.begin());
  const auto name = parts.front();
  const std::string port = parts.size() > 1 ? parts[1] : "";
  ProxyTarget target;
  target.path = route.rest.empty() ? "/" : route.rest;
  if (const auto raw = raw_query(route.query); !raw.empty()) target.path += "?" + raw;
  auto object = rest_.get(*route.kind, route.request.namespace_, name);
  if (!object) return error_answer(object.error());
  auto unavailable = [&](std::string_view why) {
    return error_answer(
        {.code = ErrorCode::Unavailable, .message = std::string(why), .http_status = 503});
  };
  auto number_of = [](std::string_view text) {
    return static_cast<std::uint16_t>(std::atoi(std::string(text).c_str()));
  };
  if (is_pods(*route.kind)) {
    target.host = string_at(*object, {"status", "podIP"});
    target.port = port.empty() ? 80 : number_of(port);
    if (port.empty())
      if (const auto& containers = array_at(*object, {"spec", "containers"}); !containers.empty())
        if (const auto& ports = array_at(containers[0], {"ports"}); !ports.empty())
          target.port = static_cast<std::uint16_t>(int_at(ports[0], {"containerPort"}));
    if (target.host.empty()) return unavailable("address not allowed");
  } else {
    const Json* chosen = nullptr;
    for (const auto& entry : array_at(*object, {"spec", "ports"}))
      if (port.empty() || string_at(entry, {"name"}) == port ||
          std::to_string(int_at(entry, {"port"})) == port) {
        chosen = &entry;
        break;
      }
    if (!chosen)
      return unavailable(
          fmt::format("no service port \"{}\" found for service \"{}\"", port, name));
    // A ready Pod that the Service selects; its own port by name, else by number.
    auto labels = find(*object, {"spec", "selector"});
    kube::StringMap wanted;
    if (labels && labels->is_object())
      for (const auto& [key, value] : labels->get_object())
        if (value.is_string()) wanted.emplace(key, value.get_string());
    kube::Request pods;
    pods.namespace_ = route.request.namespace_;
    pods.label_selector = kube::LabelSelector::equals(wanted).to_string();
    const auto pod_kind = rest_.kinds().find("", "v1", "pods");
    auto page = rest_.list(*pod_kind, pods);
    if (!page || wanted.empty())
      return unavailable(fmt::format("no endpoints available for service \"{}\"", name));
    for (const auto& text : page->items) {
      auto pod = parse_json(*text);
      if (!pod || string_at(*pod, {"status", "podIP"}).empty()) continue;
      const bool ready =
          std::ranges::any_of(array_at(*pod, {"status", "conditions"}), [](const Json& condition) {
            return string_at(condition, {"type"}) == "Ready" &&
                   string_at(condition, {"status"}) == "True";
          });
      if (!ready && !bool_at(*object, {"spec", "publishNotReadyAddresses"})) continue;
      target.host = string_at(*pod, {"status", "podIP"});
      const auto* to = find(*chosen, {"targetPort"});
      target.port = static_cast<std::uint16_t>(to && to->is_int64() ? to->get_int64()
                                                                    : int_at(*chosen, {"port"}));
      if (to && to->is_string())
        for (const auto& container : array_at(*pod, {"spec", "containers"}))
          for (const auto& entry : array_at(container, {"ports"}))
            if (string_at(entry, {"name"}) == to->get_string())
              target.port = static_cast<std::uint16_t>(int_at(entry, {"containerPort"}));
      break;
    }
    if (target.host.empty())
      return unavailable(fmt::format("no endpoints available for service \"{}\"", name));
  }
  HttpAnswer answer;
  answer.proxy = std::move(target);
  return answer;
}

}  // namespace manta::local
