#include "local/apiserver/cel_operators.h"

#include <limits>

namespace manta::local::cel {
namespace {

using enum Node::Kind;

bool is_time(const Value& value) {
  return value.kind == Value::Kind::Timestamp || value.kind == Value::Kind::Duration;
}

Outcome is_in(const Value& wanted, const Value& container) {
  if (container.kind == Value::Kind::Map) return make_bool(lookup(container, wanted).has_value());
  if (container.kind != Value::Kind::List) return no_overload();
  for (std::size_t i = 0; i < size_of(container); ++i)
    if (equal(wanted, item(container, i))) return make_bool(true);
  return make_bool(false);
}

Outcome in_order(Node::Kind kind, const Value& a, const Value& b) {
  const auto order = compare(a, b);
  if (!order) return no_overload();
  return make_bool(kind == Less        ? *order < 0
                   : kind == LessEqual ? *order <= 0
                   : kind == Greater   ? *order > 0
                                       : *order >= 0);
}

Outcome joined_lists(const Value& a, const Value& b) {
  Values items;
  for (std::size_t i = 0; i < size_of(a); ++i) items.push_back(item(a, i));
  for (std::size_t i = 0; i < size_of(b); ++i) items.push_back(item(b, i));
  return make_list(std::move(items));
}

/// The difference of two instants is a span; an instant and a span make an instant.
Outcome on_times(Node::Kind kind, const Value& a, const Value& b) {
  Value made = a;
  made.integer = kind == Add ? a.integer + b.integer : a.integer - b.integer;
  if (kind == Subtract && a.kind == Value::Kind::Timestamp && b.kind == Value::Kind::Timestamp)
    made.kind = Value::Kind::Duration;
  if (kind == Add && b.kind == Value::Kind::Timestamp) made.kind = Value::Kind::Timestamp;
  return made;
}

Outcome on_doubles(Node::Kind kind, double a, double b) {
  switch (kind) {
    case Add:
      return make_double(a + b);
    case Subtract:
      return make_double(a - b);
    case Multiply:
      return make_double(a * b);
    case Divide:
      return make_double(a / b);
    default:
      return no_overload();
  }
}

Outcome on_integers(Node::Kind kind, const Value& a, const Value& b) {
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

Outcome arithmetic(Node::Kind kind, const Value& a, const Value& b) {
  if (kind == Add && a.kind == b.kind) {
    if (a.kind == Value::Kind::String || a.kind == Value::Kind::Bytes) {
      if (a.text.size() + b.text.size() > kMaxText) return too_costly();
      auto joined = a;
      joined.text += b.text;
      return joined;
    }
    if (a.kind == Value::Kind::List) return joined_lists(a, b);
  }
  if (is_time(a) && is_time(b) && (kind == Add || kind == Subtract)) return on_times(kind, a, b);
  if (a.kind != b.kind || !is_number(a)) return no_overload();
  if (a.kind == Value::Kind::Double) return on_doubles(kind, a.real, b.real);
  return on_integers(kind, a, b);
}

}  // namespace

Outcome apply_operator(Node::Kind kind, const Value& a, const Value& b) {
  switch (kind) {
    case Equal:
      return make_bool(equal(a, b));
    case NotEqual:
      return make_bool(!equal(a, b));
    case In:
      return is_in(a, b);
    case Less:
    case LessEqual:
    case Greater:
    case GreaterEqual:
      return in_order(kind, a, b);
    default:
      return arithmetic(kind, a, b);
  }
}

}  // namespace manta::local::cel
