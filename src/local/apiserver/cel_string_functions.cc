// Methods of strings. Indices count code points. Source: CEL's string extensions.
#include "fmt/format.h"
#include "local/apiserver/cel_functions.h"

#include <regex>

namespace manta::local::cel {
namespace {

constexpr std::string_view kBlank = " \t\n\r\f\v";

Outcome matches(const std::string& text, const std::string& pattern) {
  try {
    return make_bool(std::regex_search(text, std::regex(pattern, std::regex::ECMAScript)));
  } catch (const std::regex_error& error) {
    return fail(fmt::format("error parsing regexp: {}", error.what()));
  }
}

/// The first match, or every one.
Outcome find_pattern(const std::string& text, const std::string& expression, bool all) {
  try {
    const std::regex pattern(expression, std::regex::ECMAScript);
    if (!all) {
      std::smatch found;
      return make_string(std::regex_search(text, found, pattern) ? found.str() : "");
    }
    Values every;
    for (std::sregex_iterator it(text.begin(), text.end(), pattern), end; it != end; ++it)
      every.push_back(make_string(it->str()));
    return make_list(std::move(every));
  } catch (const std::regex_error& error) {
    return fail(error.what());
  }
}

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
  while (limit < 0 || --limit > 0) {
    const auto end = text.find(separator, at);
    if (end == text.npos) break;
    parts.push_back(make_string(text.substr(at, end - at)));
    at = end + separator.size();
  }
  parts.push_back(make_string(text.substr(at)));
  return parts;
}

/// The first `limit` occurrences; all when negative.
std::string replaced(const std::string& text, const std::string& from, const std::string& to,
                     std::int64_t limit) {
  if (from.empty()) return text;
  std::string made;
  std::size_t at = 0;
  while (limit != 0) {
    const auto found = text.find(from, at);
    if (found == text.npos) break;
    made += text.substr(at, found - at) + to;
    at = found + from.size();
    --limit;
  }
  return made + text.substr(at);
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
  if (method == "matches") return matches(own, text(1));
  if (method == "find") return find_pattern(own, text(1), false);
  if (method == "findAll") return find_pattern(own, text(1), true);
  if (method == "lowerAscii") return make_string(lower_ascii(own));
  if (method == "upperAscii") return make_string(upper_ascii(own));
  if (method == "trim") return make_string(trimmed(own));
  if (method == "split") return make_list(split_parts(own, text(1), limit(2)));
  if (method == "replace") return make_string(replaced(own, text(1), text(2), limit(3)));
  if (method == "indexOf") return index_at(own, own.find(text(1)));
  if (method == "lastIndexOf") return index_at(own, own.rfind(text(1)));
  if (method == "charAt") return char_at(own, arguments[1].integer);
  if (method == "substring")
    return substring(own, arguments[1].integer,
                     arguments.size() > 2 ? std::optional(arguments[2].integer) : std::nullopt);
  return no_overload();
}

}  // namespace manta::local::cel
