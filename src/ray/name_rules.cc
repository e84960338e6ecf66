#include "ray/name_rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

namespace manta::ray {
namespace {

constexpr std::size_t kMaxLabel = 63;
constexpr std::size_t kMaxSubdomain = 253;

bool is_lower(char c) { return c >= 'a' && c <= 'z'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_lower_or_digit(char c) { return is_lower(c) || is_digit(c); }
bool is_alphanumeric(char c) { return is_lower_or_digit(c) || (c >= 'A' && c <= 'Z'); }

// [a-z0-9]([-a-z0-9]*[a-z0-9])?
bool is_dns1123_label(std::string_view text) {
  return !text.empty() && is_lower_or_digit(text.front()) && is_lower_or_digit(text.back()) &&
         std::ranges::all_of(text, [](char c) { return is_lower_or_digit(c) || c == '-'; });
}

// ([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]
bool is_qualified_name(std::string_view text) {
  return !text.empty() && is_alphanumeric(text.front()) && is_alphanumeric(text.back()) &&
         std::ranges::all_of(
             text, [](char c) { return is_alphanumeric(c) || c == '-' || c == '_' || c == '.'; });
}

bool is_dns1123_subdomain(std::string_view text) {
  while (true) {
    const auto dot = text.find('.');
    if (!is_dns1123_label(text.substr(0, dot))) return false;
    if (dot == std::string_view::npos) return true;
    text.remove_prefix(dot + 1);
  }
}

std::string too_long(std::size_t limit) {
  return fmt::format("must be no more than {} bytes", limit);
}

constexpr std::string_view kDns1035 =
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an "
    "alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', "
    "regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')";
constexpr std::string_view kDns1123Label =
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and "
    "must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used "
    "for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
constexpr std::string_view kDns1123Subdomain =
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or "
    "'.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used "
    "for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
constexpr std::string_view kQualifiedName =
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an "
    "alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for "
    "validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
constexpr std::string_view kLabelValue =
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or "
    "'.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  "
    "or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";

// Bytes of the UTF-8 sequence at the front, and its code point; 0 when it is no valid UTF-8.
std::size_t decode_rune(std::string_view text, char32_t& rune) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const std::size_t size = byte(0) < 0x80   ? 1
                           : byte(0) < 0xC2 ? 0
                           : byte(0) < 0xE0 ? 2
                           : byte(0) < 0xF0 ? 3
                           : byte(0) < 0xF5 ? 4
                                            : 0;
  if (size == 0 || text.size() < size) return 0;
  rune = size == 1 ? byte(0) : byte(0) & (0xFFu >> (size + 1));
  for (std::size_t i = 1; i < size; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return 0;
    rune = rune << 6 | (byte(i) & 0x3Fu);
  }
  const bool overlong = (size == 3 && rune < 0x800) || (size == 4 && rune < 0x10000);
  const bool surrogate = rune >= 0xD800 && rune <= 0xDFFF;
  return overlong || surrogate || rune > 0x10FFFF ? 0 : size;
}

// The common code points that Go does not print as they are; group names hold no others in
// practice.
bool is_printable(char32_t rune) {
  return rune >= 0x20 && !(rune >= 0x7F && rune <= 0xA0) && rune != 0xAD &&
         !(rune >= 0x2000 && rune <= 0x200F) && !(rune >= 0x2028 && rune <= 0x202F) &&
         !(rune >= 0x2060 && rune <= 0x206F) && rune != 0x3000 && rune != 0xFEFF &&
         !(rune >= 0xE000 && rune <= 0xF8FF) && !(rune >= 0xFFF0 && rune <= 0xFFFB);
}

}  // namespace

std::vector<std::string> dns1035_label_faults(std::string_view text) {
  std::vector<std::string> faults;
  if (text.size() > kMaxLabel) faults.push_back(too_long(kMaxLabel));
  if (!is_dns1123_label(text) || !is_lower(text.front())) faults.emplace_back(kDns1035);
  return faults;
}

std::vector<std::string> dns1123_label_faults(std::string_view text) {
  std::vector<std::string> faults;
  if (text.size() > kMaxLabel) faults.push_back(too_long(kMaxLabel));
  if (!is_dns1123_label(text))
    faults.emplace_back(is_dns1123_subdomain(text) ? "must not contain dots" : kDns1123Label);
  return faults;
}

std::vector<std::string> dns1123_subdomain_faults(std::string_view text) {
  std::vector<std::string> faults;
  if (text.size() > kMaxSubdomain) faults.push_back(too_long(kMaxSubdomain));
  if (!is_dns1123_subdomain(text)) faults.emplace_back(kDns1123Subdomain);
  return faults;
}

std::vector<std::string> label_key_faults(std::string_view text) {
  std::vector<std::string> faults;
  std::string_view name = text;
  if (const auto slash = text.find('/'); slash != std::string_view::npos) {
    const auto prefix = text.substr(0, slash);
    name = text.substr(slash + 1);
    if (name.find('/') != std::string_view::npos)
      return {
          fmt::format("a valid label key {} with an optional DNS subdomain prefix and '/' "
                      "(e.g. 'example.com/MyName')",
                      kQualifiedName)};
    if (prefix.empty())
      faults.emplace_back("prefix part must be non-empty");
    else
      for (const auto& fault : dns1123_subdomain_faults(prefix))
        faults.push_back("prefix part " + fault);
  }
  if (name.empty())
    faults.emplace_back("name part must be non-empty");
  else if (name.size() > kMaxLabel)
    faults.push_back("name part " + too_long(kMaxLabel));
  if (!is_qualified_name(name)) faults.push_back(fmt::format("name part {}", kQualifiedName));
  return faults;
}

std::vector<std::string> label_value_faults(std::string_view text) {
  std::vector<std::string> faults;
  if (text.size() > kMaxLabel) faults.push_back(too_long(kMaxLabel));
  if (!text.empty() && !is_qualified_name(text)) faults.emplace_back(kLabelValue);
  return faults;
}

std::string go_list(const std::vector<std::string>& items) {
  return fmt::format("[{}]", fmt::join(items, " "));
}

std::string go_quote(std::string_view text) {
  std::string out = "\"";
  while (!text.empty()) {
    char32_t rune = 0;
    const std::size_t size = decode_rune(text, rune);
    static constexpr std::string_view kShort = "\a\b\f\n\r\t\v\\\"";
    static constexpr std::string_view kLetters = "abfnrtv\\\"";
    if (size == 0)
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(text.front()));
    else if (const auto at = kShort.find(text.front()); size == 1 && at != kShort.npos)
      (out += '\\') += kLetters[at];
    else if (is_printable(rune))
      out += text.substr(0, size);
    else if (rune < 0x80)
      out += fmt::format("\\x{:02x}", static_cast<std::uint32_t>(rune));
    else
      out += rune < 0x10000 ? fmt::format("\\u{:04x}", static_cast<std::uint32_t>(rune))
                            : fmt::format("\\U{:08x}", static_cast<std::uint32_t>(rune));
    text.remove_prefix(std::max<std::size_t>(size, 1));
  }
  return out + '"';
}

}  // namespace manta::ray
