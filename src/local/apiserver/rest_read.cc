// Reading: get, list with selectors and pages.
#include "base/hash.h"
#include "fmt/format.h"
#include "local/apiserver/conversion.h"
#include "local/apiserver/field_errors.h"
#include "local/apiserver/rest.h"

#include <algorithm>
#include <charconv>

namespace manta::local {
namespace {

/// Where a list goes on: the state it shows, and the last key given before.
struct Continue {
  Revision revision = 0;
  std::string start = {};  // without the prefix; empty: from the beginning
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

Result<Revision> parse_revision(const std::string& text) {
  Revision revision = 0;
  auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), revision);
  if (code != std::errc() || end != text.data() + text.size())
    return failed(bad_request(fmt::format(
        "Invalid value: \"{}\": strconv.ParseUint: parsing \"{}\": invalid syntax", text, text)));
  return revision;
}

Error too_new(Revision wanted, Revision newest) {
  Error error{.code = ErrorCode::Timeout,
              .message = fmt::format("Timeout: Too large resource version: {}, current: {}", wanted,
                                     newest),
              .http_status = 504,
              .retry_after = std::chrono::seconds{1}};
  error.causes.push_back({"", "ResourceVersionTooLarge", "Too large resource version"});
  return error;
}

/// The state and place that the request's version or continue token mean.
Result<Continue> list_start(const kube::Request& request, Revision newest) {
  const bool any_version = request.resource_version.empty() || request.resource_version == "0";
  if (!request.continue_.empty()) {
    if (!any_version)
      return failed(bad_request("specifying resource version is not allowed when using continue"));
    return read_continue(request.continue_);
  }
  if (any_version) return Continue{newest};
  auto revision = parse_revision(request.resource_version);
  if (!revision) return failed(revision.error());
  if (*revision > newest) return failed(too_new(*revision, newest));
  return Continue{request.resource_version_match == "Exact" ? *revision : newest};
}

/// Fills a page with the objects that are wanted.
class PageFiller {
 public:
  PageFiller(const Kind& kind, const Selection& selection, std::size_t limit, Revision at)
      : kind_(kind), selection_(selection), limit_(limit), at_(at) {
    page_.resource_version = std::to_string(at);
  }

  /// False when the page is full and this object belongs to the next.
  bool add(StoredObject& object) {
    if (!is_wanted(object.text)) return true;
    if (limit_ && page_.items.size() == limit_) {
      page_.continue_ = write_continue({at_, last_.substr(kind_.prefix.size())});
      return false;
    }
    last_ = object.key;
    page_.items.push_back(std::make_shared<const std::string>(std::move(object.text)));
    return true;
  }
  const std::string& last_key() const { return last_; }
  ListPage& page() { return page_; }

 private:
  bool is_wanted(const std::string& text) const {
    if (selection_.everything()) return true;
    if (!selection_.may_match(text)) return false;
    auto parsed = parse_json(text);
    return parsed && selection_.matches(*parsed);
  }

  const Kind& kind_;
  const Selection& selection_;
  std::size_t limit_;
  Revision at_;
  ListPage page_ = {};
  std::string last_ = {};
};

/// A state that is gone, or only its later pages are asked for.
Error expired(const kube::Request& request, const Error& why) {
  return {
      .code = ErrorCode::Expired,
      .message = request.continue_.empty()
                     ? why.message
                     : "The provided continue parameter is too old to display a consistent list "
                       "result. You must start a new list without the continue parameter.",
      .http_status = 410};
}

}  // namespace

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

Result<ListPage> Rest::list(const Kind& kind, const kube::Request& request) {
  auto selection = Selection::parse(kind, request.label_selector, request.field_selector);
  if (!selection) return failed(selection.error());
  const auto start = list_start(request, store_.revision());
  if (!start) return failed(start.error());
  const std::string prefix = request.namespace_.empty() || !kind.resource.namespaced
                                 ? kind.prefix
                                 : fmt::format("{}{}/", kind.prefix, request.namespace_);
  std::string after = request.continue_.empty() ? std::string() : kind.prefix + start->start;
  const auto limit = static_cast<std::size_t>(std::max<std::int64_t>(request.limit, 0));
  PageFiller filler(kind, *selection, limit, start->revision);

  if (start->revision < store_.revision()) {
    auto old = store_.list_at(prefix, start->revision);
    if (!old) return failed(expired(request, old.error()));
    for (auto& object : *old)
      if (object.key > after && !filler.add(object)) break;
    return std::move(filler.page());
  }

  const std::size_t chunk = limit ? limit + 1 : 512;
  while (true) {
    auto found = store_.list(prefix, after, chunk);
    if (!found) return failed(found.error());
    for (auto& object : *found) {
      after = object.key;
      if (filler.add(object)) continue;
      if (selection->everything())
        if (auto left = store_.count(prefix, filler.last_key())) filler.page().remaining = *left;
      return std::move(filler.page());
    }
    if (found->size() < chunk) return std::move(filler.page());
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
