#include "local/apiserver/store.h"

#include "fmt/format.h"

#include <sqlite3.h>

#include <algorithm>
#include <map>

namespace manta::local {
namespace {

constexpr int kFormat = 1;

/// The smallest key that no key with this prefix reaches.
std::string prefix_end(std::string_view prefix) {
  std::string end(prefix);
  while (!end.empty() && static_cast<unsigned char>(end.back()) == 0xff) end.pop_back();
  if (!end.empty()) ++end.back();
  return end;
}

/// A prepared statement, reset after each use so that no read transaction lingers.
class Statement {
 public:
  ~Statement() { sqlite3_finalize(handle_); }
  bool prepare(sqlite3* db, const char* sql) {
    return sqlite3_prepare_v3(db, sql, -1, SQLITE_PREPARE_PERSISTENT, &handle_, nullptr) ==
           SQLITE_OK;
  }
  Statement& bind(int index, std::string_view text) {
    // A null pointer would bind NULL, which no key is greater than.
    sqlite3_bind_text(handle_, index, text.data() ? text.data() : "", static_cast<int>(text.size()),
                      SQLITE_TRANSIENT);
    return *this;
  }
  Statement& bind(int index, std::int64_t number) {
    sqlite3_bind_int64(handle_, index, number);
    return *this;
  }
  int step() { return sqlite3_step(handle_); }
  std::string text(int column) const {
    const auto* data = reinterpret_cast<const char*>(sqlite3_column_text(handle_, column));
    return std::string(data ? data : "",
                       static_cast<std::size_t>(sqlite3_column_bytes(handle_, column)));
  }
  std::int64_t number(int column) const { return sqlite3_column_int64(handle_, column); }
  void reset() { sqlite3_reset(handle_); }

 private:
  sqlite3_stmt* handle_ = nullptr;
};

struct Reset {
  Statement& statement;
  ~Reset() { statement.reset(); }
};

}  // namespace

struct Store::Impl {
  sqlite3* db = nullptr;
  Statement get, list, count, put, erase, set_revision, begin, commit, rollback;

  ~Impl() {
    // Statements go before the connection, so close lazily.
    sqlite3_close_v2(db);
  }
  Error error(std::string_view what) const {
    return Error{.code = ErrorCode::Internal,
                 .message = fmt::format("store: {}: {}", what, sqlite3_errmsg(db))};
  }
  bool run(const char* sql) {
    return sqlite3_exec(db, sql, nullptr, nullptr, nullptr) == SQLITE_OK;
  }
  std::optional<std::int64_t> number(const char* sql) {
    Statement statement;
    if (!statement.prepare(db, sql) || statement.step() != SQLITE_ROW) return std::nullopt;
    return statement.number(0);
  }
  bool prepare_all() {
    return get.prepare(db, "SELECT rev, text FROM objects WHERE key = ?") &&
           list.prepare(db,
                        "SELECT key, rev, text FROM objects WHERE key > ? AND key >= ? AND key < ? "
                        "ORDER BY key LIMIT ?") &&
           count.prepare(db, "SELECT count(*) FROM objects WHERE key > ? AND key < ?") &&
           put.prepare(db,
                       "INSERT INTO objects(key, rev, text) VALUES(?, ?, ?) ON CONFLICT(key) DO "
                       "UPDATE SET rev = excluded.rev, text = excluded.text") &&
           erase.prepare(db, "DELETE FROM objects WHERE key = ?") &&
           set_revision.prepare(db, "UPDATE state SET revision = ?") &&
           begin.prepare(db, "BEGIN") && commit.prepare(db, "COMMIT") &&
           rollback.prepare(db, "ROLLBACK");
  }
  bool done(Statement& statement) {
    const bool ok = statement.step() == SQLITE_DONE;
    statement.reset();
    return ok;
  }
};

Store::Store(std::unique_ptr<Impl> impl, StoreOptions options)
    : impl_(std::move(impl)), options_(std::move(options)) {}
Store::~Store() = default;

Result<std::unique_ptr<Store>> Store::open(StoreOptions options) {
  auto impl = std::make_unique<Impl>();
  const std::string path = options.path.empty() ? ":memory:" : options.path;
  if (sqlite3_open_v2(path.c_str(), &impl->db,
                      SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX,
                      nullptr) != SQLITE_OK)
    return failed(impl->error(fmt::format("opening {}", path)));
  // NORMAL: a power cut may lose the last writes but not the database; a crash of ours loses none.
  // With row ids, since the tree of a table without them holds whole rows, and to compare a key
  // with a large object's is to read the object.
  const auto settings = fmt::format(
      "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; PRAGMA cache_size=-{}; "
      "PRAGMA locking_mode=EXCLUSIVE; PRAGMA temp_store=MEMORY; PRAGMA busy_timeout=2000;"
      "CREATE TABLE IF NOT EXISTS objects(key TEXT PRIMARY KEY, rev INTEGER NOT NULL, text TEXT "
      "NOT NULL); CREATE TABLE IF NOT EXISTS state(revision INTEGER NOT NULL);"
      "INSERT INTO state SELECT 1 WHERE NOT EXISTS (SELECT 1 FROM state);",
      options.page_cache_kib);
  if (!impl->run(settings.c_str())) return failed(impl->error(fmt::format("preparing {}", path)));
  const auto format = impl->number("PRAGMA user_version").value_or(0);
  if (format > kFormat)
    return failed(
        ErrorCode::Invalid,
        fmt::format("store {}: format {} is newer than this program's {}", path, format, kFormat));
  if (format == 0) impl->run(fmt::format("PRAGMA user_version={}", kFormat).c_str());
  if (!impl->prepare_all()) return failed(impl->error("preparing statements"));
  const auto revision = impl->number("SELECT revision FROM state");
  if (!revision) return failed(impl->error("reading the revision"));
  auto store = std::unique_ptr<Store>(new Store(std::move(impl), std::move(options)));
  store->revision_ = store->oldest_ = static_cast<Revision>(*revision);
  return store;
}

Result<std::optional<StoredObject>> Store::get(std::string_view key) {
  auto& statement = impl_->get;
  Reset reset{statement};
  statement.bind(1, key);
  const int step = statement.step();
  if (step == SQLITE_DONE) return std::optional<StoredObject>();
  if (step != SQLITE_ROW) return failed(impl_->error("reading"));
  return std::optional<StoredObject>(StoredObject{
      std::string(key), static_cast<Revision>(statement.number(0)), statement.text(1)});
}

Result<std::vector<StoredObject>> Store::list(std::string_view prefix, std::string_view after_key,
                                              std::size_t limit) {
  auto& statement = impl_->list;
  Reset reset{statement};
  statement.bind(1, after_key)
      .bind(2, prefix)
      .bind(3, prefix_end(prefix))
      .bind(4, limit == 0 ? std::int64_t{-1} : static_cast<std::int64_t>(limit));
  std::vector<StoredObject> objects;
  int step;
  while ((step = statement.step()) == SQLITE_ROW)
    objects.push_back(
        {statement.text(0), static_cast<Revision>(statement.number(1)), statement.text(2)});
  if (step != SQLITE_DONE) return failed(impl_->error("listing"));
  return objects;
}

Result<std::int64_t> Store::count(std::string_view prefix, std::string_view after_key) {
  auto& statement = impl_->count;
  Reset reset{statement};
  statement.bind(1, after_key.empty() ? prefix : after_key).bind(2, prefix_end(prefix));
  if (statement.step() != SQLITE_ROW) return failed(impl_->error("counting"));
  return statement.number(0);
}

Result<Revision> Store::put(std::string_view key, std::string text) {
  auto before = get(key);
  if (!before) return failed(before.error());
  const Revision revision = revision_ + 1;
  impl_->put.bind(1, key).bind(2, static_cast<std::int64_t>(revision)).bind(3, text);
  impl_->set_revision.bind(1, static_cast<std::int64_t>(revision));
  if (!impl_->done(impl_->begin) || !impl_->done(impl_->put) || !impl_->done(impl_->set_revision) ||
      !impl_->done(impl_->commit)) {
    auto error = impl_->error("writing");
    impl_->done(impl_->rollback);
    return failed(std::move(error));
  }
  revision_ = revision;
  StoreChange change{revision, std::string(key), {}, {}};
  if (*before) change.before = share_text(key, std::move((*before)->text));
  change.after = std::make_shared<const std::string>(std::move(text));
  remember(std::move(change));
  return revision;
}

Result<Revision> Store::erase(std::string_view key, std::string last_text) {
  auto before = get(key);
  if (!before) return failed(before.error());
  if (!*before) return failed(ErrorCode::NotFound, fmt::format("store: no key {}", key));
  const Revision revision = revision_ + 1;
  impl_->erase.bind(1, key);
  impl_->set_revision.bind(1, static_cast<std::int64_t>(revision));
  if (!impl_->done(impl_->begin) || !impl_->done(impl_->erase) ||
      !impl_->done(impl_->set_revision) || !impl_->done(impl_->commit)) {
    auto error = impl_->error("deleting");
    impl_->done(impl_->rollback);
    return failed(std::move(error));
  }
  revision_ = revision;
  remember(
      {revision, std::string(key), std::make_shared<const std::string>(std::move(last_text)), {}});
  return revision;
}

static std::size_t size_of(const StoreChange& change) {
  // `before` is nearly always an earlier change's `after`; counting it too errs on the safe side.
  return change.key.size() + (change.before ? change.before->size() : 0) +
         (change.after ? change.after->size() : 0) + sizeof(StoreChange);
}

/// The text as a recent change already holds it: an object's state is one change's end and the next
/// one's start, and need not be in memory twice.
SharedText Store::share_text(std::string_view key, std::string text) const {
  constexpr std::size_t kLookBack = 256;
  std::size_t looked = 0;
  for (auto change = history_.rbegin(); change != history_.rend() && looked < kLookBack;
       ++change, ++looked)
    if (change->key == key) {
      if (change->after && *change->after == text) return change->after;
      break;
    }
  return std::make_shared<const std::string>(std::move(text));
}

void Store::remember(StoreChange change) {
  history_size_ += size_of(change);
  history_.push_back(std::move(change));
  while (history_.size() > 1 &&
         (history_size_ > options_.history_bytes || history_.size() > options_.history_changes)) {
    history_size_ -= size_of(history_.front());
    oldest_ = history_.front().revision;
    history_.pop_front();
  }
  const StoreChange latest = history_.back();
  const auto listeners = listeners_;
  for (const auto& weak : listeners)
    if (auto listener = weak.lock()) (*listener)(latest);
  std::erase_if(listeners_, [](const auto& weak) { return weak.expired(); });
}

Result<std::vector<StoreChange>> Store::changes_since(std::string_view prefix,
                                                      Revision since) const {
  if (since < oldest_)
    return failed(ErrorCode::Expired,
                  fmt::format("too old resource version: {} ({})", since, oldest_));
  std::vector<StoreChange> changes;
  auto from = std::upper_bound(
      history_.begin(), history_.end(), since,
      [](Revision revision, const StoreChange& change) { return revision < change.revision; });
  for (; from != history_.end(); ++from)
    if (from->key.starts_with(prefix)) changes.push_back(*from);
  return changes;
}

Result<std::vector<StoredObject>> Store::list_at(std::string_view prefix, Revision revision) {
  auto now = list(prefix);
  if (!now || revision >= revision_) return now;
  auto changes = changes_since(prefix, revision);
  if (!changes) return failed(changes.error());
  std::map<std::string, StoredObject> state;
  for (auto& object : *now) state.emplace(object.key, std::move(object));
  for (auto change = changes->rbegin(); change != changes->rend(); ++change) {
    if (change->before)
      state[change->key] = {change->key, 0, *change->before};
    else
      state.erase(change->key);
  }
  std::vector<StoredObject> objects;
  objects.reserve(state.size());
  for (auto& [key, object] : state) objects.push_back(std::move(object));
  return objects;
}

std::shared_ptr<void> Store::subscribe(Listener listener) {
  auto shared = std::make_shared<Listener>(std::move(listener));
  listeners_.push_back(shared);
  return shared;
}

}  // namespace manta::local
