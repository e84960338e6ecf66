// Hands the store's changes to watchers: one parse a change, shared by all of them.
#pragma once

#include "base/async.h"
#include "base/json.h"
#include "base/loop.h"
#include "kube/api.h"
#include "local/apiserver/kinds.h"
#include "local/apiserver/selection.h"
#include "local/apiserver/store.h"

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace manta::local {

/// One event of a watch. The text is the object as asked for; `object` the same, parsed once and
/// shared by all watchers.
struct WatchItem {
  kube::WatchEventType type = kube::WatchEventType::Added;
  std::shared_ptr<const Json> object = {};
  std::size_t bytes = 0;  // of a change's text; the state that a watch starts with counts for none
};

struct WatchOptions {
  bool bookmarks = true;
  bool send_initial = false;  // sendInitialEvents: state first, then a marked bookmark
};

class Watcher {
 public:
  static constexpr std::size_t kMaxQueued = 20'000;
  static constexpr std::size_t kMaxQueuedBytes = 16 << 20;

  Watcher(Loop& loop, KindPtr kind, std::string prefix, Selection selection);

  /// The next event; nothing when the stream has ended.
  Task<std::optional<WatchItem>> next();
  void end() { queue_.close(); }
  std::size_t queued() const { return queue_.size(); }
  /// Text of the changes that wait here: what a slow reader keeps alive. Never above
  /// kMaxQueuedBytes and one change.
  std::size_t queued_bytes() const { return queued_bytes_; }
  /// Set when the stream ended for a reason: Expired when the reader was too slow.
  const std::optional<Error>& error() const { return error_; }

 private:
  friend class WatchHub;
  void push(WatchItem item);

  KindPtr kind_;
  std::string prefix_;
  Selection selection_;
  Channel<WatchItem> queue_;
  std::optional<Error> error_ = {};
  bool bookmarks_ = true;
  std::size_t queued_bytes_ = 0;
  Revision told_ = 0;  // the newest revision that the reader knows of
};

/// Objects that somebody still holds, so that a thousand watches that start at once share them.
class ParsedObjects {
 public:
  /// Null when the text is no JSON.
  std::shared_ptr<const Json> of(const std::string& key, Revision revision, std::string_view text);
  std::size_t size() const { return known_.size(); }

 private:
  struct Known {
    Revision revision = 0;
    std::weak_ptr<const Json> object = {};
  };
  std::map<std::string, Known, std::less<>> known_ = {};
  std::size_t look_at_ = 64;  // how many there may be before those that nobody holds go
};

/// Hands the store's changes to watchers, each parsed once.
class WatchHub {
 public:
  WatchHub(Loop& loop, Store& store);
  Result<std::shared_ptr<Watcher>> open(KindPtr kind, const kube::WatchRequest& request,
                                        WatchOptions options);
  /// Ends every watch of a kind that is gone or changed.
  void end_all(std::string_view prefix);
  std::size_t size() const;

 private:
  void offer(Watcher& watcher, const StoreChange& change, std::shared_ptr<const Json>& before,
             std::shared_ptr<const Json>& after);
  Result<void> send_state(Watcher& watcher, bool mark_end);

  Loop& loop_;
  Store& store_;
  ParsedObjects parsed_ = {};
  std::vector<std::weak_ptr<Watcher>> watchers_ = {};
  std::shared_ptr<void> subscription_ = {};
};

}  // namespace manta::local
