#include "kube/http_api_path.h"

#include "kube/http_url.h"

#include <fmt/format.h>

namespace manta::kube {
namespace {

class Query {
 public:
  void add(std::string_view name, std::string_view value) {
    if (value.empty()) return;
    text_ += fmt::format("{}{}={}", text_.empty() ? '?' : '&', name, percent_encode(value));
  }
  void add(std::string_view name, bool set) {
    if (set) add(name, std::string_view("true"));
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_ = {};
};

std::string_view name_of(Propagation propagation) {
  switch (propagation) {
    case Propagation::Default:
      return {};
    case Propagation::Orphan:
      return "Orphan";
    case Propagation::Background:
      return "Background";
    case Propagation::Foreground:
      return "Foreground";
  }
  return {};
}

Payload delete_options(const Request& request) {
  JsonObject options;
  if (request.grace_period_seconds) options["gracePeriodSeconds"] = *request.grace_period_seconds;
  if (const auto propagation = name_of(request.propagation); !propagation.empty())
    options["propagationPolicy"] = propagation;
  JsonObject preconditions;
  if (!request.precondition_uid.empty()) preconditions["uid"] = request.precondition_uid;
  if (!request.precondition_resource_version.empty())
    preconditions["resourceVersion"] = request.precondition_resource_version;
  if (!preconditions.empty()) options["preconditions"] = std::move(preconditions);
  if (request.dry_run) options["dryRun"] = JsonArray{"All"};
  if (options.empty()) return {};
  options["kind"] = "DeleteOptions";
  options["apiVersion"] = "v1";
  return {.content_type = "application/json", .text = dump_json(options)};
}

}  // namespace

std::string path_of(const Resource& resource, std::string_view namespace_, std::string_view name,
                    std::string_view subresource) {
  std::string path = resource.group.empty() ? "/api/" + percent_encode(resource.version)
                                            : "/apis/" + percent_encode(resource.group) + "/" +
                                                  percent_encode(resource.version);
  if (resource.namespaced && !namespace_.empty())
    path += "/namespaces/" + percent_encode(namespace_);
  path += "/" + percent_encode(resource.plural);
  if (!name.empty()) path += "/" + percent_encode(name);
  // A proxy's subresource may have a path behind it: proxy/metrics.
  for (auto rest = subresource; !rest.empty();) {
    const auto segment = rest.substr(0, rest.find('/'));
    path += "/" + percent_encode(segment);
    rest.remove_prefix(std::min(rest.size(), segment.size() + 1));
  }
  return path;
}

std::string target_of(const Request& request) {
  Query query;
  if (request.verb == Verb::List || request.verb == Verb::DeleteCollection) {
    query.add("labelSelector", request.label_selector);
    query.add("fieldSelector", request.field_selector);
    query.add("resourceVersion", request.resource_version);
    query.add("resourceVersionMatch", request.resource_version_match);
    if (request.limit > 0) query.add("limit", std::to_string(request.limit));
    query.add("continue", request.continue_);
  }
  if (request.verb == Verb::Get) query.add("resourceVersion", request.resource_version);
  if (request.verb == Verb::Create || request.verb == Verb::Update || request.verb == Verb::Patch) {
    query.add("fieldManager", request.field_manager);
    query.add("fieldValidation", request.field_validation);
    if (request.dry_run) query.add("dryRun", std::string_view("All"));
  }
  if (request.verb == Verb::Patch && request.patch_type == PatchType::Apply)
    query.add("force", request.force);
  // A created object's name is in its body; only subresources (eviction, token) are below a name.
  const bool is_collection = request.verb == Verb::List || request.verb == Verb::DeleteCollection ||
                             (request.verb == Verb::Create && request.subresource.empty());
  return path_of(request.resource, request.namespace_, is_collection ? "" : request.name,
                 request.subresource) +
         query.text();
}

std::string target_of(const WatchRequest& request) {
  Query query;
  query.add("watch", true);
  query.add("labelSelector", request.label_selector);
  query.add("fieldSelector", request.field_selector);
  query.add("resourceVersion", request.resource_version);
  query.add("allowWatchBookmarks", request.bookmarks);
  const auto seconds = std::chrono::ceil<std::chrono::seconds>(request.timeout).count();
  if (seconds > 0) query.add("timeoutSeconds", std::to_string(seconds));
  return path_of(request.resource, request.namespace_, "", "") + query.text();
}

std::string method_of(Verb verb) {
  switch (verb) {
    case Verb::Get:
    case Verb::List:
      return "GET";
    case Verb::Create:
      return "POST";
    case Verb::Update:
      return "PUT";
    case Verb::Patch:
      return "PATCH";
    case Verb::Delete:
    case Verb::DeleteCollection:
      return "DELETE";
  }
  return "GET";
}

Payload payload_of(const Request& request) {
  switch (request.verb) {
    case Verb::Get:
    case Verb::List:
      return {};
    case Verb::Delete:
    case Verb::DeleteCollection:
      return delete_options(request);
    case Verb::Create:
    case Verb::Update:
      return {.content_type = "application/json", .text = dump_json(request.body)};
    case Verb::Patch:
      break;
  }
  const auto type = [&]() -> std::string {
    switch (request.patch_type) {
      case PatchType::Json:
        return "application/json-patch+json";
      case PatchType::Merge:
        return "application/merge-patch+json";
      case PatchType::Strategic:
        return "application/strategic-merge-patch+json";
      case PatchType::Apply:
        return "application/apply-patch+yaml";  // JSON is YAML
    }
    return {};
  }();
  return {.content_type = type, .text = dump_json(request.body)};
}

std::string warning_text(std::string_view header) {
  const auto open = header.find('"');
  if (open == std::string_view::npos) return std::string(header);
  std::string text;
  for (std::size_t i = open + 1; i < header.size() && header[i] != '"'; ++i) {
    if (header[i] == '\\' && i + 1 < header.size()) ++i;
    text += header[i];
  }
  return text;
}

}  // namespace manta::kube
