// A custom object against its schema: types, bounds, enums, list kinds, and CEL rules. What an
// update leaves as it was is not judged again (validation ratcheting).
// Source: kube-openapi validation/validate, apiextensions-apiserver pkg/apiserver/schema.
#include "base/hash.h"
#include "base/time.h"
#include "fmt/format.h"
#include "local/apiserver/cel.h"
#include "local/apiserver/crd.h"

#include <cmath>
#include <set>
#include <unordered_map>

namespace manta::local {
namespace {

std::string child(const std::string& path, std::string_view name) {
  return path.empty() ? std::string(name) : fmt::format("{}.{}", path, name);
}

/// JSON Schema's name of a value's type, as the validator's messages have it.
std::string_view schema_kind(const Json& value) {
  if (value.is_bool()) return "boolean";
  if (value.is_int64()) return "integer";
  return value.is_number() ? "float64" : go_kind(value);
}

bool is_whole(const Json& value) {
  return value.is_int64() ||
         (value.is_double() && value.get_double() == std::floor(value.get_double()) &&
          std::abs(value.get_double()) < 9e18);
}

bool is_type(const Json& value, JsonType type) {
  switch (type) {
    case JsonType::Any:
      return true;
    case JsonType::Object:
      return value.is_object();
    case JsonType::Array:
      return value.is_array();
    case JsonType::String:
      return value.is_string();
    case JsonType::Boolean:
      return value.is_bool();
    case JsonType::Integer:
      return is_whole(value);
    case JsonType::Number:
      return value.is_number();
  }
  return false;
}

std::size_t code_points(std::string_view text) {
  std::size_t count = 0;
  for (const char c : text)
    if ((static_cast<unsigned char>(c) & 0xc0) != 0x80) ++count;
  return count;
}

bool format_holds(std::string_view format, std::string_view text) {
  if (format == "date-time") return parse_rfc3339(text).has_value();
  if (format == "byte") return base64_decode(text).has_value();
  if (format == "date")
    return text.size() == 10 && parse_rfc3339(std::string(text) + "T00:00:00Z").has_value();
  if (format == "duration") return parse_go_duration(text).has_value();
  if (format == "uuid") return text.size() == 36;
  return true;  // formats that the server does not know are not checked
}

/// What tells an item of a list of maps from the others.
Json keys_of(const Json& item, const Schema& list) {
  JsonObject keys;
  for (const auto& name : list.list_keys)
    if (const auto* value = item.get_object().if_contains(name)) keys[name] = *value;
  return keys;
}

/// The old counterparts of a list's items, where they can be told: lists of maps by their keys.
class OldItems {
 public:
  OldItems(const Json* old, const Schema& list) : list_(list) {
    if (!old || !old->is_array() || list.list_type != ListType::Map) return;
    for (const auto& item : old->get_array())
      if (item.is_object()) items_.emplace(canonical_json(keys_of(item, list)), &item);
  }
  const Json* of(const Json& item) const {
    if (items_.empty() || !item.is_object()) return nullptr;
    const auto found = items_.find(canonical_json(keys_of(item, list_)));
    return found == items_.end() ? nullptr : found->second;
  }

 private:
  const Schema& list_;
  std::unordered_map<std::string, const Json*> items_ = {};
};

const Json* old_member(const Json* old, std::string_view name) {
  return old && old->is_object() ? old->get_object().if_contains(name) : nullptr;
}

class Structure {
 public:
  explicit Structure(FieldErrors& errors) : errors_(errors) {}

  void check(const Json& value, const Json* old, const Schema& schema, const std::string& path,
             bool root) {
    if (old && *old == value) return;
    if (value.is_null() && (schema.nullable || root)) return;
    if (!type(value, schema, path)) return;
    if (schema.limits) limits(value, *schema.limits, path);
    if (value.is_object())
      object(value, old, schema, path, root);
    else if (value.is_array())
      array(value, old, schema, path);
  }

 private:
  void wrong_type(const std::string& path, std::string_view expected, const Json& value) {
    errors_.type_invalid(
        path.empty() ? "<nil>" : path, Json(schema_kind(value)),
        fmt::format("{} in body must be of type {}: \"{}\"", path, expected, schema_kind(value)));
  }

  bool type(const Json& value, const Schema& schema, const std::string& path) {
    if (schema.int_or_string) {
      if (value.is_string() || is_whole(value)) return true;
      wrong_type(path, "integer,string", value);
      if (schema.limits) junctors(value, *schema.limits, path);
      return false;
    }
    if (schema.type == JsonType::Integer) {
      const std::string_view format = schema.format == Format::Int32   ? "int32"
                                      : schema.format == Format::Int64 ? "int64"
                                                                       : "";
      const bool whole = is_whole(value);
      if (!whole)
        wrong_type(path, value.is_number() && !format.empty() ? format : "integer", value);
      const bool fits = whole && (schema.format != Format::Int32 ||
                                  std::abs(value.to_number<double>() + 0.5) < 2147483648.0);
      if (!fits && !format.empty() && value.is_number())
        errors_.add(
            "<nil>", "FieldValueInvalid",
            fmt::format(
                "Invalid value: \"\": Checked value must be of type integer with format {} in {}",
                format, path));
      return whole;
    }
    if (is_type(value, schema.type)) return true;
    wrong_type(path, to_string(schema.type), value);
    // An enum is judged whatever the type.
    if (schema.limits && !schema.limits->enum_.empty()) enumeration(value, *schema.limits, path);
    return false;
  }

  void enumeration(const Json& value, const Limits& limits, const std::string& path) {
    for (const auto& choice : limits.enum_)
      if (choice == value) return;
    std::vector<std::string> choices;
    choices.reserve(limits.enum_.size());
    for (const auto& choice : limits.enum_)
      choices.push_back(choice.is_string() ? std::string(choice.get_string()) : dump_json(choice));
    errors_.not_supported(path, value, std::move(choices));
  }

  void limits(const Json& value, const Limits& limits, const std::string& path) {
    auto bad = [&](const Json& shown, std::string why) {
      errors_.invalid(path, shown, fmt::format("{} in body {}", path, why));
    };
    if (!limits.enum_.empty()) enumeration(value, limits, path);
    if (value.is_number()) {
      const double number = value.to_number<double>();
      auto shown = [](double bound) { return dump_json(Json(bound)); };
      if (limits.minimum &&
          (limits.exclusive_minimum ? number <= *limits.minimum : number < *limits.minimum))
        bad(value,
            fmt::format("should be greater than {}{}",
                        limits.exclusive_minimum ? "" : "or equal to ", shown(*limits.minimum)));
      if (limits.maximum &&
          (limits.exclusive_maximum ? number >= *limits.maximum : number > *limits.maximum))
        bad(value,
            fmt::format("should be less than {}{}", limits.exclusive_maximum ? "" : "or equal to ",
                        shown(*limits.maximum)));
      if (limits.multiple_of && std::fmod(number, *limits.multiple_of) != 0)
        bad(value, fmt::format("should be a multiple of {}", shown(*limits.multiple_of)));
    }
    if (value.is_string()) {
      const std::string_view text = value.get_string();
      const auto length = static_cast<std::int64_t>(code_points(text));
      if (limits.min_length && length < *limits.min_length)
        bad(value, fmt::format("should be at least {} chars long", *limits.min_length));
      if (limits.max_length && length > *limits.max_length)
        errors_.too_long(path, *limits.max_length);
      if (limits.compiled_pattern && !limits.compiled_pattern->found_in(text))
        bad(value, fmt::format("should match '{}'", limits.pattern));
      if (!limits.format.empty() && !format_holds(limits.format, text))
        errors_.type_invalid(path, value,
                             fmt::format("{} in body must be of type {}: {}", path, limits.format,
                                         dump_json(value)));
    }
    if (value.is_array()) {
      const auto count = static_cast<std::int64_t>(value.get_array().size());
      if (limits.min_items && count < *limits.min_items)
        bad(Json(count), fmt::format("should have at least {} items", *limits.min_items));
      if (limits.max_items && count > *limits.max_items)
        errors_.too_many(path, count, *limits.max_items);
    }
    if (value.is_object()) {
      const auto count = static_cast<std::int64_t>(value.get_object().size());
      if (limits.min_properties && count < *limits.min_properties)
        bad(Json(count), fmt::format("should have at least {} properties", *limits.min_properties));
      if (limits.max_properties && count > *limits.max_properties)
        errors_.too_many(path, count, *limits.max_properties);
    }
    junctors(value, limits, path);
  }

  std::size_t failures(const Json& value, const Schema& schema, const std::string& path,
                       FieldErrors* into = nullptr) {
    FieldErrors own;
    Structure(into ? *into : own).check(value, nullptr, schema, path, false);
    return into ? into->size() : own.size();
  }

  void junctors(const Json& value, const Limits& limits, const std::string& path) {
    auto note = [&](std::string text) {
      errors_.add("<nil>", "FieldValueInvalid",
                  fmt::format("Invalid value: \"\": \"{}\" {}", path, text));
    };
    for (const auto* part : limits.all_of) check(value, nullptr, *part, path, false);
    auto valid = [&](const std::vector<const Schema*>& parts) {
      std::size_t count = 0;
      for (const auto* part : parts)
        if (failures(value, *part, path) == 0) ++count;
      return count;
    };
    if (!limits.any_of.empty() && valid(limits.any_of) == 0) {
      note("must validate at least one schema (anyOf)");
      failures(value, *limits.any_of.front(), path, &errors_);
    }
    if (!limits.one_of.empty()) {
      const auto count = valid(limits.one_of);
      if (count == 0) {
        note("must validate one and only one schema (oneOf). Found none valid");
        failures(value, *limits.one_of.front(), path, &errors_);
      } else if (count > 1) {
        note(fmt::format(
            "must validate one and only one schema (oneOf). Found {} valid alternatives", count));
      }
    }
    if (limits.not_ && failures(value, *limits.not_, path) == 0)
      note("must not validate the schema (not)");
  }

  void object(const Json& value, const Json* old, const Schema& schema, const std::string& path,
              bool root) {
    const auto& members = value.get_object();
    for (const auto& field : schema.fields)
      if (field.required && !members.contains(field.name))
        errors_.required(child(path, field.name));
    for (const auto& [key, member] : members) {
      const std::string_view name = key;
      if ((root || schema.embedded_resource) &&
          (name == "metadata" || name == "apiVersion" || name == "kind"))
        continue;
      const Schema* below = schema.additional;
      if (const auto* field = schema.field(name)) below = field->schema;
      if (below) check(member, old_member(old, name), *below, child(path, name), false);
    }
  }

  void array(const Json& value, const Json* old, const Schema& schema, const std::string& path) {
    const auto& items = value.get_array();
    const OldItems olds(old, schema);
    std::set<std::string> seen;
    for (std::size_t i = 0; i < items.size(); ++i) {
      const auto here = fmt::format("{}[{}]", path, i);
      if (schema.items) check(items[i], olds.of(items[i]), *schema.items, here, false);
      if (schema.list_type == ListType::Set) {
        if (!seen.insert(canonical_json(items[i])).second) errors_.duplicate(here, items[i]);
      } else if (schema.list_type == ListType::Map && items[i].is_object()) {
        const auto key = keys_of(items[i], schema);
        if (!seen.insert(canonical_json(key)).second) errors_.duplicate(here, key);
      }
    }
  }

  FieldErrors& errors_;
};

/// What all rules of one object may cost. Source: apiserver/pkg/cel, RuntimeCELCostBudget.
constexpr std::size_t kMaxRulesCost = 10'000'000;

class Rules {
 public:
  explicit Rules(FieldErrors& errors) : errors_(errors) {}

  void check(const Json& value, const Json* old, const Schema& schema, const std::string& path) {
    if (!schema.has_rules_below || over_ || (old && *old == value)) return;
    if (value.is_null()) return;
    if (schema.limits)
      for (const auto& rule : schema.limits->rules)
        if (!over_) apply(rule, value, old, path);
    if (value.is_object()) {
      for (const auto& [key, member] : value.get_object()) {
        const Schema* below = schema.additional;
        if (const auto* field = schema.field(key)) below = field->schema;
        if (below) check(member, old_member(old, key), *below, child(path, key));
      }
    } else if (value.is_array() && schema.items) {
      const auto& items = value.get_array();
      const OldItems olds(old, schema);
      for (std::size_t i = 0; i < items.size(); ++i)
        check(items[i], olds.of(items[i]), *schema.items, fmt::format("{}[{}]", path, i));
    }
  }

 private:
  void apply(const Rule& rule, const Json& value, const Json* old, const std::string& path) {
    if (rule.uses_old && !old && !rule.optional_old) return;
    cel::Bindings bindings{{"self", &value}};
    static const Json kNothing;
    if (rule.uses_old) bindings.emplace("oldSelf", old ? old : &kNothing);
    const auto where = rule.field_path.empty() ? path : path + rule.field_path;
    auto holds = rule.program->check(bindings, &spent_);
    over_ = spent_ > kMaxRulesCost || (!holds && holds.error().message == cel::kTooCostly);
    const std::string shown =
        value.is_object() || value.is_array() ? std::string() : go_value(value) + ": ";
    if (!holds && over_) {
      errors_.add(
          where, "FieldValueInvalid",
          fmt::format("Invalid value: \"{}\": '{}': no further validation rules will be run "
                      "due to call cost exceeds limit for rule: {}",
                      schema_kind(value), holds.error().message, rule.rule));
      return;
    }
    if (over_) {
      errors_.add(where, "FieldValueInvalid",
                  fmt::format("Invalid value: \"{}\": validation failed due to running out of cost "
                              "budget, no further validation rules will be run",
                              schema_kind(value)));
      return;
    }
    if (!holds) {
      errors_.add(
          where, "FieldValueInvalid",
          fmt::format("Invalid value: \"{}\": {} evaluating rule: {}", schema_kind(value),
                      holds.error().message, rule.message.empty() ? rule.rule : rule.message));
      return;
    }
    if (*holds) return;
    std::string message = rule.message.empty() ? "failed rule: " + rule.rule : rule.message;
    if (rule.message_program)
      if (auto made = rule.message_program->text(bindings)) message = *made;
    if (rule.reason == "FieldValueRequired")
      errors_.required(where, message);
    else if (rule.reason == "FieldValueForbidden")
      errors_.forbidden(where, message);
    else if (rule.reason == "FieldValueDuplicate")
      errors_.add(where, rule.reason, fmt::format("Duplicate value: {}{}", shown, message));
    else
      errors_.add(where, "FieldValueInvalid", fmt::format("Invalid value: {}{}", shown, message));
  }

  FieldErrors& errors_;
  std::size_t spent_ = 0;
  bool over_ = false;
};

}  // namespace

void validate_structure(const Json& object, const Json* old, const Schema& schema,
                        FieldErrors& errors) {
  Structure(errors).check(object, old, schema, "", true);
}

void validate_rules(const Json& object, const Json* old, const Schema& schema,
                    FieldErrors& errors) {
  Rules(errors).check(object, old, schema, "");
}

}  // namespace manta::local
