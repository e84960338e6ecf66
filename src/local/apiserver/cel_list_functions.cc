// Methods of lists: list.join(","), list.isSorted().
#include "fmt/format.h"
#include "local/apiserver/cel_functions.h"

namespace manta::local::cel {
namespace {

Outcome join(const Value& list, std::string_view separator) {
  std::string joined;
  for (std::size_t i = 0; i < size_of(list); ++i) {
    if (i) joined += separator;
    joined += item(list, i).text;
    if (joined.size() > kMaxText) return too_costly();
  }
  return make_string(std::move(joined));
}

Outcome index_of(const Value& list, const Value& wanted, bool last) {
  std::int64_t found = -1;
  for (std::size_t i = 0; i < size_of(list); ++i)
    if (equal(item(list, i), wanted)) {
      found = static_cast<std::int64_t>(i);
      if (!last) break;
    }
  return make_int(found);
}

Outcome is_sorted(const Value& list) {
  for (std::size_t i = 1; i < size_of(list); ++i) {
    const auto order = compare(item(list, i - 1), item(list, i));
    if (!order) return no_overload();
    if (*order > 0) return make_bool(false);
  }
  return make_bool(true);
}

Outcome sum(const Value& list) {
  std::int64_t whole = 0;
  double real = 0;
  bool is_real = false;
  for (std::size_t i = 0; i < size_of(list); ++i) {
    const auto one = item(list, i);
    if (!is_number(one)) return no_overload();
    if (one.kind == Value::Kind::Double) is_real = true;
    whole += one.integer;
    real += as_double(one);
  }
  return is_real ? make_double(real) : make_int(whole);
}

Outcome extreme(std::string_view method, const Value& list) {
  if (size_of(list) == 0) return fail(fmt::format("{} called on empty list", method));
  auto best = item(list, 0);
  for (std::size_t i = 1; i < size_of(list); ++i) {
    auto one = item(list, i);
    const auto order = compare(one, best);
    if (!order) return no_overload();
    if (method == "min" ? *order < 0 : *order > 0) best = std::move(one);
  }
  return best;
}

}  // namespace

Outcome call_list(std::string_view method, const Values& arguments) {
  const auto& list = arguments[0];
  if (method == "join") return join(list, arguments.size() > 1 ? arguments[1].text : "");
  if (method == "indexOf") return index_of(list, arguments[1], false);
  if (method == "lastIndexOf") return index_of(list, arguments[1], true);
  if (method == "isSorted") return is_sorted(list);
  if (method == "sum") return sum(list);
  if (method == "min" || method == "max") return extreme(method, list);
  return no_overload();
}

}  // namespace manta::local::cel
