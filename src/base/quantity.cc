#include "base/quantity.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>

namespace manta {
namespace {

using Wide = __int128;
constexpr Wide kNano = 1'000'000'000;
constexpr Wide kMax = std::numeric_limits<Wide>::max();
constexpr std::int64_t kMax64 = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kMin64 = std::numeric_limits<std::int64_t>::min();

struct Suffix {
  std::string_view text;
  int exponent;
};
constexpr std::array<Suffix, 10> kDecimal = {{{"n", -9},
                                              {"u", -6},
                                              {"m", -3},
                                              {"", 0},
                                              {"k", 3},
                                              {"M", 6},
                                              {"G", 9},
                                              {"T", 12},
                                              {"P", 15},
                                              {"E", 18}}};
constexpr std::array<Suffix, 6> kBinary = {
    {{"Ki", 10}, {"Mi", 20}, {"Gi", 30}, {"Ti", 40}, {"Pi", 50}, {"Ei", 60}}};

Wide saturating_multiply(Wide a, Wide b) {
  Wide out = 0;
  if (!__builtin_mul_overflow(a, b, &out)) return out;
  return (a < 0) == (b < 0) ? kMax : -kMax;
}

Wide saturating_add(Wide a, Wide b) {
  Wide out = 0;
  if (!__builtin_add_overflow(a, b, &out)) return out;
  return a < 0 ? -kMax : kMax;
}

// apimachinery rounds away from zero: who asks for some of a resource shall get some.
Wide divide_up(Wide value, Wide by) {
  const Wide quotient = value / by;
  if (value % by == 0) return quotient;
  return value < 0 ? quotient - 1 : quotient + 1;
}

std::int64_t to_int64(Wide value) {
  if (value > kMax64) return kMax64;
  if (value < kMin64) return kMin64;
  return static_cast<std::int64_t>(value);
}

struct Scale {
  int base = 10;
  int exponent = 0;
  Quantity::Format format = Quantity::Format::DecimalSI;
};

std::optional<Scale> parse_suffix(std::string_view text) {
  for (const auto& suffix : kDecimal)
    if (suffix.text == text) return Scale{10, suffix.exponent, Quantity::Format::DecimalSI};
  for (const auto& suffix : kBinary)
    if (suffix.text == text) return Scale{2, suffix.exponent, Quantity::Format::BinarySI};
  if (text.size() < 2 || (text[0] != 'e' && text[0] != 'E')) return std::nullopt;
  auto digits = text.substr(1);
  if (digits[0] == '+') digits.remove_prefix(1);
  std::int64_t exponent = 0;
  const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), exponent);
  if (digits.empty() || read.ec != std::errc{} || read.ptr != digits.data() + digits.size())
    return std::nullopt;
  const auto bounded = std::min<std::int64_t>(std::max<std::int64_t>(exponent, -1000), 1000);
  return Scale{10, static_cast<int>(bounded), Quantity::Format::DecimalExponent};
}

// digits × 10^power in nano units, rounded up, saturating. `digits` is the number without its dot.
Wide scale_decimal(std::string_view digits, int power) {
  while (!digits.empty() && digits[0] == '0') digits.remove_prefix(1);
  while (!digits.empty() && digits.back() == '0') digits.remove_suffix(1), ++power;
  if (digits.empty()) return 0;
  power += 9;
  bool lost = false;
  if (power < 0) {
    const auto drop = std::min<std::size_t>(static_cast<std::size_t>(-power), digits.size());
    lost = drop > 0;  // trailing zeros are gone, so what is dropped is not zero
    digits.remove_suffix(drop);
    power = 0;
  }
  Wide value = 0;
  for (const char c : digits) value = saturating_add(saturating_multiply(value, 10), c - '0');
  for (; power > 0 && value != kMax; --power) value = saturating_multiply(value, 10);
  return lost ? saturating_add(value, 1) : value;
}

// The number × 2^exponent in nano units. The fraction is rounded up at the nano after scaling.
Wide scale_binary(std::string_view whole, std::string_view fraction, int exponent) {
  const Wide factor = Wide(1) << exponent;
  Wide nano = saturating_multiply(scale_decimal(whole, 0), factor);
  // fraction × 2^exponent × 1e9, twenty-odd digits exact: long division digit by digit.
  Wide numerator = 0, denominator = 1;
  bool lost = false;
  for (const char c : fraction) {
    if (denominator >= 1'000'000'000'000'000'000) {  // 18 digits; below that is under 1n even at Ei
      lost = lost || c != '0';
      continue;
    }
    numerator = numerator * 10 + (c - '0');
    denominator *= 10;
  }
  // factor × numerator may reach 2^60 × 2^60; split the 1e9 so that nothing overflows.
  const Wide product = factor * numerator;
  const Wide units = product / denominator;
  const Wide rest = product % denominator;
  nano = saturating_add(nano, saturating_multiply(units, kNano));
  return saturating_add(nano, saturating_add(divide_up(rest * kNano, denominator), lost ? 1 : 0));
}

std::string wide_to_string(Wide value) {
  if (value == 0) return "0";
  std::string text;
  for (Wide rest = value < 0 ? -value : value; rest > 0; rest /= 10)
    text += static_cast<char>('0' + int(rest % 10));
  if (value < 0) text += '-';
  return {text.rbegin(), text.rend()};
}

std::string print_decimal(Wide nano, bool exponent_form) {
  int exponent = -9;
  while (nano % 10 == 0) nano /= 10, ++exponent;
  // Multiples of three are what suffixes exist for; above E there is none.
  while (exponent % 3 != 0 || (!exponent_form && exponent > 18)) nano *= 10, --exponent;
  if (exponent_form)
    return wide_to_string(nano) + (exponent == 0 ? "" : fmt::format("e{}", exponent));
  for (const auto& suffix : kDecimal)
    if (suffix.exponent == exponent) return wide_to_string(nano) + std::string(suffix.text);
  return wide_to_string(nano);
}

std::string print_binary(Wide units) {
  std::size_t steps = 0;
  while (units % 1024 == 0 && steps < kBinary.size()) units /= 1024, ++steps;
  return wide_to_string(units) + (steps == 0 ? "" : std::string(kBinary[steps - 1].text));
}

std::string_view take_digits(std::string_view& text) {
  const auto end = std::min(text.find_first_not_of("0123456789"), text.size());
  const auto digits = text.substr(0, end);
  text.remove_prefix(end);
  return digits;
}

}  // namespace

Quantity Quantity::from_int(std::int64_t value, Format format) {
  Quantity quantity;
  quantity.nano_ = value * kNano;
  quantity.format_ = format;
  return quantity;
}

Quantity Quantity::from_milli(std::int64_t milli, Format format) {
  Quantity quantity;
  quantity.nano_ = milli * (kNano / 1000);
  quantity.format_ = format;
  return quantity;
}

Result<Quantity> Quantity::parse(std::string_view text) {
  const auto bad = [&](std::string_view why) {
    return failed(
        ErrorCode::Invalid,
        fmt::format(
            "quantity {:?} {}; allowed is a number such as 2, 0.5 or 1e3 with one of the suffixes "
            "n u m k M G T P E Ki Mi Gi Ti Pi Ei",
            text, why));
  };
  auto rest = text;
  const bool negative = !rest.empty() && rest[0] == '-';
  if (!rest.empty() && (rest[0] == '-' || rest[0] == '+')) rest.remove_prefix(1);
  const auto whole = take_digits(rest);
  std::string_view fraction;
  if (!rest.empty() && rest[0] == '.') {
    rest.remove_prefix(1);
    fraction = take_digits(rest);
  }
  if (whole.empty() && fraction.empty()) return bad("has no digits");
  const auto scale = parse_suffix(rest);
  if (!scale) return bad("has an unknown suffix");

  Quantity quantity;
  quantity.format_ = scale->format;
  if (scale->base == 10) {
    quantity.nano_ = scale_decimal(std::string(whole) + std::string(fraction),
                                   scale->exponent - static_cast<int>(fraction.size()));
  } else {
    quantity.nano_ = std::min(scale_binary(whole, fraction, scale->exponent), kMax64 * kNano);
    if (quantity.nano_ > 0 && quantity.nano_ < kNano) quantity.format_ = Format::DecimalSI;
  }
  if (negative) quantity.nano_ = -quantity.nano_;
  return quantity;
}

std::int64_t Quantity::value() const { return to_int64(divide_up(nano_, kNano)); }
std::int64_t Quantity::milli_value() const { return to_int64(divide_up(nano_, kNano / 1000)); }
double Quantity::as_double() const {
  const Wide whole = nano_ / kNano;
  return static_cast<double>(whole) + static_cast<double>(nano_ % kNano) / 1e9;
}

Quantity& Quantity::operator+=(const Quantity& other) {
  if (nano_ == 0) format_ = other.format_;
  nano_ = saturating_add(nano_, other.nano_);
  return *this;
}

Quantity& Quantity::operator-=(const Quantity& other) {
  if (nano_ == 0) format_ = other.format_;
  nano_ = saturating_add(nano_, -other.nano_);
  return *this;
}

Quantity Quantity::operator*(std::int64_t factor) const {
  Quantity product = *this;
  product.nano_ = saturating_multiply(nano_, factor);
  return product;
}

std::string Quantity::to_string() const {
  if (nano_ == 0) return "0";
  // Small and broken amounts would lose digits in powers of 1024, so they are printed in decimal.
  const bool binary = format_ == Format::BinarySI && nano_ % kNano == 0 &&
                      (nano_ >= 1024 * kNano || nano_ <= -1024 * kNano);
  if (binary) return print_binary(nano_ / kNano);
  return print_decimal(nano_, format_ == Format::DecimalExponent);
}

}  // namespace manta
