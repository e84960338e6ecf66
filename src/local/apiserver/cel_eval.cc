#include "base/quantity.h"
#include "base/time.h"
#include "fmt/format.h"
#include "local/apiserver/cel.h"
#include "local/apiserver/cel_ast.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <regex>

namespace manta::local::cel {
namespace {

struct Value;
using Values = std::vector<Value>;
using Pairs = std::vector<std::pair<Value, Value>>;

/// A CEL value. Documents are borrowed (`json`), what expressions make is owned.
struct Value {
  enum class Kind {
    Null,
    Bool,
    Int,
    Uint,
    Double,
    String,
    Bytes,
    List,
    Map,
    Duration,
    Timestamp,
    Quantity,
    Type,
    Optional
  };
  Kind kind = Kind::Null;
  bool flag = false;         // Bool; Optional: has a value
  std::int64_t integer = 0;  // Int, Uint (as bits), Duration and Timestamp in µs
  double real = 0;
  std::string text = {};
  const Json* json = nullptr;           // of List or Map: borrowed
  std::shared_ptr<Values> items = {};   // of List, Optional: owned
  std::shared_ptr<Pairs> entries = {};  // of Map: owned
  manta::Quantity quantity = {};
};

using Outcome = Result<Value>;
std::unexpected<Error> fail(std::string message) {
  return failed(ErrorCode::Invalid, std::move(message));
}
std::unexpected<Error> no_overload() { return fail("no such overload"); }

Value make_bool(bool flag) {
  Value value;
  value.kind = Value::Kind::Bool;
  value.flag = flag;
  return value;
}
Value make_int(std::int64_t number) {
  Value value;
  value.kind = Value::Kind::Int;
  value.integer = number;
  return value;
}
Value make_double(double number) {
  Value value;
  value.kind = Value::Kind::Double;
  value.real = number;
  return value;
}
Value make_string(std::string text) {
  Value value;
  value.kind = Value::Kind::String;
  value.text = std::move(text);
  return value;
}
Value make_list(Values items) {
  Value value;
  value.kind = Value::Kind::List;
  value.items = std::make_shared<Values>(std::move(items));
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

std::vector<Value> keys_of(const Value& map) {
  std::vector<Value> keys;
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

/// <0, 0, >0; nothing when they have no order.
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

/// How CRD field names that are no identifiers are written in rules.
std::string unescape(std::string_view name) {
  static constexpr std::pair<std::string_view, std::string_view> kEscapes[] = {
      {"__underscores__", "__"}, {"__dot__", "."}, {"__dash__", "-"}, {"__slash__", "/"}};
  std::string plain;
  while (!name.empty()) {
    bool found = false;
    for (const auto& [escape, text] : kEscapes)
      if (name.starts_with(escape)) {
        plain += text;
        name.remove_prefix(escape.size());
        found = true;
        break;
      }
    if (found) continue;
    plain += name.front();
    name.remove_prefix(1);
  }
  // __namespace__ and other reserved words.
  if (plain.size() > 4 && plain.starts_with("__") && plain.ends_with("__"))
    return plain.substr(2, plain.size() - 4);
  return plain;
}

/// Code points, for what counts characters.
std::vector<std::string> characters(std::string_view text) {
  std::vector<std::string> list;
  for (const char c : text) {
    if ((static_cast<unsigned char>(c) & 0xc0) != 0x80) list.emplace_back();
    if (list.empty()) list.emplace_back();
    list.back() += c;
  }
  return list;
}

Outcome matches(const std::string& text, const std::string& pattern) {
  try {
    return make_bool(std::regex_search(text, std::regex(pattern, std::regex::ECMAScript)));
  } catch (const std::regex_error& error) {
    return fail(fmt::format("error parsing regexp: {}", error.what()));
  }
}

class Evaluator {
 public:
  explicit Evaluator(const Bindings& bindings) : bindings_(bindings) {}

  Outcome eval(const Node& node) {
    // Rules are checked on every write: one must not hold the loop.
    if (++steps_ > 200'000) return fail("operation cancelled: actual cost limit exceeded");
    using enum Node::Kind;
    switch (node.kind) {
      case Null:
        return Value{};
      case Bool:
        return make_bool(node.flag);
      case Int:
        return make_int(node.integer);
      case Uint: {
        auto value = make_int(node.integer);
        value.kind = Value::Kind::Uint;
        return value;
      }
      case Double:
        return make_double(node.real);
      case String:
        return make_string(node.text);
      case Bytes: {
        auto value = make_string(node.text);
        value.kind = Value::Kind::Bytes;
        return value;
      }
      case Name:
        return name(node);
      case Select:
      case Has:
        return select(node);
      case Index:
        return index(node);
      case Call:
        return call(node);
      case List:
        return list(node);
      case Map:
        return map(node);
      case Not:
      case Negate:
        return unary(node);
      case And:
      case Or:
        return logic(node);
      case Conditional: {
        auto condition = eval(*node.children[0]);
        if (!condition) return condition;
        if (condition->kind != Value::Kind::Bool) return no_overload();
        return eval(*node.children[condition->flag ? 1 : 2]);
      }
      case All:
      case Exists:
      case ExistsOne:
      case MapMacro:
      case Filter:
        return comprehension(node);
      default:
        return binary(node);
    }
  }

 private:
  Outcome name(const Node& node) {
    for (auto local = locals_.rbegin(); local != locals_.rend(); ++local)
      if (local->first == node.text) return local->second;
    if (auto bound = bindings_.find(node.text); bound != bindings_.end() && bound->second)
      return from_json(*bound->second);
    if (node.text == "self" || node.text == "oldSelf")
      return fail(fmt::format("no such attribute: {}", node.text));
    Value type;
    type.kind = Value::Kind::Type;
    type.text = node.text;
    return type;
  }

  static Value none() {
    Value value;
    value.kind = Value::Kind::Optional;
    return value;
  }
  static Value some(Value inner) {
    Value value;
    value.kind = Value::Kind::Optional;
    value.flag = true;
    value.items = std::make_shared<Values>(Values{std::move(inner)});
    return value;
  }

  Outcome select(const Node& node) {
    auto target = eval(*node.children[0]);
    if (!target) return target;
    const bool chained = target->kind == Value::Kind::Optional;
    if (chained) {
      if (!target->flag) return node.kind == Node::Kind::Has ? make_bool(false) : *target;
      Value inner = target->items->front();
      *target = std::move(inner);
    }
    if (target->kind != Value::Kind::Map) return no_overload();
    auto found = lookup(*target, make_string(node.text));
    if (!found) found = lookup(*target, make_string(unescape(node.text)));
    if (node.kind == Node::Kind::Has) return make_bool(found.has_value());
    if (node.flag || chained) return found ? some(std::move(*found)) : none();
    if (!found) return fail(fmt::format("no such key: {}", unescape(node.text)));
    return std::move(*found);
  }

  Outcome index(const Node& node) {
    auto target = eval(*node.children[0]);
    if (!target) return target;
    auto key = eval(*node.children[1]);
    if (!key) return key;
    const bool chained = target->kind == Value::Kind::Optional;
    if (chained) {
      if (!target->flag) return *target;
      Value inner = target->items->front();
      *target = std::move(inner);
    }
    const bool optional = node.flag || chained;
    if (target->kind == Value::Kind::List) {
      if (key->kind != Value::Kind::Int && key->kind != Value::Kind::Uint) return no_overload();
      if (key->integer < 0 || static_cast<std::size_t>(key->integer) >= size_of(*target)) {
        if (optional) return none();
        return fail(fmt::format("index out of bounds: {}", key->integer));
      }
      auto value = item(*target, static_cast<std::size_t>(key->integer));
      return optional ? some(std::move(value)) : std::move(value);
    }
    if (target->kind != Value::Kind::Map) return no_overload();
    auto found = lookup(*target, *key);
    if (optional) return found ? some(std::move(*found)) : none();
    if (!found)
      return fail(fmt::format("no such key: {}",
                              key->text.empty() ? std::to_string(key->integer) : key->text));
    return std::move(*found);
  }

  Outcome list(const Node& node) {
    Values items;
    for (const auto& child : node.children) {
      auto value = eval(*child);
      if (!value) return value;
      items.push_back(std::move(*value));
    }
    return make_list(std::move(items));
  }

  Outcome map(const Node& node) {
    auto entries = std::make_shared<Pairs>();
    for (std::size_t i = 0; i + 1 < node.children.size(); i += 2) {
      auto key = eval(*node.children[i]);
      if (!key) return key;
      auto value = eval(*node.children[i + 1]);
      if (!value) return value;
      entries->emplace_back(std::move(*key), std::move(*value));
    }
    Value made;
    made.kind = Value::Kind::Map;
    made.entries = std::move(entries);
    return made;
  }

  Outcome unary(const Node& node) {
    auto value = eval(*node.children[0]);
    if (!value) return value;
    if (node.kind == Node::Kind::Not) {
      if (value->kind != Value::Kind::Bool) return no_overload();
      return make_bool(!value->flag);
    }
    if (value->kind == Value::Kind::Double) return make_double(-value->real);
    if (value->kind == Value::Kind::Int) {
      if (value->integer == std::numeric_limits<std::int64_t>::min())
        return fail("integer overflow");
      return make_int(-value->integer);
    }
    return no_overload();
  }

  /// `false && error` is false, `true || error` true, whichever side the error is on.
  Outcome logic(const Node& node) {
    const bool decisive = node.kind == Node::Kind::Or;
    auto left = eval(*node.children[0]);
    if (left && left->kind == Value::Kind::Bool && left->flag == decisive) return left;
    auto right = eval(*node.children[1]);
    if (right && right->kind == Value::Kind::Bool && right->flag == decisive) return right;
    if (!left) return left;
    if (!right) return right;
    if (left->kind != Value::Kind::Bool || right->kind != Value::Kind::Bool) return no_overload();
    return make_bool(!decisive);
  }

  Outcome comprehension(const Node& node) {
    auto range = eval(*node.children[0]);
    if (!range) return range;
    if (range->kind != Value::Kind::List && range->kind != Value::Kind::Map) return no_overload();
    const bool is_map = range->kind == Value::Kind::Map;
    const auto keys = is_map ? keys_of(*range) : Values{};
    const bool pair = !node.second.empty();
    const std::size_t count = size_of(*range);
    std::optional<Error> error;
    std::size_t hits = 0;
    Values made;
    for (std::size_t i = 0; i < count; ++i) {
      // One variable over a map is its key, two are key and value.
      Value value = is_map ? (pair ? *lookup(*range, keys[i]) : keys[i]) : item(*range, i);
      const std::size_t depth = locals_.size();
      if (pair)
        locals_.emplace_back(node.second,
                             is_map ? keys[i] : make_int(static_cast<std::int64_t>(i)));
      locals_.emplace_back(node.text, value);
      auto verdict = eval(*node.children[1]);
      Outcome transformed = Value{};
      const bool three = node.children.size() == 3;
      if (verdict && three && verdict->kind == Value::Kind::Bool && verdict->flag)
        transformed = eval(*node.children[2]);
      locals_.resize(depth);
      if (!transformed) return transformed;
      if (node.kind == Node::Kind::MapMacro) {
        if (!verdict) return verdict;
        if (!three)
          made.push_back(std::move(*verdict));
        else if (verdict->kind == Value::Kind::Bool && verdict->flag)
          made.push_back(std::move(*transformed));
        continue;
      }
      if (verdict && verdict->kind != Value::Kind::Bool) return no_overload();
      if (!verdict) {
        if (node.kind == Node::Kind::ExistsOne || node.kind == Node::Kind::Filter) return verdict;
        error = verdict.error();
        continue;
      }
      if (verdict->flag) ++hits;
      if (node.kind == Node::Kind::All && !verdict->flag) return make_bool(false);
      if (node.kind == Node::Kind::Exists && verdict->flag) return make_bool(true);
      if (node.kind == Node::Kind::Filter && verdict->flag) made.push_back(std::move(value));
    }
    if (node.kind == Node::Kind::MapMacro || node.kind == Node::Kind::Filter)
      return make_list(std::move(made));
    if (error) return failed(std::move(*error));
    if (node.kind == Node::Kind::ExistsOne) return make_bool(hits == 1);
    return make_bool(node.kind == Node::Kind::All);
  }

  Outcome binary(const Node& node) {
    auto a = eval(*node.children[0]);
    if (!a) return a;
    auto b = eval(*node.children[1]);
    if (!b) return b;
    using enum Node::Kind;
    switch (node.kind) {
      case Equal:
        return make_bool(equal(*a, *b));
      case NotEqual:
        return make_bool(!equal(*a, *b));
      case In:
        if (b->kind == Value::Kind::Map) return make_bool(lookup(*b, *a).has_value());
        if (b->kind != Value::Kind::List) return no_overload();
        for (std::size_t i = 0; i < size_of(*b); ++i)
          if (equal(*a, item(*b, i))) return make_bool(true);
        return make_bool(false);
      case Less:
      case LessEqual:
      case Greater:
      case GreaterEqual: {
        const auto order = compare(*a, *b);
        if (!order) return no_overload();
        return make_bool(node.kind == Less        ? *order < 0
                         : node.kind == LessEqual ? *order <= 0
                         : node.kind == Greater   ? *order > 0
                                                  : *order >= 0);
      }
      default:
        return arithmetic(node.kind, *a, *b);
    }
  }

  Outcome arithmetic(Node::Kind kind, const Value& a, const Value& b) {
    using enum Node::Kind;
    if (kind == Add && a.kind == b.kind) {
      if (a.kind == Value::Kind::String || a.kind == Value::Kind::Bytes) {
        auto joined = a;
        joined.text += b.text;
        return joined;
      }
      if (a.kind == Value::Kind::List) {
        Values items;
        for (std::size_t i = 0; i < size_of(a); ++i) items.push_back(item(a, i));
        for (std::size_t i = 0; i < size_of(b); ++i) items.push_back(item(b, i));
        return make_list(std::move(items));
      }
    }
    const bool timed = a.kind == Value::Kind::Timestamp || a.kind == Value::Kind::Duration;
    if (timed && (b.kind == Value::Kind::Duration || b.kind == Value::Kind::Timestamp) &&
        (kind == Add || kind == Subtract)) {
      Value made = a;
      made.integer = kind == Add ? a.integer + b.integer : a.integer - b.integer;
      if (kind == Subtract && a.kind == Value::Kind::Timestamp && b.kind == Value::Kind::Timestamp)
        made.kind = Value::Kind::Duration;
      if (kind == Add && b.kind == Value::Kind::Timestamp) made.kind = Value::Kind::Timestamp;
      return made;
    }
    if (a.kind != b.kind || !is_number(a)) return no_overload();
    if (a.kind == Value::Kind::Double) {
      switch (kind) {
        case Add:
          return make_double(a.real + b.real);
        case Subtract:
          return make_double(a.real - b.real);
        case Multiply:
          return make_double(a.real * b.real);
        case Divide:
          return make_double(a.real / b.real);
        default:
          return no_overload();
      }
    }
    if ((kind == Divide || kind == Modulo) && b.integer == 0)
      return fail(kind == Divide ? "division by zero" : "modulus by zero");
    if ((kind == Divide || kind == Modulo) && b.integer == -1 &&
        a.integer == std::numeric_limits<std::int64_t>::min())
      return fail("integer overflow");
    auto made = a;
    bool overflow = false;
    switch (kind) {
      case Add:
        overflow = __builtin_add_overflow(a.integer, b.integer, &made.integer);
        break;
      case Subtract:
        overflow = __builtin_sub_overflow(a.integer, b.integer, &made.integer);
        break;
      case Multiply:
        overflow = __builtin_mul_overflow(a.integer, b.integer, &made.integer);
        break;
      case Divide:
        made.integer = a.integer / b.integer;
        break;
      case Modulo:
        made.integer = a.integer % b.integer;
        break;
      default:
        return no_overload();
    }
    if (overflow) return fail("integer overflow");
    return made;
  }

  Outcome call(const Node& node) {
    Values arguments;
    for (const auto& child : node.children) {
      auto value = eval(*child);
      if (!value) return value;
      arguments.push_back(std::move(*value));
    }
    const auto& subject = arguments.front();
    if (node.text == "size") return size(subject);
    if (node.text == "dyn") return subject;
    if (node.text == "type") {
      Value type;
      type.kind = Value::Kind::Type;
      type.text = type_name(subject);
      return type;
    }
    if (!node.flag && node.text != "matches") return convert(node.text, subject);
    if (subject.kind == Value::Kind::Optional) return optional(node.text, subject, arguments);
    if (subject.kind == Value::Kind::Quantity) return quantity(node.text, subject, arguments);
    if (subject.kind == Value::Kind::String) return string(node.text, arguments);
    if (subject.kind == Value::Kind::List) return list_method(node.text, arguments);
    if (subject.kind == Value::Kind::Duration || subject.kind == Value::Kind::Timestamp) {
      auto seconds = subject.integer / 1'000'000;
      const bool clock = subject.kind == Value::Kind::Timestamp;
      if (clock) seconds = ((seconds % 86'400) + 86'400) % 86'400;
      if (node.text == "getHours") return make_int(seconds / 3600);
      if (node.text == "getMinutes") return make_int(clock ? seconds / 60 % 60 : seconds / 60);
      if (node.text == "getSeconds") return make_int(clock ? seconds % 60 : seconds);
    }
    return no_overload();
  }

  static Outcome size(const Value& value) {
    if (value.kind == Value::Kind::String)
      return make_int(static_cast<std::int64_t>(characters(value.text).size()));
    if (value.kind == Value::Kind::Bytes)
      return make_int(static_cast<std::int64_t>(value.text.size()));
    if (value.kind == Value::Kind::List || value.kind == Value::Kind::Map)
      return make_int(static_cast<std::int64_t>(size_of(value)));
    return no_overload();
  }

  static Outcome convert(std::string_view function, const Value& value) {
    if (function == "string") {
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
    if (function == "int" || function == "uint") {
      Value made = make_int(value.integer);
      if (function == "uint") made.kind = Value::Kind::Uint;
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
    if (function == "double") {
      if (is_number(value)) return make_double(as_double(value));
      if (value.kind != Value::Kind::String) return no_overload();
      char* end = nullptr;
      const double number = std::strtod(value.text.c_str(), &end);
      if (value.text.empty() || *end)
        return fail("type conversion error from 'string' to 'double'");
      return make_double(number);
    }
    if (function == "bool") {
      if (value.kind == Value::Kind::Bool) return value;
      if (value.text == "true" || value.text == "false") return make_bool(value.text == "true");
      return no_overload();
    }
    if (value.kind != Value::Kind::String) return no_overload();
    Value made;
    if (function == "isQuantity") return make_bool(manta::Quantity::parse(value.text).has_value());
    if (function == "quantity") {
      auto parsed = manta::Quantity::parse(value.text);
      if (!parsed)
        return fail(
            "quantities must match the regular expression "
            "'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'");
      made.kind = Value::Kind::Quantity;
      made.quantity = *parsed;
      return made;
    }
    if (function == "duration") {
      auto parsed = parse_go_duration(value.text);
      if (!parsed) return fail(fmt::format("time: invalid duration \"{}\"", value.text));
      made.kind = Value::Kind::Duration;
      made.integer = parsed->count();
      return made;
    }
    if (function == "timestamp") {
      auto parsed = parse_rfc3339(value.text);
      if (!parsed) return fail(fmt::format("parsing time \"{}\": cannot parse", value.text));
      made.kind = Value::Kind::Timestamp;
      made.integer = parsed->time_since_epoch().count();
      return made;
    }
    return no_overload();
  }

  static Outcome optional(std::string_view method, const Value& subject, const Values& arguments) {
    if (method == "hasValue") return make_bool(subject.flag);
    if (method == "orValue") return subject.flag ? subject.items->front() : arguments[1];
    if (method == "value") {
      if (!subject.flag) return fail("optional.none() dereference");
      return subject.items->front();
    }
    return no_overload();
  }

  static Outcome quantity(std::string_view method, const Value& subject, const Values& arguments) {
    const auto& own = subject.quantity;
    if (method == "sign") return make_int(own.is_zero() ? 0 : own < manta::Quantity() ? -1 : 1);
    if (method == "asInteger") return make_int(own.value());
    if (method == "isInteger") return make_bool(own == manta::Quantity::from_int(own.value()));
    if (arguments.size() != 2) return no_overload();
    manta::Quantity other = arguments[1].quantity;
    if (arguments[1].kind == Value::Kind::Int)
      other = manta::Quantity::from_int(arguments[1].integer);
    else if (arguments[1].kind != Value::Kind::Quantity)
      return no_overload();
    if (method == "isGreaterThan") return make_bool(own > other);
    if (method == "isLessThan") return make_bool(own < other);
    if (method == "compareTo") return make_int(own < other ? -1 : own > other ? 1 : 0);
    Value made = subject;
    if (method == "add")
      made.quantity += other;
    else if (method == "sub")
      made.quantity -= other;
    else
      return no_overload();
    return made;
  }

  static Outcome string(std::string_view method, const Values& arguments) {
    const auto& text = arguments[0].text;
    auto argument = [&](std::size_t i) -> const Value& { return arguments[i]; };
    for (std::size_t i = 1; i < arguments.size(); ++i)
      if (arguments[i].kind != Value::Kind::String && arguments[i].kind != Value::Kind::Int)
        return no_overload();
    if (method == "startsWith") return make_bool(text.starts_with(argument(1).text));
    if (method == "endsWith") return make_bool(text.ends_with(argument(1).text));
    if (method == "contains") return make_bool(text.find(argument(1).text) != text.npos);
    if (method == "matches") return matches(text, argument(1).text);
    if (method == "lowerAscii" || method == "upperAscii") {
      std::string made = text;
      const bool lower = method == "lowerAscii";
      for (auto& c : made) {
        if (lower && c >= 'A' && c <= 'Z') c = static_cast<char>(c + 32);
        if (!lower && c >= 'a' && c <= 'z') c = static_cast<char>(c - 32);
      }
      return make_string(std::move(made));
    }
    if (method == "trim") {
      const auto first = text.find_first_not_of(" \t\n\r\f\v");
      if (first == text.npos) return make_string("");
      return make_string(text.substr(first, text.find_last_not_of(" \t\n\r\f\v") - first + 1));
    }
    if (method == "split") {
      Values parts;
      const auto& separator = argument(1).text;
      auto left = arguments.size() > 2 ? argument(2).integer : -1;
      if (left == 0) return make_list({});
      if (separator.empty()) {
        for (auto& character : characters(text)) parts.push_back(make_string(std::move(character)));
        return make_list(std::move(parts));
      }
      std::size_t at = 0;
      while (left < 0 || --left > 0) {
        const auto end = text.find(separator, at);
        if (end == text.npos) break;
        parts.push_back(make_string(text.substr(at, end - at)));
        at = end + separator.size();
      }
      parts.push_back(make_string(text.substr(at)));
      return make_list(std::move(parts));
    }
    if (method == "replace") {
      const auto& from = argument(1).text;
      auto left = arguments.size() > 3 ? argument(3).integer : -1;
      if (from.empty()) return make_string(text);
      std::string made;
      std::size_t at = 0;
      while (left != 0) {
        const auto found = text.find(from, at);
        if (found == text.npos) break;
        made += text.substr(at, found - at) + argument(2).text;
        at = found + from.size();
        --left;
      }
      return make_string(made + text.substr(at));
    }
    if (method == "find" || method == "findAll") {
      try {
        const std::regex pattern(argument(1).text, std::regex::ECMAScript);
        if (method == "find") {
          std::smatch found;
          return make_string(std::regex_search(text, found, pattern) ? found.str() : "");
        }
        Values all;
        for (std::sregex_iterator it(text.begin(), text.end(), pattern), end; it != end; ++it)
          all.push_back(make_string(it->str()));
        return make_list(std::move(all));
      } catch (const std::regex_error& error) {
        return fail(error.what());
      }
    }
    return positions(method, arguments);
  }

  static Outcome positions(std::string_view method, const Values& arguments) {
    const auto& text = arguments[0].text;
    const auto chars = characters(text);
    const auto length = static_cast<std::int64_t>(chars.size());
    auto slice = [&](std::int64_t from, std::int64_t to) {
      std::string made;
      for (auto i = from; i < to; ++i) made += chars[static_cast<std::size_t>(i)];
      return made;
    };
    if (method == "charAt") {
      const auto at = arguments[1].integer;
      if (at < 0 || at > length) return fail(fmt::format("index out of range: {}", at));
      return make_string(at == length ? "" : chars[static_cast<std::size_t>(at)]);
    }
    if (method == "substring") {
      const auto from = arguments[1].integer;
      const auto to = arguments.size() > 2 ? arguments[2].integer : length;
      if (from < 0 || to > length || from > to)
        return fail(fmt::format("index out of range: {}", from));
      return make_string(slice(from, to));
    }
    if (method == "indexOf") {
      const auto found = text.find(arguments[1].text);
      return make_int(found == text.npos
                          ? -1
                          : static_cast<std::int64_t>(characters(text.substr(0, found)).size()));
    }
    if (method == "lastIndexOf") {
      const auto found = text.rfind(arguments[1].text);
      return make_int(found == text.npos
                          ? -1
                          : static_cast<std::int64_t>(characters(text.substr(0, found)).size()));
    }
    return no_overload();
  }

  static Outcome list_method(std::string_view method, const Values& arguments) {
    const auto& list = arguments[0];
    const auto count = size_of(list);
    if (method == "join") {
      std::string joined;
      for (std::size_t i = 0; i < count; ++i) {
        if (i && arguments.size() > 1) joined += arguments[1].text;
        joined += item(list, i).text;
      }
      return make_string(std::move(joined));
    }
    if (method == "indexOf" || method == "lastIndexOf") {
      std::int64_t found = -1;
      for (std::size_t i = 0; i < count; ++i)
        if (equal(item(list, i), arguments[1])) {
          found = static_cast<std::int64_t>(i);
          if (method == "indexOf") break;
        }
      return make_int(found);
    }
    if (method == "isSorted") {
      for (std::size_t i = 1; i < count; ++i) {
        const auto order = compare(item(list, i - 1), item(list, i));
        if (!order) return no_overload();
        if (*order > 0) return make_bool(false);
      }
      return make_bool(true);
    }
    if (method == "sum") {
      std::int64_t whole = 0;
      double real = 0;
      bool is_real = false;
      for (std::size_t i = 0; i < count; ++i) {
        const auto one = item(list, i);
        if (!is_number(one)) return no_overload();
        if (one.kind == Value::Kind::Double) is_real = true;
        whole += one.integer;
        real += as_double(one);
      }
      return is_real ? make_double(real) : make_int(whole);
    }
    if (method == "min" || method == "max") {
      if (count == 0) return fail(fmt::format("{} called on empty list", method));
      auto best = item(list, 0);
      for (std::size_t i = 1; i < count; ++i) {
        auto one = item(list, i);
        const auto order = compare(one, best);
        if (!order) return no_overload();
        if (method == "min" ? *order < 0 : *order > 0) best = std::move(one);
      }
      return best;
    }
    return no_overload();
  }

  const Bindings& bindings_;
  std::vector<std::pair<std::string, Value>> locals_ = {};
  std::size_t steps_ = 0;
};

}  // namespace

Program::Program() = default;
Program::~Program() = default;

Result<std::shared_ptr<const Program>> Program::compile(std::string_view expression) {
  std::shared_ptr<Program> program(new Program());
  auto root = parse(expression, program->names_);
  if (!root) return failed(root.error());
  program->root_ = std::move(*root);
  return program;
}

Result<bool> Program::check(const Bindings& bindings) const {
  auto value = Evaluator(bindings).eval(*root_);
  if (!value) return failed(value.error());
  if (value->kind != Value::Kind::Bool) return failed(ErrorCode::Invalid, "the rule gives no bool");
  return value->flag;
}

Result<std::string> Program::text(const Bindings& bindings) const {
  auto value = Evaluator(bindings).eval(*root_);
  if (!value) return failed(value.error());
  if (value->kind != Value::Kind::String)
    return failed(ErrorCode::Invalid, "the message gives no string");
  return value->text;
}

}  // namespace manta::local::cel
