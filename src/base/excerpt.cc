#include "base/excerpt.h"

#include <fmt/format.h>

#include <algorithm>

namespace manta {
namespace {

constexpr std::size_t kNote = 48;  // the longest note, with the dots and blanks around it

bool is_inside_character(std::string_view text, std::size_t at) {
  return at < text.size() && (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80;
}

// Its first line, without the line break.
std::string_view beginning(std::string_view text, std::size_t most) {
  std::size_t end = std::min(most, text.find('\n'));
  while (end > 0 && is_inside_character(text, end)) --end;
  return text.substr(0, end);
}

// From a line's begin on where one is near.
std::string_view ending(std::string_view text, std::size_t most) {
  std::size_t begin = text.size() - most;
  while (is_inside_character(text, begin)) ++begin;
  if (const auto line = text.find('\n', begin); line < begin + most / 4) begin = line + 1;
  return text.substr(begin);
}

}  // namespace

std::string excerpt(std::string_view text, std::size_t most) {
  if (text.size() <= most) return std::string(text);
  const auto first = beginning(text, most / 4);
  const auto last = ending(text, most - first.size() - std::min(kNote, most / 2));
  return fmt::format("{} … ({} bytes left out) … {}", first,
                     text.size() - first.size() - last.size(), last);
}

}  // namespace manta
