// Methods of strings. Indices count code points. Source: CEL's string extensions.
#include "fmt/format.h"
#include "local/apiserver/cel_functions.h"

namespace manta::local::cel {
namespace {

constexpr std::string_view kBlank = " \t\n\r\f\v";

std::string lower_ascii(std::string text) {
  for (auto& c : text)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + 32);
  return text;
}
std::string upper_ascii(std::string text) {
  for (auto& c : text)
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 32);
  return text;
}

std::string trimmed(const std::string& text) {
  const auto first = text.find_first_not_of(kBlank);
  if (first == text.npos) return {};
  return text.substr(first, text.find_last_not_of(kBlank) - first + 1);
}

/// At most `limit` parts; any number when negative.
Values split_parts(const std::string& text, const std::string& separator, std::int64_t limit) {
  Values parts;
  if (limit == 0) return parts;
  if (separator.empty()) {
    for (auto& character : characters(text)) parts.push_back(make_string(std::move(character)));
    return parts;
  }
  std::size_t at = 0;
  for (; limit < 0 || limit > 1; --limit) {
    const auto end = text.find(separator, at);
    if (end == text.npos) break;
    parts.push_back(make_string(text.substr(at, end - at)));
    at = end + separator.size();
  }
  parts.push_back(make_string(text.substr(at)));
  return parts;
}

/// The first `limit` occurrences; all when negative. Nothing when the text would be too long.
std::optional<std::string> replaced(const std::string& text, const std::string& from,
                                    const std::string& to, std::int64_t limit) {
  if (from.empty()) return text;
  std::string made;
  std::size_t at = 0;
  while (limit != 0) {
    const auto found = text.find(from, at);
    if (found == text.npos) break;
    made.append(text, at, found - at).append(to);
    if (made.size() > kMaxText) return std::nullopt;
    at = found + from.size();
    --limit;
  }
  return made.append(text, at);
}

Outcome char_at(const std::string& text, std::int64_t at) {
  const auto chars = characters(text);
  const auto length = static_cast<std::int64_t>(chars.size());
  if (at < 0 || at > length) return fail(fmt::format("index out of range: {}", at));
  return make_string(at == length ? "" : chars[static_cast<std::size_t>(at)]);
}

/// From one index to before another; to the end when there is none.
Outcome substring(const std::string& text, std::int64_t from, std::optional<std::int64_t> before) {
  const auto chars = characters(text);
  const auto length = static_cast<std::int64_t>(chars.size());
  const auto to = before.value_or(length);
  if (from < 0 || to > length || from > to)
    return fail(fmt::format("index out of range: {}", from));
  std::string made;
  for (auto i = from; i < to; ++i) made += chars[static_cast<std::size_t>(i)];
  return make_string(std::move(made));
}

/// The index of the byte that was found, or -1.
Outcome index_at(const std::string& text, std::size_t found) {
  if (found == text.npos) return make_int(-1);
  return make_int(static_cast<std::int64_t>(characters(text.substr(0, found)).size()));
}

}  // namespace

std::vector<std::string> characters(std::string_view text) {
  std::vector<std::string> list;
  for (const char c : text) {
    if ((static_cast<unsigned char>(c) & 0xc0) != 0x80) list.emplace_back();
    if (list.empty()) list.emplace_back();
    list.back() += c;
  }
  return list;
}

Outcome call_string(std::string_view method, const Values& arguments) {
  for (std::size_t i = 1; i < arguments.size(); ++i)
    if (arguments[i].kind != Value::Kind::String && arguments[i].kind != Value::Kind::Int)
      return no_overload();
  const auto& own = arguments[0].text;
  // An absent argument reads as the empty text, an absent limit as none.
  auto text = [&](std::size_t i) { return i < arguments.size() ? arguments[i].text : ""; };
  auto limit = [&](std::size_t i) { return i < arguments.size() ? arguments[i].integer : -1; };
  if (method == "startsWith") return make_bool(own.starts_with(text(1)));
  if (method == "endsWith") return make_bool(own.ends_with(text(1)));
  if (method == "contains") return make_bool(own.find(text(1)) != own.npos);
  if (method == "lowerAscii") return make_string(lower_ascii(own));
  if (method == "upperAscii") return make_string(upper_ascii(own));
  if (method == "trim") return make_string(trimmed(own));
  if (method == "split") return make_list(split_parts(own, text(1), limit(2)));
  if (method == "replace") {
    auto made = replaced(own, text(1), text(2), limit(3));
    return made ? make_string(std::move(*made)) : Outcome(too_costly());
  }
  if (method == "indexOf") return index_at(own, own.find(text(1)));
  if (method == "lastIndexOf") return index_at(own, own.rfind(text(1)));
  if (method == "charAt") return char_at(own, arguments[1].integer);
  if (method == "substring")
    return substring(own, arguments[1].integer,
                     arguments.size() > 2 ? std::optional(arguments[2].integer) : std::nullopt);
  return no_overload();
}

bool is_pattern_function(std::string_view name) {
  return name == "matches" || name == "find" || name == "findAll";
}

Outcome call_pattern(std::string_view name, const Pattern& pattern, const Values& arguments) {
  const auto& text = arguments[0].text;
  if (name == "matches") return make_bool(pattern.found_in(text));
  const auto limit = name == "find" ? 1 : arguments.size() > 2 ? arguments[2].integer : -1;
  const auto found = pattern.find_in(text, limit);
  if (!found) return too_costly();
  if (name == "find") return make_string(found->empty() ? "" : std::string(found->front()));
  Values every;
  for (const auto part : *found) every.push_back(make_string(std::string(part)));
  return make_list(std::move(every));
}

}  // namespace manta::local::cel
