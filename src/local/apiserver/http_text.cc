#include "local/apiserver/http_text.h"

#include "base/text.h"
#include "fmt/format.h"

#include <cctype>

namespace manta::local {
namespace {

int hex(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

std::string decode(std::string_view text, bool plus_is_space) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%' && i + 2 < text.size() && hex(text[i + 1]) >= 0 && hex(text[i + 2]) >= 0) {
      plain += static_cast<char>(hex(text[i + 1]) * 16 + hex(text[i + 2]));
      i += 2;
    } else {
      plain += text[i] == '+' && plus_is_space ? ' ' : text[i];
    }
  }
  return plain;
}

std::string encode(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (std::isalnum(static_cast<unsigned char>(c)) || c == '-' || c == '_' || c == '.' || c == '~')
      out += c;
    else
      out += fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return out;
}

}  // namespace

Target split_target(std::string_view target) {
  Target made;
  const auto question = target.find('?');
  auto path = target.substr(0, question);
  made.trailing_slash = path.size() > 1 && path.ends_with('/');
  for (const auto& part : split(path, '/'))
    if (!part.empty()) made.segments.push_back(decode(part, false));
  if (question == target.npos) return made;
  for (const auto& pair : split(target.substr(question + 1), '&')) {
    if (pair.empty()) continue;
    const auto equal = pair.find('=');
    made.query[decode(pair.substr(0, equal), true)].push_back(
        equal == pair.npos ? "" : decode(pair.substr(equal + 1), true));
  }
  return made;
}

std::string raw_query(const QueryMap& query) {
  std::string text;
  for (const auto& [key, values] : query)
    for (const auto& value : values)
      text += fmt::format("{}{}={}", text.empty() ? "" : "&", encode(key), encode(value));
  return text;
}

}  // namespace manta::local
