#include "local/apiserver/cel_value.h"

#include "local/apiserver/cel.h"

namespace manta::local::cel {

std::unexpected<Error> fail(std::string message) {
  return failed(ErrorCode::Invalid, std::move(message));
}
std::unexpected<Error> no_overload() { return fail("no such overload"); }
std::unexpected<Error> too_costly() { return fail(std::string(kTooCostly)); }

Value make_of(Value::Kind kind) {
  Value value;
  value.kind = kind;
  return value;
}
Value make_bool(bool flag) {
  auto value = make_of(Value::Kind::Bool);
  value.flag = flag;
  return value;
}
Value make_int(std::int64_t number) {
  auto value = make_of(Value::Kind::Int);
  value.integer = number;
  return value;
}
Value make_double(double number) {
  auto value = make_of(Value::Kind::Double);
  value.real = number;
  return value;
}
Value make_string(std::string text) {
  auto value = make_of(Value::Kind::String);
  value.text = std::move(text);
  return value;
}
Value make_list(Values items) {
  auto value = make_of(Value::Kind::List);
  value.items = std::make_shared<Values>(std::move(items));
  return value;
}
Value make_none() { return make_of(Value::Kind::Optional); }
Value make_some(Value inner) {
  auto value = make_of(Value::Kind::Optional);
  value.flag = true;
  value.items = std::make_shared<Values>(Values{std::move(inner)});
  return value;
}

Value from_json(const Json& json) {
  Value value;
  switch (json.kind()) {
    case boost::json::kind::null:
      break;
    case boost::json::kind::bool_:
      return make_bool(json.get_bool());
    case boost::json::kind::int64:
      return make_int(json.get_int64());
    case boost::json::kind::uint64:
      return make_double(static_cast<double>(json.get_uint64()));
    case boost::json::kind::double_:
      return make_double(json.get_double());
    case boost::json::kind::string:
      return make_string(std::string(json.get_string()));
    case boost::json::kind::array:
      value.kind = Value::Kind::List, value.json = &json;
      break;
    case boost::json::kind::object:
      value.kind = Value::Kind::Map, value.json = &json;
      break;
  }
  return value;
}

std::size_t cost_of(const Json& json, std::size_t enough) {
  std::size_t cost = 1;
  if (const auto* text = json.if_string()) cost += text->size() / 10;
  if (const auto* list = json.if_array())
    for (auto at = list->begin(); at != list->end() && cost <= enough; ++at)
      cost += cost_of(*at, enough - cost);
  if (const auto* map = json.if_object())
    for (auto at = map->begin(); at != map->end() && cost <= enough; ++at)
      cost += at->key().size() / 10 + cost_of(at->value(), enough - cost);
  return cost;
}

std::size_t cost_of(const Value& value, std::size_t enough) {
  if (value.json) return cost_of(*value.json, enough);
  std::size_t cost = 1 + value.text.size() / 10;
  if (value.items)
    for (auto at = value.items->begin(); at != value.items->end() && cost <= enough; ++at)
      cost += cost_of(*at, enough - cost);
  if (value.entries)
    for (auto at = value.entries->begin(); at != value.entries->end() && cost <= enough; ++at)
      cost += cost_of(at->first, enough - cost) + cost_of(at->second, enough - cost);
  return cost;
}

std::size_t size_of(const Value& value) {
  if (value.kind == Value::Kind::List)
    return value.items ? value.items->size() : value.json->get_array().size();
  return value.entries ? value.entries->size() : value.json->get_object().size();
}
Value item(const Value& list, std::size_t index) {
  return list.items ? (*list.items)[index] : from_json(list.json->get_array()[index]);
}

std::string_view type_name(const Value& value) {
  switch (value.kind) {
    case Value::Kind::Null:
      return "null_type";
    case Value::Kind::Bool:
      return "bool";
    case Value::Kind::Int:
      return "int";
    case Value::Kind::Uint:
      return "uint";
    case Value::Kind::Double:
      return "double";
    case Value::Kind::String:
      return "string";
    case Value::Kind::Bytes:
      return "bytes";
    case Value::Kind::List:
      return "list";
    case Value::Kind::Map:
      return "map";
    case Value::Kind::Duration:
      return "google.protobuf.Duration";
    case Value::Kind::Timestamp:
      return "google.protobuf.Timestamp";
    case Value::Kind::Quantity:
      return "kubernetes.Quantity";
    case Value::Kind::Type:
      return "type";
    case Value::Kind::Optional:
      return "optional_type";
  }
  return "";
}

bool is_number(const Value& value) {
  return value.kind == Value::Kind::Int || value.kind == Value::Kind::Uint ||
         value.kind == Value::Kind::Double;
}
double as_double(const Value& value) {
  if (value.kind == Value::Kind::Double) return value.real;
  if (value.kind == Value::Kind::Uint)
    return static_cast<double>(static_cast<std::uint64_t>(value.integer));
  return static_cast<double>(value.integer);
}

std::optional<Value> lookup(const Value& map, const Value& key) {
  if (map.entries) {
    for (const auto& [own, value] : *map.entries)
      if (own.kind == key.kind && own.text == key.text && own.integer == key.integer &&
          own.flag == key.flag)
        return value;
    return std::nullopt;
  }
  if (key.kind != Value::Kind::String) return std::nullopt;
  const auto* found = map.json->get_object().if_contains(key.text);
  return found ? std::optional(from_json(*found)) : std::nullopt;
}

Values keys_of(const Value& map) {
  Values keys;
  if (map.entries)
    for (const auto& [key, value] : *map.entries) keys.push_back(key);
  else
    for (const auto& [key, value] : map.json->get_object())
      keys.push_back(make_string(std::string(key)));
  return keys;
}

bool equal(const Value& a, const Value& b) {
  if (is_number(a) && is_number(b)) {
    if (a.kind == Value::Kind::Double || b.kind == Value::Kind::Double)
      return as_double(a) == as_double(b);
    return a.integer == b.integer && (a.kind == b.kind || a.integer >= 0);
  }
  if (a.kind != b.kind) return false;
  switch (a.kind) {
    case Value::Kind::Null:
      return true;
    case Value::Kind::Bool:
      return a.flag == b.flag;
    case Value::Kind::String:
    case Value::Kind::Bytes:
    case Value::Kind::Type:
      return a.text == b.text;
    case Value::Kind::Duration:
    case Value::Kind::Timestamp:
      return a.integer == b.integer;
    case Value::Kind::Quantity:
      return a.quantity == b.quantity;
    case Value::Kind::Optional:
      return a.flag == b.flag && (!a.flag || equal(a.items->front(), b.items->front()));
    case Value::Kind::List:
      if (size_of(a) != size_of(b)) return false;
      for (std::size_t i = 0; i < size_of(a); ++i)
        if (!equal(item(a, i), item(b, i))) return false;
      return true;
    case Value::Kind::Map:
      if (size_of(a) != size_of(b)) return false;
      for (const auto& key : keys_of(a)) {
        const auto other = lookup(b, key);
        if (!other || !equal(*lookup(a, key), *other)) return false;
      }
      return true;
    default:
      return false;
  }
}

std::optional<int> compare(const Value& a, const Value& b) {
  auto sign = [](auto x, auto y) { return x < y ? -1 : x > y ? 1 : 0; };
  if (is_number(a) && is_number(b)) {
    if (a.kind == Value::Kind::Int && b.kind == Value::Kind::Int) return sign(a.integer, b.integer);
    return sign(as_double(a), as_double(b));
  }
  if (a.kind != b.kind) return std::nullopt;
  switch (a.kind) {
    case Value::Kind::String:
    case Value::Kind::Bytes:
      return sign(a.text, b.text);
    case Value::Kind::Bool:
      return sign(a.flag, b.flag);
    case Value::Kind::Duration:
    case Value::Kind::Timestamp:
      return sign(a.integer, b.integer);
    case Value::Kind::Quantity:
      return sign(a.quantity, b.quantity);
    default:
      return std::nullopt;
  }
}

}  // namespace manta::local::cel
