// OpenAPI v3 documents made from the schemas that the server checks with.
#include "fmt/format.h"
#include "local/apiserver/crd.h"
#include "local/apiserver/discovery.h"

#include <map>

namespace manta::local {
namespace {

/// Our short type names in the spelling of Kubernetes' documents.
std::string long_name(std::string_view name) {
  if (name.starts_with("meta.")) return fmt::format("io.k8s.apimachinery.pkg.apis.{}", name);
  if (name.starts_with("apiextensions."))
    return fmt::format("io.k8s.apiextensions-apiserver.pkg.apis.{}", name);
  return fmt::format("io.k8s.api.{}", name);
}

struct Writer {
  const BuiltinTypes& types;
  std::map<std::string, Json> schemas = {};

  Json reference(const Schema& schema) {
    const auto name = types.name_of(&schema);
    const auto full = long_name(name);
    if (!schemas.contains(full)) {
      schemas[full] = Json();  // types refer to themselves
      schemas[full] = object(schema);
    }
    return JsonObject{{"$ref", "#/components/schemas/" + full}};
  }

  Json value(const Schema& schema) {
    if (!types.name_of(&schema).empty()) return reference(schema);
    return object(schema);
  }

  Json object(const Schema& schema) {
    JsonObject out;
    if (schema.format == Format::Quantity || schema.int_or_string) {
      out["oneOf"] =
          JsonArray{JsonObject{{"type", "string"}},
                    JsonObject{{"type", schema.format == Format::Quantity ? "number" : "integer"}}};
      if (schema.int_or_string && schema.format != Format::Quantity)
        out["x-kubernetes-int-or-string"] = true;
      return out;
    }
    if (schema.type != JsonType::Any) out["type"] = to_string(schema.type);
    switch (schema.format) {
      case Format::Int32:
        out["format"] = "int32";
        break;
      case Format::Int64:
        out["format"] = "int64";
        break;
      case Format::Byte:
        out["format"] = "byte";
        break;
      case Format::Time:
      case Format::MicroTime:
        out["format"] = "date-time";
        break;
      default:
        break;
    }
    if (schema.preserve_unknown && schema.type != JsonType::Any)
      out["x-kubernetes-preserve-unknown-fields"] = true;
    if (!schema.fields.empty()) {
      JsonObject properties;
      JsonArray required;
      for (const auto& field : schema.fields) {
        Json made = value(*field.schema);
        if (field.retain_keys) made.get_object()["x-kubernetes-patch-strategy"] = "retainKeys";
        properties[field.name] = std::move(made);
        if (field.required) required.push_back(Json(field.name));
      }
      out["properties"] = std::move(properties);
      if (!required.empty()) out["required"] = std::move(required);
    }
    if (schema.items) out["items"] = value(*schema.items);
    if (schema.additional) out["additionalProperties"] = value(*schema.additional);
    if (schema.atomic_map) out["x-kubernetes-map-type"] = "atomic";
    if (schema.type == JsonType::Array) {
      if (schema.list_type == ListType::Set) out["x-kubernetes-list-type"] = "set";
      if (schema.list_type == ListType::Map) {
        JsonArray keys;
        for (const auto& key : schema.list_keys) keys.push_back(Json(key));
        out["x-kubernetes-list-type"] = "map";
        out["x-kubernetes-list-map-keys"] = std::move(keys);
      }
      if (schema.patch_merge) {
        out["x-kubernetes-patch-strategy"] = "merge";
        if (!schema.patch_key.empty()) out["x-kubernetes-patch-merge-key"] = schema.patch_key;
      }
    }
    if (schema.limits) limits(*schema.limits, out);
    return out;
  }

  void limits(const Limits& limits, JsonObject& out) {
    if (limits.default_) out["default"] = *limits.default_;
    if (!limits.pattern.empty()) out["pattern"] = limits.pattern;
    if (limits.minimum) out["minimum"] = *limits.minimum;
    if (limits.maximum) out["maximum"] = *limits.maximum;
    JsonArray choices;
    for (const auto& choice : limits.enum_) choices.push_back(choice);
    if (!choices.empty()) out["enum"] = std::move(choices);
  }
};

std::string reversed(std::string_view group) {
  std::string made;
  while (!group.empty()) {
    const auto dot = group.rfind('.');
    made +=
        (made.empty() ? "" : ".") + std::string(dot == group.npos ? group : group.substr(dot + 1));
    group = dot == group.npos ? std::string_view{} : group.substr(0, dot);
  }
  return made;
}

/// What kubectl looks for before it trusts the server to validate fields and to apply.
Json operation(std::string_view action, const Kind& kind) {
  auto parameter = [](std::string_view name) {
    return JsonObject{{"name", name},
                      {"in", "query"},
                      {"schema", JsonObject{{"type", "string"}, {"uniqueItems", true}}}};
  };
  return JsonObject{
      {"parameters", JsonArray{parameter("dryRun"), parameter("fieldManager"),
                               parameter("fieldValidation"), parameter("force")}},
      {"responses", JsonObject{}},
      {"x-kubernetes-action", action},
      {"x-kubernetes-group-version-kind", JsonObject{{"group", kind.resource.group},
                                                     {"version", kind.resource.version},
                                                     {"kind", kind.resource.kind}}}};
}

std::string root_of(std::string_view group, std::string_view version) {
  return group.empty() ? fmt::format("api/{}", version) : fmt::format("apis/{}/{}", group, version);
}

}  // namespace

Json OpenApi::index() const {
  JsonObject paths;
  for (const auto& group : kinds_.groups())
    for (const auto& version : kinds_.versions(group)) {
      const auto root = root_of(group, version);
      // The hash names this state of the document, so that clients may cache it.
      paths[root] = JsonObject{{"serverRelativeURL", fmt::format("/openapi/v3/{}?hash={:016X}",
                                                                 root, kinds_.generation())}};
    }
  return JsonObject{{"paths", std::move(paths)}};
}

/// Null when no definition is stored.
Json OpenApi::custom_schema(const Kind& kind) const {
  const auto crd = definition_(kind.crd->crd_name);
  if (!crd) return {};
  for (const auto& version : array_at(*crd, {"spec", "versions"}))
    if (string_at(version, {"name"}) == kind.resource.version)
      if (const auto* schema = find(version, {"schema", "openAPIV3Schema"})) return *schema;
  return {};
}

std::optional<Json> OpenApi::document(std::string_view group, std::string_view version) const {
  const auto kinds = kinds_.in(group, version);
  if (kinds.empty()) return std::nullopt;
  Writer writer{types_};
  JsonObject paths;
  for (const auto& kind : kinds) {
    std::string name;
    const auto gvk = JsonObject{{"group", kind->resource.group},
                                {"version", kind->resource.version},
                                {"kind", kind->resource.kind}};
    if (kind->builtin()) {
      writer.reference(*kind->schema);
      name = long_name(types_.name_of(kind->schema));
    } else {
      name = fmt::format("{}.{}.{}", reversed(kind->resource.group), kind->resource.version,
                         kind->resource.kind);
      Json made = custom_schema(*kind);
      if (!made.is_object())
        made = kind->schema ? writer.object(*kind->schema)
                            : Json(JsonObject{{"type", "object"},
                                              {"x-kubernetes-preserve-unknown-fields", true}});
      auto& members = made.get_object();
      auto& properties = members["properties"];
      if (!properties.is_object()) properties = JsonObject{};
      auto& own = properties.get_object();
      for (const auto* field : {"apiVersion", "kind"})
        if (!own.contains(field)) own[field] = JsonObject{{"type", "string"}};
      own["metadata"] = writer.reference(*types_.find("meta.v1.ObjectMeta"));
      writer.schemas[name] = std::move(made);
    }
    auto& schema = writer.schemas[name].get_object();
    auto& gvks = schema["x-kubernetes-group-version-kind"];
    if (!gvks.is_array()) gvks = JsonArray{};
    gvks.get_array().push_back(gvk);
    const auto base = fmt::format("/{}/{}{}", root_of(group, version),
                                  kind->resource.namespaced ? "namespaces/{namespace}/" : "",
                                  kind->resource.plural);
    paths[base] = JsonObject{{"post", operation("post", *kind)}, {"get", operation("list", *kind)}};
    paths[base + "/{name}"] = JsonObject{{"get", operation("get", *kind)},
                                         {"put", operation("put", *kind)},
                                         {"patch", operation("patch", *kind)},
                                         {"delete", operation("delete", *kind)}};
  }
  JsonObject schemas;
  for (auto& [name, schema] : writer.schemas) schemas[name] = std::move(schema);
  return Json(JsonObject{{"openapi", "3.0.0"},
                         {"info", JsonObject{{"title", "Kubernetes"}, {"version", "unversioned"}}},
                         {"paths", std::move(paths)},
                         {"components", JsonObject{{"schemas", std::move(schemas)}}}});
}

}  // namespace manta::local
