#include "local/apiserver/table.h"

#include "local/apiserver/crd.h"
#include "local/apiserver/json_path.h"
#include "local/apiserver/table_layouts.h"

namespace manta::local {
namespace {

/// A value under a CRD's printer column.
Json custom_cell(const PrinterColumn& column, const Json* value, Time now) {
  if (!value || value->is_null()) return column.type == "string" ? Json("") : Json();
  if (column.type == "date")
    return Json(value->is_string() ? age_of(value->get_string(), now) : "<invalid>");
  if (column.type == "string" && !value->is_string()) return Json(dump_json(*value));
  return *value;
}

JsonArray custom_cells(const Kind& kind, const Json& object, Time now) {
  JsonArray cells{name_of(object)};
  if (kind.crd->columns.empty()) cells.push_back(Json(age(object, now)));
  for (const auto& column : kind.crd->columns)
    cells.push_back(custom_cell(column, json_path(object, column.json_path), now));
  return cells;
}

JsonObject definition(const Column& column, std::string_view description = {}) {
  return {{"name", column.name},
          {"type", column.type},
          {"format", column.format},
          {"description", description},
          {"priority", column.priority}};
}

JsonArray definitions(const Kind& kind) {
  JsonArray columns;
  if (kind.builtin()) {
    for (const auto& column : layout_of(kind).columns) columns.push_back(definition(column));
    return columns;
  }
  columns.push_back(definition(kNameColumn));
  if (kind.crd->columns.empty()) columns.push_back(definition({"Age", "date"}));
  for (const auto& column : kind.crd->columns)
    columns.push_back(
        definition({column.name, column.type, column.format, column.priority}, column.description));
  return columns;
}

Json row_object(const Json& object, std::string_view include) {
  if (include == "Object") return object;
  if (include == "None") return Json();
  return JsonObject{{"kind", "PartialObjectMetadata"},
                    {"apiVersion", "meta.k8s.io/v1"},
                    {"metadata", object_at(object, {"metadata"})}};
}

}  // namespace

Json make_table(const Kind& kind, const std::vector<Json>& objects, JsonObject list_metadata,
                Time now, bool with_columns, std::string_view include_object) {
  JsonArray rows;
  for (const auto& object : objects) {
    JsonObject row{{"cells", kind.builtin() ? layout_of(kind).cells(object, now)
                                            : custom_cells(kind, object, now)}};
    if (auto shown = row_object(object, include_object); !shown.is_null())
      row["object"] = std::move(shown);
    rows.push_back(std::move(row));
  }
  return JsonObject{{"kind", "Table"},
                    {"apiVersion", "meta.k8s.io/v1"},
                    {"metadata", std::move(list_metadata)},
                    {"columnDefinitions", with_columns ? definitions(kind) : JsonArray()},
                    {"rows", std::move(rows)}};
}

}  // namespace manta::local
