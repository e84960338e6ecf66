// Objects, lists and watch events in the form that the client accepts: whole, as metadata only, or
// as a Table.
#include "fmt/format.h"
#include "local/apiserver/conversion.h"
#include "local/apiserver/http_route.h"
#include "local/apiserver/table.h"

#include <utility>

namespace manta::local {
namespace {

Json partial(const Json& object) {
  return JsonObject{{"kind", "PartialObjectMetadata"},
                    {"apiVersion", "meta.k8s.io/v1"},
                    {"metadata", object_at(object, {"metadata"})}};
}

JsonObject version_metadata(const Json& object) {
  return {{"resourceVersion", string_at(object, {"metadata", "resourceVersion"})}};
}

std::string_view event_name(kube::WatchEventType type) {
  switch (type) {
    case kube::WatchEventType::Added:
      return "ADDED";
    case kube::WatchEventType::Modified:
      return "MODIFIED";
    case kube::WatchEventType::Deleted:
      return "DELETED";
    case kube::WatchEventType::Bookmark:
      return "BOOKMARK";
  }
  return "BOOKMARK";
}

/// The stored texts are what is asked for: no need to read and write them again.
HttpAnswer joined_answer(const Kind& kind, ListPage& page, JsonObject metadata) {
  HttpAnswer answer;
  std::size_t size = 256;
  for (const auto& text : page.items) size += text->size() + 1;
  answer.body.reserve(size);
  answer.body += fmt::format("{{\"kind\":\"{}\",\"apiVersion\":\"{}\",\"metadata\":{},\"items\":[",
                             kind.list_kind, kind.resource.api_version(),
                             dump_json(Json(std::move(metadata))));
  bool comma = false;
  for (auto& text : page.items) {
    if (std::exchange(comma, true)) answer.body += ',';
    answer.body += *text;
    text.reset();
  }
  answer.body += "]}\n";
  return answer;
}

}  // namespace

HttpAnswer HttpRouter::object(const Route& route, Json object, bool created) {
  const auto& kind = *route.kind;
  const bool own = string_at(object, {"kind"}) == kind.resource.kind;
  const int status = created ? 201 : 200;
  if (route.accept.table && own)
    return json_answer(make_table(kind, {object}, version_metadata(object), rest_.loop().now(),
                                  true, first(route.query, "includeObject")),
                       status);
  if (route.accept.metadata && own) return json_answer(partial(object), status);
  return json_answer(object, status);
}

HttpAnswer HttpRouter::list(const Route& route) {
  const auto& kind = *route.kind;
  auto page = rest_.list(kind, route.request);
  if (!page) return error_answer(page.error());
  JsonObject metadata{{"resourceVersion", page->resource_version}};
  if (!page->continue_.empty()) metadata["continue"] = page->continue_;
  if (page->remaining) metadata["remainingItemCount"] = *page->remaining;
  if (route.accept.table || route.accept.metadata)
    return list_documents(route, *page, std::move(metadata));
  if (!stored_as_is(kind)) return json_answer(rest_.list_document(kind, *page));
  return joined_answer(kind, *page, std::move(metadata));
}

HttpAnswer HttpRouter::list_documents(const Route& route, const ListPage& page,
                                      JsonObject metadata) {
  const auto& kind = *route.kind;
  std::vector<Json> objects;
  for (const auto& text : page.items)
    if (auto object = parse_json(*text)) objects.push_back(from_storage(kind, std::move(*object)));
  if (route.accept.table)
    return json_answer(make_table(kind, objects, std::move(metadata), rest_.loop().now(), true,
                                  first(route.query, "includeObject")));
  JsonArray items;
  for (const auto& object : objects) items.push_back(partial(object));
  return json_answer(JsonObject{{"kind", "PartialObjectMetadataList"},
                                {"apiVersion", "meta.k8s.io/v1"},
                                {"metadata", std::move(metadata)},
                                {"items", std::move(items)}});
}

HttpAnswer HttpRouter::watch(const Route& route) {
  kube::WatchRequest request;
  request.resource = route.kind->resource;
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
  auto opened = rest_.hub().open(route.kind, request, options);
  HttpAnswer answer;
  WatchStream stream;
  stream.kind = route.kind;
  stream.table = route.accept.table;
  stream.metadata_only = route.accept.metadata;
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
  auto line = [&](const std::string& object) {
    return fmt::format("{{\"type\":\"{}\",\"object\":{}}}\n", event_name(item.type), object);
  };
  if (stream.table && item.type != kube::WatchEventType::Bookmark)
    return line(dump_json(make_table(*stream.kind, {*item.object}, version_metadata(*item.object),
                                     rest_.loop().now(), std::exchange(stream.table_header, false),
                                     "Metadata")));
  if (stream.metadata_only && item.type != kube::WatchEventType::Bookmark)
    return line(dump_json(partial(*item.object)));
  if (item.object != encoded_item_.object || item.type != encoded_item_.type) {
    encoded_item_ = item;
    encoded_ = line(dump_json(*item.object));
  }
  return encoded_;
}

std::string HttpRouter::encode_error_event(const Error& error) {
  return fmt::format("{{\"type\":\"ERROR\",\"object\":{}}}\n", dump_json(status_of(error)));
}

}  // namespace manta::local
