// Reading: get, list with selectors and pages.
#include "base/hash.h"
#include "fmt/format.h"
#include "local/apiserver/conversion.h"
#include "local/apiserver/crd.h"
#include "local/apiserver/rest.h"
#include "local/apiserver/strategy.h"

#include <algorithm>
#include <charconv>

namespace manta::local {
namespace {

/// Fields that objects can be selected by, beside metadata.name and metadata.namespace.
std::vector<std::string_view> selectable_fields(const Kind& kind) {
  const auto& plural = kind.resource.plural;
  if (!kind.builtin())
    return {kind.crd->selectable_fields.begin(), kind.crd->selectable_fields.end()};
  if (kind.resource.group.empty()) {
    if (plural == "pods")
      return {"spec.nodeName",      "spec.restartPolicy",
              "spec.schedulerName", "spec.serviceAccountName",
              "spec.hostNetwork",   "status.phase",
              "status.podIP",       "status.nominatedNodeName"};
    if (plural == "events")
      return {"involvedObject.kind",
              "involvedObject.namespace",
              "involvedObject.name",
              "involvedObject.uid",
              "involvedObject.apiVersion",
              "involvedObject.resourceVersion",
              "involvedObject.fieldPath",
              "reason",
              "reportingComponent",
              "source",
              "type"};
    if (plural == "secrets") return {"type"};
    if (plural == "namespaces") return {"status.phase"};
    if (plural == "nodes") return {"spec.unschedulable"};
    if (plural == "services") return {"spec.clusterIP", "spec.type"};
    if (plural == "replicationcontrollers") return {"status.replicas"};
  }
  if (plural == "events")
    return {"regarding.kind",       "regarding.namespace",
            "regarding.name",       "regarding.uid",
            "regarding.apiVersion", "regarding.resourceVersion",
            "regarding.fieldPath",  "reason",
            "reportingController",  "type"};
  if (plural == "jobs") return {"status.successful"};
  if (plural == "replicasets") return {"status.replicas"};
  return {};
}

std::string text_of(const Json* value) {
  if (!value || value->is_null()) return {};
  if (value->is_string()) return std::string(value->get_string());
  return dump_json(*value);
}

std::string field_value(const Json& object, std::string_view field) {
  if (field.starts_with('.')) field.remove_prefix(1);
  // Events may be asked in either view's words; the stored ones are core's.
  std::string path(field);
  if (path.starts_with("regarding.")) path = "involvedObject." + path.substr(10);
  if (path == "reportingController") path = "reportingComponent";
  if (path == "source") path = "source.component";
  if (path == "status.successful") path = "status.succeeded";
  const Json* at = &object;
  std::string_view rest = path;
  while (at && at->is_object()) {
    const auto dot = rest.find('.');
    at = at->get_object().if_contains(rest.substr(0, dot));
    if (dot == std::string_view::npos) break;
    rest.remove_prefix(dot + 1);
  }
  auto text = text_of(at);
  if (text.empty() && (field == "spec.hostNetwork" || field == "spec.unschedulable"))
    return "false";
  if (text.empty() && (field == "status.successful" || field == "status.replicas")) return "0";
  return text;
}

std::string_view trim(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  return text;
}

/// `\,`, `\=` and `\\` stand for themselves.
std::string unescape(std::string_view text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 1 < text.size()) ++i;
    plain += text[i];
  }
  return plain;
}

struct Continue {
  Revision revision = 0;
  std::string start = {};  // the last key given, without the prefix
};

std::string write_continue(const Continue& at) {
  JsonObject token{{"v", "meta.k8s.io/v1"},
                   {"rv", static_cast<std::int64_t>(at.revision)},
                   {"start", at.start + std::string(1, '\0')}};
  auto text = base64_encode(dump_json(token));
  std::replace(text.begin(), text.end(), '+', '-');
  std::replace(text.begin(), text.end(), '/', '_');
  while (text.ends_with('=')) text.pop_back();
  return text;
}

Result<Continue> read_continue(std::string text) {
  std::replace(text.begin(), text.end(), '-', '+');
  std::replace(text.begin(), text.end(), '_', '/');
  while (text.size() % 4) text += '=';
  auto plain = base64_decode(text);
  if (!plain) return failed(bad_request("continue key is not valid"));
  auto token = parse_json(*plain);
  if (!token || string_at(*token, {"v"}) != "meta.k8s.io/v1")
    return failed(bad_request("continue key is not valid"));
  std::string start(string_at(*token, {"start"}));
  if (start.ends_with('\0')) start.pop_back();
  return Continue{static_cast<Revision>(int_at(*token, {"rv"})), std::move(start)};
}

}  // namespace

Result<Selection> Selection::parse(const Kind& kind, const std::string& labels,
                                   const std::string& fields) {
  Selection selection;
  if (!labels.empty()) {
    auto parsed = kube::LabelSelector::parse(labels);
    if (!parsed)
      return failed(
          bad_request(fmt::format("unable to parse requirement: {}", parsed.error().message)));
    selection.labels_ = std::move(*parsed);
    // "a=b" and "a==b" terms give a text to look for before parsing.
    std::string_view rest = labels;
    if (rest.find_first_of("()!\\\"") == std::string_view::npos)
      while (!rest.empty()) {
        const auto comma = rest.find(',');
        const auto term = rest.substr(0, comma);
        const auto equal = term.find('=');
        if (equal != std::string_view::npos) {
          auto value = term.substr(equal + 1);
          if (value.starts_with('=')) value.remove_prefix(1);
          selection.needles_.push_back(
              fmt::format("\"{}\":\"{}\"", trim(term.substr(0, equal)), trim(value)));
        }
        if (comma == std::string_view::npos) break;
        rest.remove_prefix(comma + 1);
      }
  }
  std::string_view rest = fields;
  while (!rest.empty()) {
    std::size_t end = 0;
    while (end < rest.size() && rest[end] != ',') end += rest[end] == '\\' ? 2 : 1;
    const auto term = rest.substr(0, end);
    rest.remove_prefix(std::min(rest.size(), end + 1));
    const auto equal = term.find('=');
    if (equal == std::string_view::npos)
      return failed(bad_request(fmt::format(
          "unable to find \"fieldSelector\" that matches: invalid selector: '{}'; can't understand "
          "'{}'",
          fields, term)));
    FieldTerm made;
    made.equal = !(equal > 0 && term[equal - 1] == '!');
    made.field = trim(term.substr(0, made.equal ? equal : equal - 1));
    auto value = term.substr(equal + 1);
    if (value.starts_with('=')) value.remove_prefix(1);
    made.value = unescape(trim(value));
    const bool known = made.field == "metadata.name" ||
                       (made.field == "metadata.namespace" && kind.resource.namespaced) ||
                       std::ranges::any_of(selectable_fields(kind), [&](std::string_view field) {
                         return field == made.field || field == "." + made.field;
                       });
    if (!known)
      return failed(bad_request(kind.builtin()
                                    ? fmt::format("field label not supported: {}", made.field)
                                    : fmt::format("field label not supported: {}", made.field)));
    selection.fields_.push_back(std::move(made));
  }
  return selection;
}

bool Selection::may_match(std::string_view text) const {
  return std::ranges::all_of(
      needles_, [&](const std::string& needle) { return text.find(needle) != text.npos; });
}

bool Selection::matches(const Json& object) const {
  for (const auto& term : fields_)
    if ((field_value(object, term.field) == term.value) != term.equal) return false;
  if (labels_.empty()) return true;
  kube::StringMap labels;
  for (const auto& [key, value] : object_at(object, {"metadata", "labels"}))
    if (value.is_string()) labels.emplace(key, value.get_string());
  return labels_.matches(labels);
}

std::optional<std::string> Selection::only_name() const {
  for (const auto& term : fields_)
    if (term.field == "metadata.name" && term.equal) return term.value;
  return std::nullopt;
}

Json Rest::to_version(const Kind& kind, Json object) const {
  return from_storage(kind, std::move(object));
}
bool Rest::same_version(const Kind& kind) const { return stored_as_is(kind); }

Result<std::optional<Json>> Rest::read(const Kind& kind, std::string_view namespace_,
                                       std::string_view name) {
  auto stored = store_.get(kind.key(namespace_, name));
  if (!stored) return failed(stored.error());
  if (!*stored) return std::optional<Json>();
  auto object = parse_json((*stored)->text);
  if (!object) return failed(object.error().in("reading the store"));
  return std::optional<Json>(from_storage(kind, std::move(*object)));
}

Result<Json> Rest::get(const Kind& kind, const std::string& namespace_, const std::string& name) {
  auto object = read(kind, namespace_, name);
  if (!object) return failed(object.error());
  if (!*object) return failed(not_found(kind.resource, name));
  return std::move(**object);
}

static Result<Revision> parse_revision(const std::string& text) {
  Revision revision = 0;
  auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), revision);
  if (code != std::errc() || end != text.data() + text.size())
    return failed(bad_request(fmt::format(
        "Invalid value: \"{}\": strconv.ParseUint: parsing \"{}\": invalid syntax", text, text)));
  return revision;
}

Result<ListPage> Rest::list(const Kind& kind, const kube::Request& request) {
  auto selection = Selection::parse(kind, request.label_selector, request.field_selector);
  if (!selection) return failed(selection.error());
  const std::string prefix = request.namespace_.empty() || !kind.resource.namespaced
                                 ? kind.prefix
                                 : fmt::format("{}{}/", kind.prefix, request.namespace_);
  ListPage page;
  Revision at = store_.revision();
  std::string after;
  if (!request.continue_.empty()) {
    if (!request.resource_version.empty() && request.resource_version != "0")
      return failed(bad_request("specifying resource version is not allowed when using continue"));
    auto token = read_continue(request.continue_);
    if (!token) return failed(token.error());
    at = token->revision;
    after = kind.prefix + token->start;
  } else if (!request.resource_version.empty() && request.resource_version != "0") {
    auto revision = parse_revision(request.resource_version);
    if (!revision) return failed(revision.error());
    if (*revision > store_.revision()) {
      Error error{.code = ErrorCode::Timeout,
                  .message = fmt::format("Timeout: Too large resource version: {}, current: {}",
                                         *revision, store_.revision()),
                  .http_status = 504,
                  .retry_after = std::chrono::seconds{1}};
      error.causes.push_back({"", "ResourceVersionTooLarge", "Too large resource version"});
      return failed(std::move(error));
    }
    if (request.resource_version_match == "Exact") at = *revision;
  }
  page.resource_version = std::to_string(at);

  const auto limit = static_cast<std::size_t>(std::max<std::int64_t>(request.limit, 0));
  auto wanted = [&](const StoredObject& object) {
    if (selection->everything()) return true;
    if (!selection->may_match(object.text)) return false;
    auto parsed = parse_json(object.text);
    return parsed && selection->matches(*parsed);
  };
  auto take = [&](StoredObject& object) {
    page.items.push_back(std::make_shared<const std::string>(std::move(object.text)));
  };

  if (at < store_.revision()) {
    auto old = store_.list_at(prefix, at);
    if (!old)
      return failed(
          Error{.code = ErrorCode::Expired,
                .message =
                    request.continue_.empty()
                        ? old.error().message
                        : "The provided continue parameter is too old to display a consistent list "
                          "result. You must start a new list without the continue parameter.",
                .http_status = 410});
    std::string last;
    for (auto& object : *old) {
      if (object.key <= after || !wanted(object)) continue;
      if (limit && page.items.size() == limit) {
        page.continue_ = write_continue({at, last.substr(kind.prefix.size())});
        break;
      }
      last = object.key;
      take(object);
    }
    return page;
  }

  std::string last;
  while (true) {
    const std::size_t chunk = limit ? limit + 1 : 512;
    auto found = store_.list(prefix, after, chunk);
    if (!found) return failed(found.error());
    for (auto& object : *found) {
      after = object.key;
      if (!wanted(object)) continue;
      if (limit && page.items.size() == limit) {
        page.continue_ = write_continue({at, last.substr(kind.prefix.size())});
        if (selection->everything()) {
          auto left = store_.count(prefix, last);
          if (left) page.remaining = *left;
        }
        return page;
      }
      last = object.key;
      take(object);
    }
    if (found->size() < chunk) return page;
  }
}

Json Rest::list_document(const Kind& kind, const ListPage& page) {
  JsonArray items;
  items.reserve(page.items.size());
  for (const auto& text : page.items) {
    auto object = parse_json(*text);
    if (object) items.push_back(from_storage(kind, std::move(*object)));
  }
  JsonObject metadata{{"resourceVersion", page.resource_version}};
  if (!page.continue_.empty()) metadata["continue"] = page.continue_;
  if (page.remaining) metadata["remainingItemCount"] = *page.remaining;
  return JsonObject{{"kind", kind.list_kind},
                    {"apiVersion", kind.resource.api_version()},
                    {"metadata", std::move(metadata)},
                    {"items", std::move(items)}};
}

Result<KindPtr> Rest::kind_of(const kube::Resource& resource) const {
  auto kind = kinds_.find(resource.group, resource.version, resource.plural);
  if (!kind)
    return failed(Error{.code = ErrorCode::NotFound,
                        .message = "the server could not find the requested resource",
                        .http_status = 404});
  return kind;
}

}  // namespace manta::local
