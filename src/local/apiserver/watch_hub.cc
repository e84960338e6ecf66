#include "local/apiserver/watch_hub.h"

#include "fmt/format.h"
#include "local/apiserver/conversion.h"
#include "local/apiserver/field_errors.h"
#include "local/apiserver/json_edit.h"

#include <algorithm>
#include <charconv>

namespace manta::local {
namespace {

std::shared_ptr<const Json> parse_shared(const SharedText& text) {
  if (!text) return nullptr;
  auto object = parse_json(*text);
  return object ? std::make_shared<const Json>(std::move(*object)) : nullptr;
}

std::shared_ptr<const Json> converted(const Kind& kind, const std::shared_ptr<const Json>& object) {
  if (stored_as_is(kind)) return object;
  return std::make_shared<const Json>(from_storage(kind, *object));
}

constexpr Revision kBookmarkEvery = 500;

std::shared_ptr<const Json> bookmark(const Kind& kind, Revision revision, bool initial_end) {
  JsonObject metadata{{"resourceVersion", std::to_string(revision)}};
  // A reflector that asked for the state first waits for this mark. Source: KEP-3157.
  if (initial_end) metadata["annotations"] = JsonObject{{"k8s.io/initial-events-end", "true"}};
  return std::make_shared<const Json>(JsonObject{{"kind", kind.resource.kind},
                                                 {"apiVersion", kind.resource.api_version()},
                                                 {"metadata", std::move(metadata)}});
}

}  // namespace

Watcher::Watcher(Loop& loop, KindPtr kind, std::string prefix, Selection selection)
    : kind_(std::move(kind)),
      prefix_(std::move(prefix)),
      selection_(std::move(selection)),
      queue_(loop) {}

Task<std::optional<WatchItem>> Watcher::next() {
  auto item = co_await queue_.next();
  if (item) queued_bytes_ -= item->bytes;
  co_return item;
}

void Watcher::push(WatchItem item) {
  queued_bytes_ += item.bytes;
  queue_.push(std::move(item));
}

std::shared_ptr<const Json> ParsedObjects::of(const std::string& key, Revision revision,
                                              std::string_view text) {
  auto& known = known_[key];
  if (known.revision == revision)
    if (auto object = known.object.lock()) return object;
  auto parsed = parse_json(text);
  if (!parsed) return nullptr;
  auto object = std::make_shared<const Json>(std::move(*parsed));
  known = {revision, object};
  if (known_.size() > look_at_) {
    std::erase_if(known_, [](const auto& entry) { return entry.second.object.expired(); });
    look_at_ = std::max<std::size_t>(64, 2 * known_.size());
  }
  return object;
}

WatchHub::WatchHub(Loop& loop, Store& store) : loop_(loop), store_(store) {
  subscription_ = store_.subscribe([this](const StoreChange& change) {
    std::shared_ptr<const Json> before, after;
    bool ended = false;
    for (const auto& weak : watchers_) {
      auto watcher = weak.lock();
      if (!watcher) {
        ended = true;
        continue;
      }
      if (change.key.starts_with(watcher->prefix_)) offer(*watcher, change, before, after);
      // Quiet watches learn now and then where the store stands, so that they can resume from
      // there. Counted in changes, not time: an idle store needs no bookmarks and no timer.
      if (watcher->bookmarks_ && change.revision >= watcher->told_ + kBookmarkEvery) {
        watcher->told_ = change.revision;
        watcher->push(
            {kube::WatchEventType::Bookmark, bookmark(*watcher->kind_, change.revision, false)});
      }
    }
    if (ended) std::erase_if(watchers_, [](const auto& weak) { return weak.expired(); });
  });
}

std::size_t WatchHub::size() const { return watchers_.size(); }

void WatchHub::end_all(std::string_view prefix) {
  for (const auto& weak : watchers_)
    if (auto watcher = weak.lock())
      if (watcher->kind_->prefix == prefix) watcher->end();
}

void WatchHub::offer(Watcher& watcher, const StoreChange& change,
                     std::shared_ptr<const Json>& before, std::shared_ptr<const Json>& after) {
  const auto& selection = watcher.selection_;
  auto matches = [&](const SharedText& text, std::shared_ptr<const Json>& parsed) {
    if (!text || !selection.may_match(*text)) return false;
    if (selection.everything()) return true;
    if (!parsed) parsed = parse_shared(text);
    return parsed && selection.matches(*parsed);
  };
  const bool was = matches(change.before, before);
  const bool is = matches(change.after, after);
  if (!was && !is) return;
  if (watcher.queue_.size() >= Watcher::kMaxQueued ||
      watcher.queued_bytes_ >= Watcher::kMaxQueuedBytes) {
    // A reader this slow lists again; holding everything for it would cost everyone's memory.
    watcher.error_ = Error{
        .code = ErrorCode::Expired, .message = "the watch fell too far behind", .http_status = 410};
    watcher.end();
    return;
  }
  auto& parsed = is ? after : before;
  if (!parsed) parsed = parse_shared(is ? change.after : change.before);
  if (!parsed) return;
  auto object = parsed;
  if (!is && change.after) {
    // It left the selection: its last matching state, at this change's revision.
    Json last = *parsed;
    object_made_at(last, {"metadata"})["resourceVersion"] = std::to_string(change.revision);
    object = std::make_shared<const Json>(std::move(last));
  }
  const auto type = is ? (was ? kube::WatchEventType::Modified : kube::WatchEventType::Added)
                       : kube::WatchEventType::Deleted;
  watcher.told_ = change.revision;
  const auto& text = is ? change.after : change.before;
  watcher.push({type, converted(*watcher.kind_, object), text->size()});
}

Result<void> WatchHub::send_state(Watcher& watcher, bool mark_end) {
  std::string after;
  while (true) {
    auto found = store_.list(watcher.prefix_, after, 256);
    if (!found) return failed(found.error());
    for (auto& stored : *found) {
      after = stored.key;
      if (!watcher.selection_.may_match(stored.text)) continue;
      const auto object = parsed_.of(stored.key, stored.revision, stored.text);
      if (!object || !watcher.selection_.matches(*object)) continue;
      watcher.push({kube::WatchEventType::Added, converted(*watcher.kind_, object)});
    }
    if (found->size() < 256) break;
  }
  if (mark_end)
    watcher.push(
        {kube::WatchEventType::Bookmark, bookmark(*watcher.kind_, store_.revision(), true)});
  return {};
}

Result<std::shared_ptr<Watcher>> WatchHub::open(KindPtr kind, const kube::WatchRequest& request,
                                                WatchOptions options) {
  auto selection = Selection::parse(*kind, request.label_selector, request.field_selector);
  if (!selection) return failed(selection.error());
  const std::string prefix = request.namespace_.empty() || !kind->resource.namespaced
                                 ? kind->prefix
                                 : fmt::format("{}{}/", kind->prefix, request.namespace_);
  auto watcher = std::make_shared<Watcher>(loop_, kind, prefix, std::move(*selection));
  watcher->bookmarks_ = options.bookmarks;
  watcher->told_ = store_.revision();
  const auto& text = request.resource_version;
  if (text.empty() || text == "0" || options.send_initial) {
    if (auto sent = send_state(*watcher, options.send_initial); !sent) return failed(sent.error());
  } else {
    Revision since = 0;
    auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), since);
    if (code != std::errc() || end != text.data() + text.size())
      return failed(bad_request(fmt::format("Invalid resource version: {}", text)));
    // A version from another life of the store (an in-memory one was restarted): the client must
    // list again, or it would wait for a past that never comes.
    if (since > store_.revision())
      return failed(Error{
          .code = ErrorCode::Expired,
          .message = fmt::format("too new resource version: {} ({})", since, store_.revision()),
          .http_status = 410});
    auto changes = store_.changes_since(prefix, since);
    if (!changes) {
      auto error = changes.error();
      error.http_status = 410;
      return failed(std::move(error));
    }
    for (const auto& change : *changes) {
      std::shared_ptr<const Json> before, after;
      if (change.after) after = parsed_.of(change.key, change.revision, *change.after);
      offer(*watcher, change, before, after);
    }
    // A watch that has seen nothing for long still learns where the store stands.
    if (options.bookmarks && since < store_.revision())
      watcher->push({kube::WatchEventType::Bookmark, bookmark(*kind, store_.revision(), false)});
  }
  watchers_.push_back(watcher);
  return watcher;
}

}  // namespace manta::local
