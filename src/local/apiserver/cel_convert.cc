// Conversions between CEL's types: int("3"), duration("5m").
#include "base/time.h"
#include "fmt/format.h"
#include "local/apiserver/cel_functions.h"

#include <cmath>

namespace manta::local::cel {
namespace {

Outcome to_text(const Value& value) {
  switch (value.kind) {
    case Value::Kind::String:
    case Value::Kind::Bytes:
      return make_string(value.text);
    case Value::Kind::Int:
      return make_string(std::to_string(value.integer));
    case Value::Kind::Uint:
      return make_string(std::to_string(static_cast<std::uint64_t>(value.integer)));
    case Value::Kind::Double:
      return make_string(dump_json(Json(value.real)));
    case Value::Kind::Bool:
      return make_string(value.flag ? "true" : "false");
    default:
      return no_overload();
  }
}

Outcome to_integer(const Value& value, Value::Kind kind) {
  auto made = make_of(kind);
  made.integer = value.integer;
  if (value.kind == Value::Kind::Double) {
    if (!(std::abs(value.real) < 9.2e18)) return fail("integer overflow");
    made.integer = static_cast<std::int64_t>(value.real);
  } else if (value.kind == Value::Kind::String) {
    char* end = nullptr;
    made.integer = std::strtoll(value.text.c_str(), &end, 10);
    if (value.text.empty() || *end)
      return fail(fmt::format("strconv.ParseInt: parsing \"{}\": invalid syntax", value.text));
  } else if (!is_number(value)) {
    return no_overload();
  }
  return made;
}

Outcome to_double(const Value& value) {
  if (is_number(value)) return make_double(as_double(value));
  if (value.kind != Value::Kind::String) return no_overload();
  char* end = nullptr;
  const double number = std::strtod(value.text.c_str(), &end);
  if (value.text.empty() || *end) return fail("type conversion error from 'string' to 'double'");
  return make_double(number);
}

Outcome to_bool(const Value& value) {
  if (value.kind == Value::Kind::Bool) return value;
  if (value.text == "true" || value.text == "false") return make_bool(value.text == "true");
  return no_overload();
}

Outcome to_quantity(const std::string& text) {
  auto parsed = Quantity::parse(text);
  if (!parsed)
    return fail(
        "quantities must match the regular expression "
        "'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'");
  auto made = make_of(Value::Kind::Quantity);
  made.quantity = *parsed;
  return made;
}

Outcome to_duration(const std::string& text) {
  auto parsed = parse_go_duration(text);
  if (!parsed) return fail(fmt::format("time: invalid duration \"{}\"", text));
  auto made = make_of(Value::Kind::Duration);
  made.integer = parsed->count();
  return made;
}

Outcome to_timestamp(const std::string& text) {
  auto parsed = parse_rfc3339(text);
  if (!parsed) return fail(fmt::format("parsing time \"{}\": cannot parse", text));
  auto made = make_of(Value::Kind::Timestamp);
  made.integer = parsed->time_since_epoch().count();
  return made;
}

}  // namespace

Outcome convert(std::string_view function, const Value& value) {
  if (function == "string") return to_text(value);
  if (function == "int") return to_integer(value, Value::Kind::Int);
  if (function == "uint") return to_integer(value, Value::Kind::Uint);
  if (function == "double") return to_double(value);
  if (function == "bool") return to_bool(value);
  if (value.kind != Value::Kind::String) return no_overload();
  if (function == "isQuantity") return make_bool(Quantity::parse(value.text).has_value());
  if (function == "quantity") return to_quantity(value.text);
  if (function == "duration") return to_duration(value.text);
  if (function == "timestamp") return to_timestamp(value.text);
  return no_overload();
}

}  // namespace manta::local::cel
