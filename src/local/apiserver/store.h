// The versioned store under the embedded API server: objects as JSON text under string keys, one
// revision counter for everything, and a bounded memory of recent changes for watches.
//
// SQLite holds the objects (WAL; a file, or in memory for tests), so resident memory is the page
// cache and the watch window, not the objects. Nothing here knows what an object is.
#pragma once

#include "base/result.h"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace manta::local {

using Revision = std::uint64_t;
using SharedText = std::shared_ptr<const std::string>;

struct StoredObject {
  std::string key = {};
  Revision revision = 0;
  std::string text = {};
};

/// One change. `before` is null for a new object, `after` for a deleted one (then `before` is its
/// last state).
struct StoreChange {
  Revision revision = 0;
  std::string key = {};
  SharedText before = {};
  SharedText after = {};
};

struct StoreOptions {
  std::string path = {};                // empty: in memory
  std::size_t history_bytes = 3 << 20;  // of object text kept for watches
  std::size_t history_changes = 20'000;
  std::size_t page_cache_kib = 2'048;
};

class Store {
 public:
  using Listener = std::function<void(const StoreChange&)>;

  /// Opens or makes the database. Fails when the file cannot be used or belongs to a newer Manta.
  static Result<std::unique_ptr<Store>> open(StoreOptions options = {});
  ~Store();
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;

  /// The newest revision. The first write gets one more; a writer that puts the revision into the
  /// text takes next_revision() and writes before anyone else can (one thread, no wait between).
  Revision revision() const { return revision_; }
  Revision next_revision() const { return revision_ + 1; }

  Result<std::optional<StoredObject>> get(std::string_view key);
  /// Keys with the prefix, in order, from `after_key` (exclusive) on; at most `limit` (0: all).
  Result<std::vector<StoredObject>> list(std::string_view prefix, std::string_view after_key = {},
                                         std::size_t limit = 0);
  Result<std::int64_t> count(std::string_view prefix, std::string_view after_key = {});
  /// Inserts or replaces; the new revision.
  Result<Revision> put(std::string_view key, std::string text);
  /// The revision of the deletion. `last_text` is what watchers see as the last state (it may carry
  /// the deletion's own revision). NotFound when there is none.
  Result<Revision> erase(std::string_view key, std::string last_text);

  /// Changes with a key under the prefix, after `since`, oldest first. Expired when the window no
  /// longer reaches back that far.
  Result<std::vector<StoreChange>> changes_since(std::string_view prefix, Revision since) const;
  /// The state of the prefix at an older revision, when the window still reaches it. Expired if
  /// not.
  Result<std::vector<StoredObject>> list_at(std::string_view prefix, Revision revision);
  /// The oldest revision that changes_since() can start from.
  Revision oldest_revision() const { return oldest_; }

  /// Called after every committed change, in order. The answer's destruction ends the subscription.
  std::shared_ptr<void> subscribe(Listener listener);

 private:
  struct Impl;
  explicit Store(std::unique_ptr<Impl> impl, StoreOptions options);
  void remember(StoreChange change);
  SharedText share_text(std::string_view key, std::string text) const;

  std::unique_ptr<Impl> impl_;
  StoreOptions options_;
  Revision revision_ = 0;
  Revision oldest_ = 0;
  std::size_t history_size_ = 0;
  std::deque<StoreChange> history_ = {};
  std::vector<std::weak_ptr<Listener>> listeners_ = {};
};

}  // namespace manta::local
