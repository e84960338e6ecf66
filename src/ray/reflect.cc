// Reading and writing JSON by description.
#include "ray/reflect.h"

#include "ray/kube_canonical.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>

namespace manta::ray {
namespace {

constexpr std::size_t kMostCauses = 20;
constexpr std::size_t kShownValue = 80;  // bytes of an offending value that an error repeats

class Reader {
 public:
  explicit Reader(std::vector<FieldCause>& causes) : causes_(causes) {}

  void read_struct(const TypeInfo& type, void* object, const Json& value, const std::string& path) {
    if (value.is_null()) return;
    if (!value.is_object()) return wrong(path, value, "an object");
    const auto& members = value.get_object();
    for (const Field& field : type.fields) {
      // null is absent, as for every Kubernetes decoder.
      const Json* member = members.if_contains(field.name);
      if (member == nullptr || member->is_null()) continue;
      const std::string at = path.empty() ? field.name : path + "." + field.name;
      if (field.type->kind == TypeKind::Json)
        read_json(field, *static_cast<Json*>(field.member(object)), *member, at);
      else
        read(*field.type, field.member(object), *member, at);
    }
  }

 private:
  void read(const TypeInfo& type, void* out, const Json& value, const std::string& path) {
    switch (type.kind) {
      case TypeKind::Bool:
        if (!value.is_bool()) return wrong(path, value, "true or false");
        *static_cast<bool*>(out) = value.get_bool();
        return;
      case TypeKind::Int32:
        return read_int(*static_cast<std::int32_t*>(out), value, path);
      case TypeKind::Int64:
        return read_int(*static_cast<std::int64_t*>(out), value, path);
      case TypeKind::Float:
        if (!value.is_number()) return wrong(path, value, "a number");
        return read_float(*static_cast<float*>(out), value);
      case TypeKind::String:
        if (!value.is_string()) return wrong(path, value, "a string");
        *static_cast<std::string*>(out) = std::string(value.get_string());
        return;
      case TypeKind::Quantity:
        return read_quantity(*static_cast<Quantity*>(out), value, path);
      case TypeKind::Time:
        return read_time(*static_cast<Time*>(out), value, path);
      case TypeKind::StringMap:
        return read_string_map(*static_cast<StringMap*>(out), value, path);
      case TypeKind::Json:
        *static_cast<Json*>(out) = value;
        return;
      case TypeKind::Struct:
        return read_struct(type, out, value, path);
      case TypeKind::Optional:
        return read(*type.element, type.container.add(out, {}), value, path);
      case TypeKind::List:
        return read_list(type, out, value, path);
      case TypeKind::Map:
        return read_map(type, out, value, path);
    }
  }

  void read_list(const TypeInfo& type, void* out, const Json& value, const std::string& path) {
    if (!value.is_array()) return wrong(path, value, "a list");
    std::size_t index = 0;
    for (const Json& item : value.get_array()) {
      const std::string at = fmt::format("{}[{}]", path, index++);
      void* element = type.container.add(out, {});
      if (!item.is_null()) read(*type.element, element, item, at);
    }
  }

  void read_map(const TypeInfo& type, void* out, const Json& value, const std::string& path) {
    if (!value.is_object()) return wrong(path, value, "an object");
    for (const auto& [key, item] : value.get_object()) {
      void* element = type.container.add(out, key);
      if (!item.is_null())
        read(*type.element, element, item, fmt::format("{}[{}]", path, std::string_view(key)));
    }
  }

  // The shape's first character tells lists from objects; what is inside is the user's and the API
  // server's business.
  void read_json(const Field& field, Json& out, const Json& value, const std::string& path) {
    if (field.rules.starts_with('[') ? !value.is_array() : !value.is_object())
      return wrong(path, value, field.rules.starts_with('[') ? "a list" : "an object");
    out = value;
  }

  template <class Int>
  void read_int(Int& out, const Json& value, const std::string& path) {
    std::optional<Int> number;
    if (const auto* i = value.if_int64()) {
      if (*i >= std::numeric_limits<Int>::min() && *i <= std::numeric_limits<Int>::max())
        number = static_cast<Int>(*i);
    } else if (const auto* u = value.if_uint64()) {
      if (*u <= static_cast<std::uint64_t>(std::numeric_limits<Int>::max()))
        number = static_cast<Int>(*u);
    } else if (const auto* d = value.if_double();
               d && std::trunc(*d) == *d && std::abs(*d) < 9e15) {
      if (*d >= static_cast<double>(std::numeric_limits<Int>::min()) &&
          *d <= static_cast<double>(std::numeric_limits<Int>::max()))
        number = static_cast<Int>(*d);  // 3.0 and 3e0 are whole numbers in JSON
    }
    if (!number)
      return wrong(path, value,
                   fmt::format("a whole number between {} and {}", std::numeric_limits<Int>::min(),
                               std::numeric_limits<Int>::max()));
    out = *number;
  }

  // The API server lets numbers pass that 32 bits don't hold. The largest one is as far beyond
  // everything, and an object that cannot be read could not even be deleted.
  void read_float(float& out, const Json& value) {
    constexpr double kMost = std::numeric_limits<float>::max();
    out = static_cast<float>(std::clamp(value.to_number<double>(), -kMost, kMost));
  }

  void read_quantity(Quantity& out, const Json& value, const std::string& path) {
    static constexpr std::string_view kWant = "a quantity such as 500m or 2Gi";
    if (!value.is_string() && !value.is_number()) return wrong(path, value, kWant);
    auto parsed =
        value.is_string() ? Quantity::parse(value.get_string()) : Quantity::parse(dump_json(value));
    if (!parsed) return wrong(path, value, kWant);
    out = *parsed;
  }

  void read_time(Time& out, const Json& value, const std::string& path) {
    static constexpr std::string_view kWant = "an RFC 3339 time such as 2026-01-31T00:00:00Z";
    if (!value.is_string()) return wrong(path, value, kWant);
    auto parsed = parse_rfc3339(value.get_string());
    if (!parsed) return wrong(path, value, kWant);
    out = *parsed;
  }

  void read_string_map(StringMap& out, const Json& value, const std::string& path) {
    if (!value.is_object()) return wrong(path, value, "an object of strings");
    for (const auto& [key, item] : value.get_object()) {
      if (!item.is_string() && !item.is_null()) {
        wrong(fmt::format("{}[{}]", path, std::string_view(key)), item, "a string");
        continue;
      }
      out[std::string(key)] = item.is_null() ? std::string() : std::string(item.get_string());
    }
  }

  void wrong(const std::string& path, const Json& value, std::string_view want) {
    if (causes_.size() >= kMostCauses) return;
    std::string shown = dump_json(value);
    if (shown.size() > kShownValue) {
      auto end = kShownValue;
      while (end > 0 && (static_cast<unsigned char>(shown[end]) & 0xC0) == 0x80) --end;  // UTF-8
      shown = shown.substr(0, end) + "…";
    }
    causes_.push_back({.field = path.empty() ? "(root)" : path,
                       .reason = "FieldValueInvalid",
                       .message = fmt::format("must be {}, found {}", want, shown)});
  }

  std::vector<FieldCause>& causes_;
};

// The shortest decimal that reads back as the same 32-bit float (0.1f is 0.1, not 0.10000000149).
double shortest_double(float value) {
  return std::strtod(fmt::format("{}", value).c_str(), nullptr);
}

class Writer {
 public:
  explicit Writer(WriteMode mode) : mode_(mode) {}

  Json write_struct(const TypeInfo& type, const void* object) {
    JsonObject members;
    for (const Field& field : type.fields) {
      // member() only computes an address.
      const void* value = field.member(const_cast<void*>(object));
      if (auto written = write_field(field, value)) members[field.name] = std::move(*written);
    }
    return members;
  }

 private:
  std::optional<Json> write_field(const Field& field, const void* value) {
    if (field.type->kind == TypeKind::Json)
      return write_json(field, *static_cast<const Json*>(value));
    if (field.type->kind == TypeKind::Optional) {
      if (field.type->container.size(value) > 0)
        return write(*field.type->element, field.type->container.at(value, 0));
      if (field.always && mode_ == WriteMode::Canonical) return Json(nullptr);
      return std::nullopt;
    }
    if (!field.always && is_empty(*field.type, value)) return std::nullopt;
    return write(*field.type, value);
  }

  std::optional<Json> write_json(const Field& field, const Json& value) {
    if (mode_ == WriteMode::Canonical) {
      if (value.is_array() && value.get_array().empty()) return std::nullopt;
      if (!value.is_null()) return kube_canonical(value, field.rules);
    } else if (!value.is_null()) {
      return value;
    }
    if (!field.always) return std::nullopt;
    return mode_ == WriteMode::Canonical ? kube_canonical(JsonObject(), field.rules)
                                         : Json(JsonObject());
  }

  // As Go's omitempty sees it: structs are never empty, quantities write themselves.
  static bool is_empty(const TypeInfo& type, const void* value) {
    switch (type.kind) {
      case TypeKind::Bool:
        return !*static_cast<const bool*>(value);
      case TypeKind::Int32:
        return *static_cast<const std::int32_t*>(value) == 0;
      case TypeKind::Int64:
        return *static_cast<const std::int64_t*>(value) == 0;
      case TypeKind::Float:
        return *static_cast<const float*>(value) == 0;
      case TypeKind::String:
        return static_cast<const std::string*>(value)->empty();
      case TypeKind::StringMap:
        return static_cast<const StringMap*>(value)->empty();
      case TypeKind::List:
      case TypeKind::Map:
      case TypeKind::Optional:
        return type.container.size(value) == 0;
      case TypeKind::Json:
        return static_cast<const Json*>(value)->is_null();
      case TypeKind::Quantity:
      case TypeKind::Time:
      case TypeKind::Struct:
        return false;
    }
    return false;
  }

  Json write(const TypeInfo& type, const void* value) {
    switch (type.kind) {
      case TypeKind::Bool:
        return Json(*static_cast<const bool*>(value));
      case TypeKind::Int32:
        return Json(*static_cast<const std::int32_t*>(value));
      case TypeKind::Int64:
        return Json(*static_cast<const std::int64_t*>(value));
      case TypeKind::Float:
        return Json(shortest_double(*static_cast<const float*>(value)));
      case TypeKind::String:
        return Json(*static_cast<const std::string*>(value));
      case TypeKind::Quantity:
        return Json(static_cast<const Quantity*>(value)->to_string());
      case TypeKind::Time:
        return Json(format_rfc3339(*static_cast<const Time*>(value)));
      case TypeKind::Json:
        return *static_cast<const Json*>(value);
      case TypeKind::Struct:
        return write_struct(type, value);
      case TypeKind::Optional:
        return write(*type.element, type.container.at(value, 0));
      case TypeKind::StringMap: {
        JsonObject members;
        for (const auto& [key, text] : *static_cast<const StringMap*>(value)) members[key] = text;
        return members;
      }
      case TypeKind::List: {
        JsonArray items;
        for (std::size_t i = 0; i < type.container.size(value); ++i)
          items.push_back(write(*type.element, type.container.at(value, i)));
        return items;
      }
      case TypeKind::Map: {
        JsonObject members;
        for (std::size_t i = 0; i < type.container.size(value); ++i)
          members[type.container.key(value, i)] = write(*type.element, type.container.at(value, i));
        return members;
      }
    }
    return nullptr;
  }

  WriteMode mode_;
};

}  // namespace

Json write_object(const TypeInfo& type, const void* object, WriteMode mode) {
  return Writer(mode).write_struct(type, object);
}

void read_object(const TypeInfo& type, void* object, const Json& value, const std::string& path,
                 std::vector<FieldCause>& causes) {
  Reader(causes).read_struct(type, object, value, path);
}

Result<void> causes_to_result(std::vector<FieldCause> causes) {
  if (causes.empty()) return {};
  Error error{.code = ErrorCode::Invalid};
  for (const auto& cause : causes) {
    if (!error.message.empty()) error.message += "; ";
    error.message += cause.field + ": " + cause.message;
  }
  error.causes = std::move(causes);
  return failed(std::move(error));
}

}  // namespace manta::ray
