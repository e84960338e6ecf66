// What the embedded API server has stored, object by object, and every change in the order it was
// committed: the tests' own eye, which no cache, watch or fault stands before.
#pragma once

#include "base/json.h"
#include "base/loop.h"
#include "kube/object.h"
#include "local/apiserver/store.h"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace manta::sim {

struct Change {
  Time at = {};
  Json before = {};  // null: created
  Json after = {};   // null: gone
  const Json& newest() const { return after.is_null() ? before : after; }
};

class Mirror {
 public:
  using Objects = std::vector<const Json*>;
  using Listener = std::function<void(const Change&)>;

  Mirror(Loop& loop, local::Store& store);

  /// Null: there is none. Namespace "default" for what has one.
  const Json* find(std::string_view kind, std::string_view name) const;
  /// By name; `labels` all have to match.
  Objects list(std::string_view kind, const kube::StringMap& labels = {}) const;
  Objects all() const;
  const Json* by_uid(std::string_view uid) const;

  /// Names that were made from a generateName, of what is gone too, and that generateName.
  const std::map<std::string, std::string>& generated() const { return generated_; }

  /// Changes of everything but Events and Leases.
  std::uint64_t changes() const { return changes_; }
  Time last_change() const { return last_change_; }
  /// How many objects of this kind were ever created.
  int created(std::string_view kind) const;
  /// Called within the commit: must not call the API.
  void listen(Listener listener) { listeners_.push_back(std::move(listener)); }

 private:
  void take(const local::StoreChange& change);

  Loop& loop_;
  std::map<std::string, Json> objects_ = {};      // by kind/namespace/name
  std::map<std::string, std::string> uids_ = {};  // uid to key of objects_
  std::map<std::string, int, std::less<>> created_ = {};
  std::map<std::string, std::string> generated_ = {};
  std::uint64_t changes_ = 0;
  Time last_change_ = {};
  std::vector<Listener> listeners_ = {};
  std::shared_ptr<void> subscription_ = {};
};

// Reading objects.
std::string name_of(const Json& object);
std::string uid_of(const Json& object);
std::string label_of(const Json& object, std::string_view label);
bool is_deleting(const Json& object);
std::string phase_of(const Json& pod);
/// "True Reason" of a status condition; empty when it is not there.
std::string condition_of(const Json& object, std::string_view type);
/// Neither finished nor being deleted.
bool is_live(const Json& pod);
const Json* controller_of(const Json& object);  // the owner reference

}  // namespace manta::sim
