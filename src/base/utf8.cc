#include "base/utf8.h"

#include <charconv>
#include <optional>

namespace manta {
namespace {

constexpr std::string_view kReplacement = "\xef\xbf\xbd";  // U+FFFD

// The 16 bits of \uXXXX at the front of `text`.
std::optional<unsigned> escaped_unit(std::string_view text) {
  if (text.size() < 6 || text[0] != '\\' || text[1] != 'u') return std::nullopt;
  unsigned unit = 0;
  const auto* end = text.data() + 6;
  if (std::from_chars(text.data() + 2, end, unit, 16).ptr != end) return std::nullopt;
  return unit;
}
bool is_first_half(unsigned unit) { return unit >= 0xd800 && unit < 0xdc00; }
bool is_second_half(unsigned unit) { return unit >= 0xdc00 && unit < 0xe000; }

struct Piece {
  std::size_t length = 0;
  bool is_character = true;
};

// What stands at the front of `json`, which is not empty.
Piece next_piece(std::string_view json) {
  if (json[0] != '\\') {
    const auto length = utf8_length(json);
    return {length == 0 ? 1 : length, length > 0};
  }
  const auto unit = escaped_unit(json);
  // Behind an escaped backslash no escape begins.
  if (!unit) return {json.starts_with("\\\\") ? 2u : 1u};
  if (!is_first_half(*unit)) return {6, !is_second_half(*unit)};
  const auto second = escaped_unit(json.substr(6));
  return second && is_second_half(*second) ? Piece{12} : Piece{6, false};
}

}  // namespace

// Source: Unicode, "Well-Formed UTF-8 Byte Sequences": only the second byte's range depends on the
// first.
std::size_t utf8_length(std::string_view text) {
  if (text.empty()) return 0;
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const auto first = byte(0);
  if (first < 0x80) return 1;
  if (first < 0xc2 || first > 0xf4) return 0;
  const std::size_t length = first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
  if (text.size() < length) return 0;
  const unsigned low = first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : 0x80;
  const unsigned high = first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : 0xbf;
  if (byte(1) < low || byte(1) > high) return 0;
  for (std::size_t i = 2; i < length; ++i)
    if ((byte(i) & 0xc0) != 0x80) return 0;
  return length;
}

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const auto length = utf8_length(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

std::string mend_json_text(std::string_view json) {
  std::string out;
  out.reserve(json.size());
  while (!json.empty()) {
    const auto [length, is_character] = next_piece(json);
    out += is_character ? json.substr(0, length) : kReplacement;
    json.remove_prefix(length);
  }
  return out;
}

}  // namespace manta
