// Custom resources: a CRD's versions compiled into schemas that prune, default and validate.
#pragma once

#include "base/json.h"
#include "base/result.h"
#include "local/apiserver/field_errors.h"
#include "local/apiserver/kinds.h"
#include "local/apiserver/schema.h"

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace manta::local {

struct ScalePaths {
  std::vector<std::string> spec_replicas = {};  // steps of .spec.replicas
  std::vector<std::string> status_replicas = {};
  std::vector<std::string> selector = {};  // empty: none
};

struct PrinterColumn {
  std::string name = {}, type = {}, format = {}, description = {}, json_path = {};
  std::int64_t priority = 0;
};

struct CrdVersion {
  std::shared_ptr<SchemaArena> arena = {};  // owns `schema`, shared by the CRD's versions
  const Schema* schema = nullptr;
  std::string crd_name = {};
  std::optional<ScalePaths> scale = {};
  std::vector<PrinterColumn> columns = {};
  std::vector<std::string> selectable_fields = {};
};

/// Compiles schema JSON into the arena; equal subtrees become one node. What cannot be honoured (an
/// expression CEL does not know) is reported under `path`.
const Schema* compile_schema(const Json& schema, std::shared_ptr<SchemaArena> arena,
                             std::string path, FieldErrors& errors);

/// The served versions of a stored CRD object. Never fails on one that was accepted.
std::vector<KindPtr> kinds_of_crd(const Json& crd);

// The passes over a custom object, each over the whole object (with apiVersion, kind, metadata).

/// Removes what the schema does not name; the paths removed go to `removed`.
void prune(Json& object, const Schema& schema, std::vector<std::string>& removed);
/// Fills in absent (and null, unless nullable) fields that have a default.
void apply_defaults(Json& object, const Schema& schema);
/// Types, bounds, enums, list sets and maps. CEL rules: validate_rules.
void validate_structure(const Json& object, const Json* old, const Schema& schema,
                        FieldErrors& errors);
/// `old` null on creation. `now` is for rules that ask for time. Source: KEP-2876.
void validate_rules(const Json& object, const Json* old, const Schema& schema, FieldErrors& errors);

}  // namespace manta::local
