// CEL's values, and what all of them can do: be compared, counted, looked into.
#pragma once

#include "base/json.h"
#include "base/quantity.h"
#include "base/result.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace manta::local::cel {

/// No text that a rule makes is longer.
constexpr std::size_t kMaxText = 10'000'000;

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
std::unexpected<Error> fail(std::string message);
/// The types do not fit the operator or function, in CEL's words.
std::unexpected<Error> no_overload();
/// More than a rule may cost.
std::unexpected<Error> too_costly();

/// The empty value of a kind, to be filled in.
Value make_of(Value::Kind kind);
Value make_bool(bool flag);
Value make_int(std::int64_t number);
Value make_double(double number);
Value make_string(std::string text);
Value make_list(Values items);
Value make_none();
Value make_some(Value inner);
/// Lists and maps stay in the document, which must outlive the value.
Value from_json(const Json& json);

std::string_view type_name(const Value& value);
bool is_number(const Value& value);
double as_double(const Value& value);

/// What going over the whole of it costs, at any depth: one an item, one for ten characters. Stops
/// counting beyond `enough`.
std::size_t cost_of(const Value& value, std::size_t enough);

/// Of a List or a Map.
std::size_t size_of(const Value& value);
Value item(const Value& list, std::size_t index);
Values keys_of(const Value& map);
std::optional<Value> lookup(const Value& map, const Value& key);

bool equal(const Value& a, const Value& b);
/// <0, 0, >0; nothing when they have no order.
std::optional<int> compare(const Value& a, const Value& b);

}  // namespace manta::local::cel
