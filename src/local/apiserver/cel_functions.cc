#include "local/apiserver/cel_functions.h"

#include <algorithm>

namespace manta::local::cel {
namespace {

struct Function {
  std::string_view name;
  int least, most;  // arguments
  bool method;
};

constexpr Function kFunctions[] = {
    {"size", 1, 1, false},       {"size", 0, 0, true},          {"int", 1, 1, false},
    {"uint", 1, 1, false},       {"double", 1, 1, false},       {"string", 1, 1, false},
    {"bool", 1, 1, false},       {"dyn", 1, 1, false},          {"type", 1, 1, false},
    {"duration", 1, 1, false},   {"timestamp", 1, 1, false},    {"quantity", 1, 1, false},
    {"isQuantity", 1, 1, false}, {"startsWith", 1, 1, true},    {"endsWith", 1, 1, true},
    {"contains", 1, 1, true},    {"matches", 1, 1, true},       {"matches", 2, 2, false},
    {"lowerAscii", 0, 0, true},  {"upperAscii", 0, 0, true},    {"trim", 0, 0, true},
    {"split", 1, 2, true},       {"join", 0, 1, true},          {"replace", 2, 3, true},
    {"substring", 1, 2, true},   {"indexOf", 1, 2, true},       {"lastIndexOf", 1, 2, true},
    {"charAt", 1, 1, true},      {"find", 1, 1, true},          {"findAll", 1, 2, true},
    {"isSorted", 0, 0, true},    {"sum", 0, 0, true},           {"min", 0, 0, true},
    {"max", 0, 0, true},         {"orValue", 1, 1, true},       {"hasValue", 0, 0, true},
    {"value", 0, 0, true},       {"isGreaterThan", 1, 1, true}, {"isLessThan", 1, 1, true},
    {"compareTo", 1, 1, true},   {"asInteger", 0, 0, true},     {"isInteger", 0, 0, true},
    {"sign", 0, 0, true},        {"add", 1, 1, true},           {"sub", 1, 1, true},
    {"getHours", 0, 0, true},    {"getMinutes", 0, 0, true},    {"getSeconds", 0, 0, true},
};

Outcome size(const Value& value) {
  if (value.kind == Value::Kind::String)
    return make_int(static_cast<std::int64_t>(characters(value.text).size()));
  if (value.kind == Value::Kind::Bytes)
    return make_int(static_cast<std::int64_t>(value.text.size()));
  if (value.kind == Value::Kind::List || value.kind == Value::Kind::Map)
    return make_int(static_cast<std::int64_t>(size_of(value)));
  return no_overload();
}

Outcome call_optional(std::string_view method, const Values& arguments) {
  const auto& own = arguments.front();
  if (method == "hasValue") return make_bool(own.flag);
  if (method == "orValue") return own.flag ? own.items->front() : arguments[1];
  if (method == "value") {
    if (!own.flag) return fail("optional.none() dereference");
    return own.items->front();
  }
  return no_overload();
}

Outcome call_quantity(std::string_view method, const Values& arguments) {
  const auto& own = arguments.front().quantity;
  if (method == "sign") return make_int(own.is_zero() ? 0 : own < Quantity() ? -1 : 1);
  if (method == "asInteger") return make_int(own.value());
  if (method == "isInteger") return make_bool(own == Quantity::from_int(own.value()));
  if (arguments.size() != 2) return no_overload();
  Quantity other = arguments[1].quantity;
  if (arguments[1].kind == Value::Kind::Int)
    other = Quantity::from_int(arguments[1].integer);
  else if (arguments[1].kind != Value::Kind::Quantity)
    return no_overload();
  if (method == "isGreaterThan") return make_bool(own > other);
  if (method == "isLessThan") return make_bool(own < other);
  if (method == "compareTo") return make_int(own < other ? -1 : own > other ? 1 : 0);
  Value made = arguments.front();
  if (method == "add")
    made.quantity += other;
  else if (method == "sub")
    made.quantity -= other;
  else
    return no_overload();
  return made;
}

/// Of a Duration the whole of it in that unit; of a Timestamp the clock's hand, in UTC.
Outcome call_time(std::string_view method, const Value& time) {
  auto seconds = time.integer / 1'000'000;
  const bool clock = time.kind == Value::Kind::Timestamp;
  if (clock) seconds = ((seconds % 86'400) + 86'400) % 86'400;
  if (method == "getHours") return make_int(seconds / 3600);
  if (method == "getMinutes") return make_int(clock ? seconds / 60 % 60 : seconds / 60);
  if (method == "getSeconds") return make_int(clock ? seconds % 60 : seconds);
  return no_overload();
}

}  // namespace

bool is_known_function(std::string_view name, std::size_t arguments, bool method) {
  const auto count = static_cast<int>(arguments);
  return std::ranges::any_of(kFunctions, [&](const Function& function) {
    return function.name == name && function.method == method && count >= function.least &&
           count <= function.most;
  });
}

Outcome call_function(std::string_view name, bool method, const Values& arguments) {
  const auto& subject = arguments.front();
  if (name == "size") return size(subject);
  if (name == "dyn") return subject;
  if (name == "type") {
    auto type = make_of(Value::Kind::Type);
    type.text = type_name(subject);
    return type;
  }
  if (!method) return convert(name, subject);
  switch (subject.kind) {
    case Value::Kind::Optional:
      return call_optional(name, arguments);
    case Value::Kind::Quantity:
      return call_quantity(name, arguments);
    case Value::Kind::String:
      return call_string(name, arguments);
    case Value::Kind::List:
      return call_list(name, arguments);
    case Value::Kind::Duration:
    case Value::Kind::Timestamp:
      return call_time(name, subject);
    default:
      return no_overload();
  }
}

}  // namespace manta::local::cel
