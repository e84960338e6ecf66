#include "local/apiserver/pattern.h"

#include <fmt/format.h>
#include <re2/re2.h>

#include <array>
#include <optional>

namespace manta::local {
namespace {

/// What one pattern may take, tried in turn: most are small, and RE2 fills what it is given with
/// states that it has seen. The largest holds a class of all letters a thousand times.
constexpr std::array<std::size_t, 4> kSizes = {64u << 10, 1u << 20, 8u << 20, 64u << 20};
/// How many characters all the searches of one text may go over, should each go to its end.
constexpr std::size_t kMaxLookedAt = 1u << 30;
constexpr int kMaxNesting = 1000;  // as in Go

std::unexpected<Error> unreadable(std::string_view why, std::string_view part) {
  return failed(ErrorCode::Invalid, fmt::format("error parsing regexp: {}: `{}`", why, part));
}

/// RE2's complaints in Go's words.
std::string_view go_words(RE2::ErrorCode code) {
  switch (code) {
    case RE2::ErrorBadEscape:
      return "invalid escape sequence";
    case RE2::ErrorBadCharClass:
      return "invalid character class";
    case RE2::ErrorBadCharRange:
      return "invalid character class range";
    case RE2::ErrorMissingBracket:
      return "missing closing ]";
    case RE2::ErrorMissingParen:
      return "missing closing )";
    case RE2::ErrorUnexpectedParen:
      return "unexpected )";
    case RE2::ErrorTrailingBackslash:
      return "trailing backslash at end of expression";
    case RE2::ErrorRepeatArgument:
      return "missing argument to repetition operator";
    case RE2::ErrorRepeatSize:
      return "invalid repeat count";
    case RE2::ErrorRepeatOp:
      return "invalid nested repetition operator";
    case RE2::ErrorBadPerlOp:
      return "invalid or unsupported Perl syntax";
    case RE2::ErrorBadUTF8:
      return "invalid UTF-8";
    case RE2::ErrorBadNamedCapture:
      return "invalid named capture";
    case RE2::ErrorPatternTooLarge:
      return "expression too large";
    default:
      return "regexp/syntax: internal error";
  }
}

/// The length of "(?P<name>" or "(?<name>" at the start of the text; 0 when there is none.
std::size_t named_group(std::string_view text) {
  std::size_t at = text.starts_with("(?P<") ? 4 : text.starts_with("(?<") ? 3 : 0;
  if (at == 0) return 0;
  const auto start = at;
  auto is_word = [](char c) {
    return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  };
  while (at < text.size() && is_word(text[at])) ++at;
  return at > start && at < text.size() && text[at] == '>' ? at + 1 : 0;
}

/// Where RE2 reads otherwise than Go: groups may be named as in Perl, and alike (names mean nothing
/// here, so they go); \C, one byte, is not known; groups nest to a limit.
Result<std::string> as_re2_reads(std::string_view expression) {
  std::string made;
  int nesting = 0;
  bool in_class = false, quoted = false;
  for (std::size_t at = 0; at < expression.size();) {
    const auto rest = expression.substr(at);
    std::size_t size = 1;
    if (quoted) {
      quoted = !rest.starts_with("\\E");
    } else if (rest.front() == '\\' && rest.size() > 1) {
      if (rest[1] == 'C') return unreadable(go_words(RE2::ErrorBadEscape), "\\C");
      quoted = rest[1] == 'Q' && !in_class;
      size = 2;
    } else if (in_class) {
      in_class = rest.front() != ']';
      if (rest.starts_with("[:"))
        if (const auto end = rest.find(":]"); end != rest.npos) size = end + 2;
    } else if (rest.front() == '[') {
      in_class = true;
      // A bracket that comes first is one of the class.
      size = rest.starts_with("[^]") ? 3 : rest.starts_with("[]") ? 2 : 1;
    } else if (rest.front() == ')') {
      --nesting;
    } else if (rest.front() == '(') {
      if (++nesting > kMaxNesting)
        return failed(
            ErrorCode::Invalid,
            fmt::format("error parsing regexp: expression nests too deeply: `{}`", expression));
      if (const auto name = named_group(rest)) {
        made += '(';
        at += name;
        continue;
      }
    }
    made += rest.substr(0, size);
    at += size;
  }
  return made;
}

std::size_t next_character(std::string_view text, std::size_t at) {
  ++at;
  while (at < text.size() && (static_cast<unsigned char>(text[at]) & 0xc0) == 0x80) ++at;
  return at;
}

class Re2Pattern final : public Pattern {
 public:
  Re2Pattern(const std::string& expression, std::size_t max_bytes)
      : max_bytes_(max_bytes), regex_(expression, options(max_bytes)) {}
  const RE2& regex() const { return regex_; }

  bool found_in(std::string_view text) const override {
    return regex_.Match({text.data(), text.size()}, 0, text.size(), RE2::UNANCHORED, nullptr, 0);
  }

  std::optional<std::vector<std::string_view>> find_in(std::string_view text,
                                                       std::int64_t limit) const override {
    std::vector<std::string_view> found;
    const re2::StringPiece whole(text.data(), text.size());
    std::optional<std::size_t> last_end;
    std::size_t looked_at = 0;
    for (std::size_t at = 0; at <= text.size() && limit != 0;) {
      if ((looked_at += text.size() - at) > kMaxLookedAt) return std::nullopt;
      re2::StringPiece match;
      if (!regex_.Match(whole, at, text.size(), RE2::UNANCHORED, &match, 1)) break;
      const auto start = static_cast<std::size_t>(match.data() - text.data());
      // As Go does: nothing at all right behind a match is no match of its own.
      if (!match.empty() || start != last_end) {
        found.push_back(text.substr(start, match.size()));
        --limit;
      }
      last_end = at = start + match.size();
      if (match.empty()) at = next_character(text, at);
    }
    return found;
  }

  std::size_t max_bytes() const override { return max_bytes_; }

 private:
  static RE2::Options options(std::size_t max_bytes) {
    RE2::Options options;
    options.set_log_errors(false);
    options.set_max_mem(static_cast<std::int64_t>(max_bytes));
    return options;
  }

  std::size_t max_bytes_;
  RE2 regex_;
};

}  // namespace

Result<PatternPtr> Pattern::compile(std::string_view expression, std::size_t limit) {
  const auto readable = as_re2_reads(expression);
  if (!readable) return failed(readable.error());
  for (const auto size : kSizes) {
    if (size > limit) break;
    auto pattern = std::make_shared<Re2Pattern>(*readable, size);
    const auto& regex = pattern->regex();
    if (regex.ok()) return pattern;
    if (regex.error_code() != RE2::ErrorPatternTooLarge)
      return unreadable(go_words(regex.error_code()), regex.error_arg());
  }
  return unreadable(go_words(RE2::ErrorPatternTooLarge), expression);
}

Result<PatternPtr> Patterns::compile(std::string_view expression) {
  if (const auto known = known_.find(expression); known != known_.end()) return known->second;
  auto pattern = Pattern::compile(expression, left_);
  if (!pattern) return pattern;
  left_ -= (*pattern)->max_bytes();
  known_.emplace(expression, *pattern);
  return pattern;
}

}  // namespace manta::local
