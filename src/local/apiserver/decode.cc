#include "local/apiserver/decode.h"

#include "base/quantity.h"
#include "base/time.h"
#include "fmt/format.h"
#include "local/apiserver/field_errors.h"

#include <cmath>
#include <limits>

namespace manta::local {
namespace {

/// Where the decoder is, a step below another place. Put into words only for a message.
class Place {
 public:
  Place() = default;

  Place child(std::string_view name, std::string_view owner_type) const {
    return {this, Step::Field, name, 0, owner_type.empty() ? owner_ : owner_type};
  }
  Place item(std::size_t index) const { return {this, Step::Item, {}, index, owner_}; }
  Place member(std::string_view key) const { return {this, Step::Member, key, 0, owner_}; }

  std::string_view owner() const { return owner_; }  // the innermost Go struct
  std::string go() const {                           // spec.containers.name
    const auto above = up_ ? up_->go() : std::string();
    return step_ == Step::Field ? joined(above, name_) : above;
  }
  std::string path() const {  // spec.containers[0].name
    if (!up_) return {};
    return step_ == Step::Item ? fmt::format("{}[{}]", up_->path(), index_)
                               : joined(up_->path(), name_);
  }

 private:
  enum class Step : std::uint8_t { Root, Field, Item, Member };
  Place(const Place* up, Step step, std::string_view name, std::size_t index,
        std::string_view owner)
      : up_(up), step_(step), name_(name), index_(index), owner_(owner) {}
  static std::string joined(const std::string& above, std::string_view name) {
    return above.empty() ? std::string(name) : fmt::format("{}.{}", above, name);
  }

  const Place* up_ = nullptr;
  Step step_ = Step::Root;
  std::string_view name_ = {};
  std::size_t index_ = 0;
  std::string_view owner_ = {};
};

std::string go_type(const Schema& schema) {
  if (!schema.go_type.empty()) return "v1." + schema.go_type;
  switch (schema.type) {
    case JsonType::String:
      return schema.format == Format::Byte ? "[]uint8" : "string";
    case JsonType::Boolean:
      return "bool";
    case JsonType::Integer:
      return schema.format == Format::Int64 ? "int64" : "int32";
    case JsonType::Number:
      return "float64";
    case JsonType::Array:
      return "[]" + (schema.items ? go_type(*schema.items) : "");
    case JsonType::Object:
      return schema.additional ? "map[string]" + go_type(*schema.additional)
                               : "map[string]interface {}";
    case JsonType::Any:
      return "interface {}";
  }
  return "";
}

struct Decoder {
  std::vector<std::string>& unknown;

  std::unexpected<Error> mismatch(const Json& value, const Schema& schema, const Place& at) const {
    auto shown = std::string(go_kind(value));
    if (shown == "number" && schema.type == JsonType::Integer) shown += " " + dump_json(value);
    if (at.go().empty())
      return failed(ErrorCode::BadRequest,
                    fmt::format("json: cannot unmarshal {} into Go value of type {}", shown,
                                go_type(schema)));
    return failed(ErrorCode::BadRequest,
                  fmt::format("json: cannot unmarshal {} into Go struct field {}.{} of type {}",
                              shown, at.owner(), at.go(), go_type(schema)));
  }

  /// The value in its canonical form; `zero` says that Go would hold a zero value.
  Result<Json> value(const Json& in, const Schema& schema, const Place& at, bool& zero) {
    zero = false;
    if (schema.format == Format::Quantity) return quantity(in, at);
    if (schema.int_or_string) return int_or_string(in, schema, at, zero);
    switch (schema.type) {
      case JsonType::String:
        return text(in, schema, at, zero);
      case JsonType::Boolean:
        if (!in.is_bool()) return mismatch(in, schema, at);
        zero = !in.get_bool();
        return in;
      case JsonType::Integer:
        return integer(in, schema, at, zero);
      case JsonType::Number:
        if (!in.is_number()) return mismatch(in, schema, at);
        return in;
      case JsonType::Array:
        return array(in, schema, at, zero);
      case JsonType::Object:
        return object(in, schema, at, zero);
      case JsonType::Any:
        return in;
    }
    return in;
  }

  Result<Json> quantity(const Json& in, const Place& at) {
    std::string text;
    if (in.is_string())
      text = std::string(in.get_string());
    else if (in.is_number())
      text = dump_json(in);
    else
      return failed(ErrorCode::BadRequest,
                    fmt::format("json: cannot unmarshal {} into Go struct field {}.{} of type "
                                "resource.Quantity",
                                go_kind(in), at.owner(), at.go()));
    auto parsed = Quantity::parse(text);
    if (!parsed)
      return failed(ErrorCode::BadRequest,
                    "quantities must match the regular expression "
                    "'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'");
    return Json(parsed->to_string());
  }

  Result<Json> int_or_string(const Json& in, const Schema&, const Place& at, bool&) {
    if (in.is_string() || in.is_int64() || in.is_uint64()) return in;
    return failed(ErrorCode::BadRequest,
                  fmt::format("json: cannot unmarshal {} into Go struct field {}.{} of type "
                              "intstr.IntOrString",
                              go_kind(in), at.owner(), at.go()));
  }

  Result<Json> text(const Json& in, const Schema& schema, const Place& at, bool& zero) {
    if (!in.is_string()) return mismatch(in, schema, at);
    const std::string_view text = in.get_string();
    zero = text.empty();
    if (schema.format == Format::Time || schema.format == Format::MicroTime) {
      if (text.empty()) return in;
      auto time = parse_rfc3339(text);
      if (!time)
        return failed(
            ErrorCode::BadRequest,
            fmt::format("parsing time \"{}\" as \"2006-01-02T15:04:05Z07:00\": cannot parse "
                        "\"{}\" as \"2006\"",
                        text, text));
      return Json(schema.format == Format::Time ? format_rfc3339(*time)
                                                : format_rfc3339_micro(*time));
    }
    return in;
  }

  Result<Json> integer(const Json& in, const Schema& schema, const Place& at, bool& zero) {
    std::int64_t number = 0;
    if (in.is_int64())
      number = in.get_int64();
    else if (in.is_double() && in.get_double() == std::floor(in.get_double()) &&
             std::abs(in.get_double()) < 9e15)
      number =
          static_cast<std::int64_t>(in.get_double());  // 1.0 and 1e3 are integers to Kubernetes
    else
      return mismatch(in, schema, at);
    if (schema.format == Format::Int32 && (number > std::numeric_limits<std::int32_t>::max() ||
                                           number < std::numeric_limits<std::int32_t>::min()))
      return mismatch(in, schema, at);
    zero = number == 0;
    return Json(number);
  }

  Result<Json> array(const Json& in, const Schema& schema, const Place& at, bool& zero) {
    if (!in.is_array()) return mismatch(in, schema, at);
    JsonArray out;
    const auto& items = in.get_array();
    out.reserve(items.size());
    for (std::size_t i = 0; i < items.size(); ++i) {
      bool ignored = false;
      if (items[i].is_null()) {
        if (schema.items->type == JsonType::Object)
          out.push_back(JsonObject{});
        else if (schema.items->type == JsonType::String)
          out.push_back("");
        continue;
      }
      auto item = value(items[i], *schema.items, at.item(i), ignored);
      if (!item) return item;
      out.push_back(std::move(*item));
    }
    zero = out.empty();
    return Json(std::move(out));
  }

  Result<Json> object(const Json& in, const Schema& schema, const Place& at, bool& zero) {
    if (!in.is_object()) return mismatch(in, schema, at);
    if (schema.preserve_unknown) return in;
    JsonObject out;
    const auto& members = in.get_object();
    if (schema.additional) {
      for (const auto& [key, member] : members) {
        bool ignored = false;
        if (member.is_null()) {
          if (schema.additional->type == JsonType::String) out[key] = "";
          continue;
        }
        auto made = value(member, *schema.additional, at.member(key), ignored);
        if (!made) return made;
        out[key] = std::move(*made);
      }
      zero = out.empty();
      return Json(std::move(out));
    }
    for (const auto& field : schema.fields) {
      const auto* member = members.if_contains(field.name);
      if (!member || member->is_null()) {
        if (auto empty = empty_value(field)) out[field.name] = std::move(*empty);
        continue;
      }
      bool is_zero = false;
      auto made = value(*member, *field.schema, at.child(field.name, schema.go_type), is_zero);
      if (!made) return made;
      if (is_zero && !field.always && !(field.pointer && !field.schema->items)) continue;
      out[field.name] = std::move(*made);
    }
    for (const auto& [key, member] : members)
      if (!schema.field(key)) unknown.push_back(at.child(key, {}).path());
    return Json(std::move(out));
  }

  /// What Go writes for a field that was not given: nothing, or its zero value.
  std::optional<Json> empty_value(const Field& field) {
    if (field.pointer) return std::nullopt;
    // Times are structs to Go: written as null, except the one that says it may be left out.
    if ((field.schema->format == Format::Time || field.schema->format == Format::MicroTime) &&
        field.name != "creationTimestamp")
      return Json(nullptr);
    // encoding/json never omits structs, and a struct inside may hold more of them.
    if (!field.schema->go_type.empty() && field.schema->type == JsonType::Object &&
        field.schema->format == Format::None) {
      bool ignored = false;
      auto made = object(Json(JsonObject{}), *field.schema, {}, ignored);
      if (made) return std::move(*made);
    }
    if (!field.always) return std::nullopt;
    switch (field.schema->type) {
      case JsonType::String:
        if (field.schema->format == Format::Time || field.schema->format == Format::MicroTime ||
            field.schema->format == Format::Byte)
          return std::nullopt;
        return Json("");
      case JsonType::Boolean:
        return Json(false);
      case JsonType::Integer:
        return Json(0);
      default:
        return std::nullopt;
    }
  }
};

}  // namespace

Result<Json> decode_builtin(const Json& object, const Schema& schema,
                            std::vector<std::string>& unknown) {
  bool zero = false;
  return Decoder{unknown}.value(object, schema, {}, zero);
}

}  // namespace manta::local
