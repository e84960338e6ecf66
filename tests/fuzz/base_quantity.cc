// Quantities against a model in 256-bit arithmetic (decimal digits), and their text's round trip.
#include "base/quantity.h"
#include "fuzz/fuzz.h"

#include <optional>

using namespace manta;
using namespace manta::fuzz;

// [+-]digits[.digits] and a suffix of powers of ten or 1024 in nano units; nothing where 128 bits
// do not hold the exact value. Rounds away from zero.
static std::optional<__int128> exact_nano(std::string_view text) {
  const bool negative = text.starts_with('-');
  if (text.starts_with('-') || text.starts_with('+')) text.remove_prefix(1);
  __int128 digits = 0;
  int scale = 0, count = 0;
  bool point = false;
  std::size_t i = 0;
  for (; i < text.size(); ++i) {
    if (text[i] == '.' && !point) {
      point = true;
    } else if (text[i] >= '0' && text[i] <= '9') {
      if (++count > 15) return std::nullopt;
      digits = digits * 10 + (text[i] - '0');
      scale += point ? 1 : 0;
    } else {
      break;
    }
  }
  const auto suffix = text.substr(i);
  __int128 numerator = digits * 1'000'000'000, denominator = 1;
  for (; scale > 0; --scale) denominator *= 10;
  static constexpr std::pair<std::string_view, std::pair<int, int>> kSuffixes[] = {
      {"n", {10, -9}}, {"u", {10, -6}}, {"m", {10, -3}}, {"", {10, 0}},   {"k", {10, 3}},
      {"M", {10, 6}},  {"G", {10, 9}},  {"Ki", {2, 10}}, {"Mi", {2, 20}}, {"Gi", {2, 30}}};
  for (const auto& [name, power] : kSuffixes) {
    if (name != suffix) continue;
    for (int n = 0; n < power.second; ++n)
      if (__builtin_mul_overflow(numerator, power.first, &numerator)) return std::nullopt;
    for (int n = 0; n > power.second; --n) denominator *= power.first;
    const __int128 rounded = numerator / denominator + (numerator % denominator != 0 ? 1 : 0);
    // Beyond 2^63 units the model has no say.
    if (rounded > static_cast<__int128>(9'223'372'036'854'775'807) * 1'000'000'000)
      return std::nullopt;
    return negative ? -rounded : rounded;
  }
  return std::nullopt;
}

static std::string nano_text(__int128 nano) {
  std::string digits;
  for (__int128 rest = nano < 0 ? -nano : nano; rest > 0; rest /= 10)
    digits.insert(digits.begin(), static_cast<char>('0' + static_cast<int>(rest % 10)));
  while (digits.size() < 10) digits.insert(digits.begin(), '0');
  digits.insert(digits.size() - 9, ".");
  return (nano < 0 ? "-" : "") + digits;
}

static void check_text(const Quantity& quantity, std::string_view from) {
  const auto text = quantity.to_string();
  const auto again = Quantity::parse(text);
  FUZZ_CHECK(again.has_value(), from, text);
  FUZZ_CHECK(*again == quantity, from, text, again->to_string());
  // A binary amount that 1024 does not divide prints without suffix, which reads as decimal.
  if (again->format() == quantity.format() || again->is_zero())
    FUZZ_CHECK(again->to_string() == text, from, text, again->to_string());
}

static std::string quantity_text(Input& in) {
  std::string text(in.one_of({"", "-", "+"}));
  for (int n = in.number(0, 12); n > 0; --n) text += static_cast<char>('0' + in.number(0, 9));
  if (in.flag()) text += '.';
  for (int n = in.number(0, 12); n > 0; --n) text += static_cast<char>('0' + in.number(0, 9));
  return text +
         std::string(in.one_of({"",   "n",  "u",  "m",  "k",  "M",  "G",   "T",    "P", "E", "Ki",
                                "Mi", "Gi", "Ti", "Pi", "Ei", "e3", "E-4", "e+20", "e", "i"}));
}

FUZZ(data) {
  if (const auto parsed = Quantity::parse(data); parsed && data.size() < 40)
    check_text(*parsed, data);

  Input in(data);
  const auto a_text = quantity_text(in), b_text = quantity_text(in);
  const auto a = Quantity::parse(a_text), b = Quantity::parse(b_text);
  if (!a || !b) return;
  check_text(*a, a_text);
  const auto a_nano = exact_nano(a_text), b_nano = exact_nano(b_text);
  if (a_nano) FUZZ_CHECK(*a == *Quantity::parse(nano_text(*a_nano)), a_text, nano_text(*a_nano));
  if (!a_nano || !b_nano) return;
  FUZZ_CHECK((*a <=> *b) == (*a_nano <=> *b_nano), a_text, b_text);
  Quantity sum = *a, difference = *a;
  sum += *b;
  difference -= *b;
  const auto is = [](const Quantity& quantity, __int128 nano) {
    constexpr __int128 kLimit = static_cast<__int128>(9'223'372'036'854'775'807) * 1'000'000'000;
    return nano > kLimit || nano < -kLimit || quantity == *Quantity::parse(nano_text(nano));
  };
  FUZZ_CHECK(is(sum, *a_nano + *b_nano), a_text, b_text, sum.to_string());
  FUZZ_CHECK(is(difference, *a_nano - *b_nano), a_text, b_text, difference.to_string());
  // Above 2^63 a sum is exact, but its text is read as the most there is (as apimachinery does).
  if (sum.value() != INT64_MAX && sum.value() != INT64_MIN)
    check_text(sum, a_text + " + " + b_text);
  sum -= *b;
  FUZZ_CHECK(sum == *a, a_text, b_text, sum.to_string());
  // Rounded up, so never less than the amount itself.
  FUZZ_CHECK(a->is_zero() || static_cast<__int128>(a->milli_value()) * 1'000'000 >= *a_nano ||
                 *a_nano < 0 || a->milli_value() == INT64_MAX,
             a_text);
}
