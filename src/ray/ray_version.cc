#include "ray/ray_version.h"

#include "ray/name_rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace manta::ray {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// The dotted digits at the front, after white space and an optional v; empty when there are none.
std::string_view numeric_part(std::string_view text) {
  const auto start = text.find_first_not_of(" \t\n\f\r");
  if (start == std::string_view::npos) return {};
  text.remove_prefix(start);
  if (text.front() == 'v') text.remove_prefix(1);
  std::size_t end = 0;
  while (true) {
    const std::size_t from = end;
    while (end < text.size() && is_digit(text[end])) ++end;
    if (end == from) return text.substr(0, from == 0 ? 0 : from - 1);  // without the last dot
    if (end == text.size() || text[end] != '.') break;
    ++end;
  }
  // Upstream's pattern has no room for a line break after the numbers.
  return text.substr(end).find('\n') == std::string_view::npos ? text.substr(0, end)
                                                               : std::string_view();
}

std::uint64_t component(const RayVersion& version, std::size_t i) {
  return i < version.components.size() ? version.components[i] : 0;
}

}  // namespace

std::strong_ordering RayVersion::operator<=>(const RayVersion& other) const {
  const auto count = std::max(components.size(), other.components.size());
  for (std::size_t i = 0; i < count; ++i)
    if (const auto order = component(*this, i) <=> component(other, i); order != 0) return order;
  return std::strong_ordering::equal;
}

Result<RayVersion> parse_ray_version(std::string_view text) {
  std::string_view rest = numeric_part(text);
  if (rest.empty())
    return failed(ErrorCode::Invalid, fmt::format("could not parse {} as version", go_quote(text)));
  if (rest.find('.') == std::string_view::npos)
    return failed(ErrorCode::Invalid, fmt::format("illegal version string {}", go_quote(text)));
  RayVersion version;
  while (true) {
    const auto dot = rest.find('.');
    const auto part = rest.substr(0, dot);
    if (version.components.empty() && part.size() > 1 && part.front() == '0')
      return failed(ErrorCode::Invalid,
                    fmt::format("illegal zero-prefixed version component {} in {}", go_quote(part),
                                go_quote(text)));
    std::uint64_t number = 0;
    const auto [end, code] = std::from_chars(part.data(), part.data() + part.size(), number);
    if (code != std::errc{})
      return failed(ErrorCode::Invalid,
                    fmt::format("illegal non-numeric version component {0} in {1}: "
                                "strconv.ParseUint: parsing {0}: value out of range",
                                go_quote(part), go_quote(text)));
    version.components.push_back(number);
    if (dot == std::string_view::npos) return version;
    rest.remove_prefix(dot + 1);
  }
}

}  // namespace manta::ray
