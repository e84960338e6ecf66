// Sets of fields as metadata.managedFields writes them (fieldsV1): {"f:spec":{"f:replicas":{}}}.
// Elements are "f:name" of an object, "k:{…}" of a list keyed by fields, "v:…" of a set; "." in an
// element says that it is itself a member, not only things below it. Source: structured-merge-diff.
#pragma once

#include "base/json.h"
#include "local/apiserver/schema.h"

#include <string>
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

/// The value at a path, or null.
const Json* value_at(const Json& object, const FieldPath& path, const Schema* schema);
/// Removes the value and what becomes empty above it.
void remove_at(Json& object, const FieldPath& path, const Schema* schema);
/// Lays `applied` over `live`: objects member by member, keyed lists item by item, the rest whole.
void merge_applied(Json& live, const Json& applied, const Schema* schema);

}  // namespace manta::local
