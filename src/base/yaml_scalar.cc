#include "base/yaml_scalar.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <optional>

namespace manta::yaml_detail {
namespace {

bool one_of(std::string_view text, std::initializer_list<std::string_view> words) {
  for (const auto word : words)
    if (text == word) return true;
  return false;
}

std::optional<Json> to_integer(std::string_view text) {
  const bool negative = !text.empty() && text[0] == '-';
  if (!text.empty() && (text[0] == '-' || text[0] == '+')) text.remove_prefix(1);
  int base = 10;
  if (text.size() > 1 && text[0] == '0') {
    const char kind = static_cast<char>(text[1] | 0x20);
    base = kind == 'x' ? 16 : kind == 'b' ? 2 : 8;
    text.remove_prefix(kind == 'x' || kind == 'b' || kind == 'o' ? 2 : 1);
  }
  std::uint64_t value = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (text.empty() || read.ec != std::errc{} || read.ptr != text.data() + text.size())
    return std::nullopt;
  constexpr std::uint64_t kLimit = 1ull << 63;
  if (negative) {
    if (value > kLimit) return std::nullopt;
    return Json(static_cast<std::int64_t>(0 - value));
  }
  if (value < kLimit) return Json(static_cast<std::int64_t>(value));
  return Json(value);
}

// [-+]?(.digits | digits[.digits])([eE][-+]?digits)?
bool looks_like_float(std::string_view text) {
  const auto take_digits = [&] {
    std::size_t count = 0;
    for (; !text.empty() && text[0] >= '0' && text[0] <= '9'; ++count) text.remove_prefix(1);
    return count;
  };
  const auto take = [&](std::string_view any) {
    if (text.empty() || any.find(text[0]) == std::string_view::npos) return false;
    text.remove_prefix(1);
    return true;
  };
  take("-+");
  const auto whole = take_digits();
  const auto fraction = take(".") ? take_digits() : 0;
  if (whole + fraction == 0) return false;
  if (take("eE")) {
    take("-+");
    if (take_digits() == 0) return false;
  }
  return text.empty();
}

}  // namespace

Result<Json> resolve_plain(std::string_view text) {
  if (one_of(text, {"", "~", "null", "Null", "NULL"})) return Json(nullptr);
  if (one_of(text, {"true", "True", "TRUE", "yes", "Yes", "YES", "on", "On", "ON"}))
    return Json(true);
  if (one_of(text, {"false", "False", "FALSE", "no", "No", "NO", "off", "Off", "OFF"}))
    return Json(false);
  const char first = text[0];
  if (!((first >= '0' && first <= '9') || first == '-' || first == '+' || first == '.'))
    return Json(text);
  if (one_of(text, {".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF", "-.inf", "-.Inf", "-.INF",
                    ".nan", ".NaN", ".NAN"}))
    return failed(ErrorCode::BadRequest,
                  fmt::format("{} has no JSON form; quote it to make it a string", text));
  std::string digits;
  for (const char c : text)
    if (c != '_') digits += c;
  if (const auto integer = to_integer(digits)) return *integer;
  if (looks_like_float(digits)) {
    std::string_view number = digits;
    if (number[0] == '+') number.remove_prefix(1);
    double value = 0;
    const auto read = std::from_chars(number.data(), number.data() + number.size(), value);
    if (read.ec == std::errc{} && std::isfinite(value)) return Json(value);
  }
  return Json(text);
}

}  // namespace manta::yaml_detail
