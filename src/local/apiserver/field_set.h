// Sets of fields as metadata.managedFields writes them (fieldsV1): {"f:spec":{"f:replicas":{}}}.
// Elements are "f:name" of an object, "k:{…}" of a list keyed by fields, "v:…" of a set; "." in an
// element says that it is itself a member, not only things below it. Source: structured-merge-diff.
#pragma once

#include "base/json.h"
#include "local/apiserver/schema.h"

#include <string>
#include <unordered_map>
#include <vector>

namespace manta::local {

using FieldPath = std::vector<std::string>;

/// The fields that an object sets, down to scalars and atomic lists and maps. Bookkeeping (name,
/// uid, resourceVersion, …) is left out. `schema` may be null: then lists are atomic.
Json fields_of(const Json& object, const Schema* schema);
/// Members of a set, each as a path.
std::vector<FieldPath> members_of(const Json& set);
bool set_contains(const Json& set, const FieldPath& path);
void set_add(Json& set, const FieldPath& path);
void set_remove(Json& set, const FieldPath& path);
/// ".spec.containers[name="c"].image"
std::string path_text(const FieldPath& path);

/// Looks values up in an object that stays as it is meanwhile. A keyed list is indexed once, for
/// its items are asked for one after the other.
class PathReader {
 public:
  PathReader(const Json& object, const Schema* schema) : object_(object), schema_(schema) {}
  /// The value at a path, or null.
  const Json* at(const FieldPath& path);

 private:
  using Items = std::unordered_map<std::string, const Json*>;
  const Json& object_;
  const Schema* schema_;
  std::unordered_map<const Json*, Items> lists_ = {};
};

/// Removes the values of a set's members, and what becomes empty above them.
void remove_members(Json& object, const Json& set, const Schema* schema);
/// Lays `applied` over `live`: objects member by member, keyed lists item by item, the rest whole.
void merge_applied(Json& live, const Json& applied, const Schema* schema);

}  // namespace manta::local
