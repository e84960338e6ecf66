// Kubernetes resource quantities ("500m", "2Gi", "1e3"): exact arithmetic and canonical text.
#pragma once

#include "base/result.h"

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

namespace manta {

/// A decimal number with a suffix family that says how it is printed. Exact to 1e-9, magnitudes up
/// to about 1.7e20; rounds up beyond (as apimachinery's Quantity does, source: Kubernetes
/// resource.Quantity). Zero prints as "0".
class Quantity {
 public:
  enum class Format { DecimalSI, BinarySI, DecimalExponent };

  Quantity() = default;
  static Quantity from_int(std::int64_t value, Format format = Format::DecimalSI);
  static Quantity from_milli(std::int64_t milli, Format format = Format::DecimalSI);
  static Result<Quantity> parse(std::string_view text);

  /// Rounded up to whole units; saturates.
  std::int64_t value() const;
  /// Rounded up to thousandths; saturates.
  std::int64_t milli_value() const;
  double as_double() const;
  bool is_zero() const { return nano_ == 0; }
  Format format() const { return format_; }

  /// Keeps the left side's format unless that is zero.
  Quantity& operator+=(const Quantity& other);
  Quantity& operator-=(const Quantity& other);
  Quantity operator*(std::int64_t factor) const;
  std::strong_ordering operator<=>(const Quantity& other) const { return nano_ <=> other.nano_; }
  bool operator==(const Quantity& other) const { return nano_ == other.nano_; }

  /// Canonical: 1000m → "1", 1024Mi → "1Gi", 0.5 → "500m".
  std::string to_string() const;

 private:
  __int128 nano_ = 0;
  Format format_ = Format::DecimalSI;
};

}  // namespace manta
