#include "local/apiserver/crd.h"

#include "fmt/format.h"
#include "local/apiserver/cel.h"
#include "local/apiserver/strategy.h"

#include <algorithm>
#include <set>
#include <unordered_map>

namespace manta::local {
namespace {

JsonType parse_type(std::string_view text) {
  for (auto type : {JsonType::Object, JsonType::Array, JsonType::String, JsonType::Integer,
                    JsonType::Number, JsonType::Boolean})
    if (to_string(type) == text) return type;
  return JsonType::Any;
}

std::optional<double> number_at(const Json& schema, std::string_view field) {
  const auto* value = find(schema, {field});
  if (!value || !value->is_number()) return std::nullopt;
  return value->to_number<double>();
}

std::optional<std::int64_t> count_at(const Json& schema, std::string_view field) {
  const auto* value = find(schema, {field});
  if (!value || !value->is_int64()) return std::nullopt;
  return value->get_int64();
}

/// Compiles one version's schema. Equal subtrees (Pod templates come six times in one CRD) become
/// one node, found by a text made of a node's own facts and its children's addresses.
struct Compiler {
  std::shared_ptr<SchemaArena> arena;
  FieldErrors& errors;
  std::unordered_map<std::string, Schema*>& known;

  const Schema* compile(const Json& source, const std::string& path, bool in_junctor = false) {
    Schema node;
    std::string id;
    auto fact = [&](std::string_view name, const auto& value) {
      id += fmt::format("{}={};", name, value);
    };
    node.type = parse_type(string_at(source, {"type"}));
    fact("t", static_cast<int>(node.type));
    node.nullable = bool_at(source, {"nullable"});
    node.int_or_string = bool_at(source, {"x-kubernetes-int-or-string"});
    node.preserve_unknown = bool_at(source, {"x-kubernetes-preserve-unknown-fields"});
    node.embedded_resource = bool_at(source, {"x-kubernetes-embedded-resource"});
    node.atomic_map = string_at(source, {"x-kubernetes-map-type"}) == "atomic";
    fact("f", fmt::format("{}{}{}{}{}", node.nullable, node.int_or_string, node.preserve_unknown,
                          node.embedded_resource, node.atomic_map));
    const auto list_type = string_at(source, {"x-kubernetes-list-type"});
    node.list_type = list_type == "set"   ? ListType::Set
                     : list_type == "map" ? ListType::Map
                                          : ListType::Atomic;
    fact("l", list_type);
    for (const auto& key : array_at(source, {"x-kubernetes-list-map-keys"}))
      if (key.is_string()) {
        node.list_keys.emplace_back(key.get_string());
        fact("k", node.list_keys.back());
      }
    const auto format = string_at(source, {"format"});
    node.format = format == "int32"       ? Format::Int32
                  : format == "int64"     ? Format::Int64
                  : format == "byte"      ? Format::Byte
                  : format == "date-time" ? Format::Time
                                          : Format::None;
    std::set<std::string, std::less<>> required;
    for (const auto& name : array_at(source, {"required"}))
      if (name.is_string()) required.emplace(name.get_string());
    const auto& properties = object_at(source, {"properties"});
    for (const auto& [name, child] : properties) {
      Field field;
      field.name = std::string(name);
      field.schema = compile(child, fmt::format("{}.properties[{}]", path, field.name), in_junctor);
      field.required = required.contains(field.name);
      fact(field.name, fmt::format("{}{}", static_cast<const void*>(field.schema), field.required));
      node.fields.push_back(std::move(field));
    }
    // A name that is required but not described still has to be there.
    for (const auto& name : required)
      if (!properties.contains(name)) {
        static const Schema kAnything{.preserve_unknown = true};
        node.fields.push_back({.name = name, .schema = &kAnything, .required = true});
        fact("r", name);
      }
    node.sort_fields();
    if (const auto* items = find(source, {"items"}); items && items->is_object())
      node.items = compile(*items, path + ".items", in_junctor);
    if (const auto* extra = find(source, {"additionalProperties"})) {
      if (extra->is_object())
        node.additional = compile(*extra, path + ".additionalProperties", in_junctor);
      else if (extra->is_bool() && extra->get_bool())
        node.preserve_unknown = true;
    }
    fact("i", static_cast<const void*>(node.items));
    fact("a", static_cast<const void*>(node.additional));
    fact("p", node.preserve_unknown);
    limits(source, path, node, id);
    node.has_rules_below = node.limits && !node.limits->rules.empty();
    node.has_defaults_below = node.limits && node.limits->default_;
    auto below = [&](const Schema* child) {
      if (!child) return;
      node.has_rules_below |= child->has_rules_below;
      node.has_defaults_below |= child->has_defaults_below;
    };
    for (const auto& field : node.fields) below(field.schema);
    below(node.items);
    below(node.additional);
    if (!in_junctor && node.limits && node.limits->default_) check_default(node, path + ".default");
    if (auto same = known.find(id); same != known.end()) return same->second;
    Schema* kept = arena->make();
    *kept = std::move(node);
    known.emplace(std::move(id), kept);
    return kept;
  }

  /// A default must hold where it is put.
  void check_default(const Schema& node, const std::string& path) {
    const auto& value = *node.limits->default_;
    Json pruned = value;
    std::vector<std::string> unknown;
    prune(pruned, node, unknown);
    if (!unknown.empty()) errors.invalid(path, value, "must not have unknown fields");
    FieldErrors own;
    validate_structure(value, nullptr, node, own);
    for (auto& cause : own.causes()) {
      const bool whole = cause.field.empty() || cause.field == "<nil>";
      const auto* dot = cause.field.starts_with('[') ? "" : ".";
      errors.add(whole ? path : path + dot + cause.field, cause.reason, cause.message);
    }
  }

  void limits(const Json& source, const std::string& path, Schema& node, std::string& id) {
    auto made = std::make_unique<Limits>();
    bool any = false;
    auto note = [&](std::string_view name, const auto& value) {
      any = true;
      id += fmt::format("{}={};", name, value);
    };
    auto number = [&](std::string_view name, std::optional<double>& slot) {
      if ((slot = number_at(source, name))) note(name, *slot);
    };
    auto count = [&](std::string_view name, std::optional<std::int64_t>& slot) {
      if ((slot = count_at(source, name))) note(name, *slot);
    };
    number("minimum", made->minimum);
    number("maximum", made->maximum);
    number("multipleOf", made->multiple_of);
    count("minLength", made->min_length);
    count("maxLength", made->max_length);
    count("minItems", made->min_items);
    count("maxItems", made->max_items);
    count("minProperties", made->min_properties);
    count("maxProperties", made->max_properties);
    made->exclusive_minimum = bool_at(source, {"exclusiveMinimum"});
    made->exclusive_maximum = bool_at(source, {"exclusiveMaximum"});
    made->unique_items = bool_at(source, {"uniqueItems"});
    if (made->exclusive_minimum || made->exclusive_maximum || made->unique_items)
      note("x", fmt::format("{}{}{}", made->exclusive_minimum, made->exclusive_maximum,
                            made->unique_items));
    if (made->pattern = string_at(source, {"pattern"}); !made->pattern.empty()) {
      note("pattern", made->pattern);
      if (auto compiled = arena->patterns().compile(made->pattern))
        made->compiled_pattern = std::move(*compiled);
      else
        errors.invalid(
            path + ".pattern", Json(made->pattern),
            "must be a valid regular expression, but isn't: " + compiled.error().message);
    }
    if (made->format = string_at(source, {"format"}); !made->format.empty())
      note("format", made->format);
    for (const auto& choice : array_at(source, {"enum"})) {
      made->enum_.push_back(choice);
      note("enum", dump_json(choice));
    }
    if (const auto* value = find(source, {"default"})) {
      made->default_ = *value;
      note("default", dump_json(*value));
    }
    auto junctors = [&](std::string_view name, std::vector<const Schema*>& list) {
      std::size_t index = 0;
      for (const auto& child : array_at(source, {name})) {
        list.push_back(compile(child, fmt::format("{}.{}[{}]", path, name, index++), true));
        note(name, static_cast<const void*>(list.back()));
      }
    };
    junctors("allOf", made->all_of);
    junctors("anyOf", made->any_of);
    junctors("oneOf", made->one_of);
    if (const auto* child = find(source, {"not"}); child && child->is_object()) {
      made->not_ = compile(*child, path + ".not", true);
      note("not", static_cast<const void*>(made->not_));
    }
    std::size_t index = 0;
    for (const auto& rule : array_at(source, {"x-kubernetes-validations"})) {
      if (auto compiled =
              compile_rule(rule, fmt::format("{}.x-kubernetes-validations[{}]", path, index++)))
        made->rules.push_back(std::move(*compiled));
      note("rule", dump_json(rule));
    }
    if (any) node.limits = std::move(made);
  }

  /// A rule as messages show it: a Go struct.
  static Json shown_rule(const Json& source) {
    const auto* reason = find(source, {"reason"});
    const auto* optional_old = find(source, {"optionalOldSelf"});
    return JsonObject{{"Rule", string_at(source, {"rule"})},
                      {"Message", string_at(source, {"message"})},
                      {"MessageExpression", string_at(source, {"messageExpression"})},
                      {"Reason", reason ? *reason : Json()},
                      {"FieldPath", string_at(source, {"fieldPath"})},
                      {"OptionalOldSelf", optional_old ? *optional_old : Json()}};
  }

  std::optional<Rule> compile_rule(const Json& source, const std::string& path) {
    Rule rule;
    rule.rule = string_at(source, {"rule"});
    rule.message = string_at(source, {"message"});
    rule.reason = string_at(source, {"reason"});
    rule.field_path = string_at(source, {"fieldPath"});
    rule.optional_old = bool_at(source, {"optionalOldSelf"});
    auto program = cel::Program::compile(rule.rule, arena->patterns());
    if (!program) {
      errors.invalid(path + ".rule", shown_rule(source), program.error().message);
      return std::nullopt;
    }
    rule.uses_old = (*program)->mentions("oldSelf");
    rule.program = std::move(*program);
    if (const auto text = string_at(source, {"messageExpression"}); !text.empty()) {
      auto message = cel::Program::compile(text, arena->patterns());
      if (!message) {
        errors.invalid(path + ".messageExpression", shown_rule(source),
                       "messageExpression " + message.error().message);
        return std::nullopt;
      }
      rule.message_program = std::move(*message);
    }
    return rule;
  }
};

std::vector<std::string> steps_of(std::string_view path) {
  std::vector<std::string> steps;
  if (path.starts_with('.')) path.remove_prefix(1);
  while (!path.empty()) {
    const auto dot = path.find('.');
    steps.emplace_back(path.substr(0, dot));
    if (dot == std::string_view::npos) break;
    path.remove_prefix(dot + 1);
  }
  return steps;
}

std::string storage_version_of(const Json& crd) {
  for (const auto& version : array_at(crd, {"spec", "versions"}))
    if (bool_at(version, {"storage"})) return std::string(string_at(version, {"name"}));
  return {};
}

std::vector<std::string> texts_at(const Json& object,
                                  std::initializer_list<std::string_view> path) {
  std::vector<std::string> texts;
  for (const auto& entry : array_at(object, path))
    if (entry.is_string()) texts.emplace_back(entry.get_string());
  return texts;
}

}  // namespace

const Schema* compile_schema(const Json& schema, std::shared_ptr<SchemaArena> arena,
                             std::string path, FieldErrors& errors) {
  std::unordered_map<std::string, Schema*> known;
  Compiler compiler{std::move(arena), errors, known};
  return compiler.compile(schema, path);
}

std::vector<KindPtr> kinds_of_crd(const Json& crd) {
  std::vector<KindPtr> kinds;
  const auto group = std::string(string_at(crd, {"spec", "group"}));
  const auto plural = std::string(string_at(crd, {"spec", "names", "plural"}));
  const auto kind_name = std::string(string_at(crd, {"spec", "names", "kind"}));
  const auto storage = storage_version_of(crd);
  auto arena = std::make_shared<SchemaArena>();
  std::unordered_map<std::string, Schema*> known;  // shared by the versions, they hardly differ
  for (const auto& version : array_at(crd, {"spec", "versions"})) {
    if (!bool_at(version, {"served"})) continue;
    auto made = std::make_shared<CrdVersion>();
    made->arena = arena;
    made->crd_name = string_at(crd, {"metadata", "name"});
    FieldErrors errors;
    if (const auto* schema = find(version, {"schema", "openAPIV3Schema"}))
      made->schema = Compiler{arena, errors, known}.compile(*schema, "");
    if (const auto* scale = find(version, {"subresources", "scale"}); scale && scale->is_object())
      made->scale = ScalePaths{steps_of(string_at(*scale, {"specReplicasPath"})),
                               steps_of(string_at(*scale, {"statusReplicasPath"})),
                               steps_of(string_at(*scale, {"labelSelectorPath"}))};
    for (const auto& column : array_at(version, {"additionalPrinterColumns"}))
      made->columns.push_back(
          {std::string(string_at(column, {"name"})), std::string(string_at(column, {"type"})),
           std::string(string_at(column, {"format"})),
           std::string(string_at(column, {"description"})),
           std::string(string_at(column, {"jsonPath"})), int_at(column, {"priority"})});
    for (const auto& field : array_at(version, {"selectableFields"})) {
      auto path = std::string(string_at(field, {"jsonPath"}));
      if (path.starts_with('.')) path.erase(0, 1);
      made->selectable_fields.push_back(std::move(path));
    }
    auto kind = std::make_shared<Kind>();
    kind->resource = {group, std::string(string_at(version, {"name"})), plural, kind_name,
                      string_at(crd, {"spec", "scope"}) == "Namespaced"};
    kind->singular = string_at(crd, {"spec", "names", "singular"});
    kind->list_kind = string_at(crd, {"spec", "names", "listKind"});
    kind->short_names = texts_at(crd, {"spec", "names", "shortNames"});
    kind->categories = texts_at(crd, {"spec", "names", "categories"});
    kind->verbs = {"delete", "deletecollection", "get",    "list",
                   "patch",  "create",           "update", "watch"};
    kind->prefix = fmt::format("{}/{}/", group, plural);
    kind->storage_version = fmt::format("{}/{}", group, storage);
    kind->schema = made->schema;
    kind->strategy = custom_strategy();
    kind->has_status = find(version, {"subresources", "status"}) != nullptr;
    kind->crd = std::move(made);
    kinds.push_back(std::move(kind));
  }
  return kinds;
}

}  // namespace manta::local
