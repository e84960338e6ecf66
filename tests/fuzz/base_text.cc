// Small text forms: times, durations, base64, shell words.
#include "base/hash.h"
#include "base/shell.h"
#include "base/time.h"
#include "fuzz/fuzz.h"

#include <optional>

using namespace manta;
using namespace manta::fuzz;

static void check_time(std::string_view text) {
  const auto time = parse_rfc3339(text);
  if (!time) return;
  const auto micro = format_rfc3339_micro(*time), whole = format_rfc3339(*time);
  const auto again = parse_rfc3339(micro), seconds = parse_rfc3339(whole);
  FUZZ_CHECK(again && *again == *time, text, micro);
  FUZZ_CHECK(seconds && *seconds == std::chrono::floor<std::chrono::seconds>(*time), text, whole);
  FUZZ_CHECK(whole.size() == 20 && micro.size() == 27, text, whole, micro);
}

static void check_duration(std::string_view text) {
  const auto duration = parse_go_duration(text);
  if (!duration) return;
  const auto printed = format_go_duration(*duration);
  const auto again = parse_go_duration(printed);
  FUZZ_CHECK(again && *again == *duration, text, printed);
  FUZZ_CHECK(format_go_duration(*again) == printed, text, printed);
}

// The words of a POSIX shell in which nothing is special but quotes; nothing when something is.
static std::optional<std::vector<std::string>> shell_words(std::string_view line) {
  std::vector<std::string> words;
  std::optional<std::string> word;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (c == ' ' || c == '\t' || c == '\n') {
      if (word) words.push_back(*std::exchange(word, std::nullopt));
    } else if (c == '\'') {
      const auto end = line.find('\'', i + 1);
      if (end == std::string_view::npos) return std::nullopt;
      word = word.value_or("") + std::string(line.substr(i + 1, end - i - 1));
      i = end;
    } else if (c == '\\') {
      if (++i == line.size() || line[i] == '\n') return std::nullopt;
      word = word.value_or("") + line[i];
    } else if (std::string_view("|&;<>()$`\"*?[]#~=!{}^").find(c) != std::string_view::npos) {
      return std::nullopt;
    } else {
      word = word.value_or("") + c;
    }
  }
  if (word) words.push_back(*word);
  return words;
}

static void check_shell(Input& in) {
  std::string line = "echo";
  std::vector<std::string> want{"echo"};
  for (int n = in.number(1, 4); n > 0; --n) {
    auto text = in.flag() ? in.text() : in.bytes(30);
    std::erase(text, '\0');
    line += " " + shell_quote(text);
    want.push_back(text);
  }
  const auto words = shell_words(line);
  FUZZ_CHECK(words && *words == want, line);
}

FUZZ(data) {
  check_time(data);
  check_duration(data);
  if (const auto bytes = base64_decode(data)) {
    const auto again = base64_decode(base64_encode(*bytes));
    FUZZ_CHECK(again && *again == *bytes, data);
  }
  const auto encoded = base64_encode(data);
  const auto decoded = base64_decode(encoded);
  FUZZ_CHECK(decoded && *decoded == data, encoded);
  FUZZ_CHECK(encoded.size() == (data.size() + 2) / 3 * 4, encoded);

  Input in(data);
  check_shell(in);
  const auto digits = [&](int count) {
    std::string text;
    for (int i = 0; i < count; ++i) text += static_cast<char>('0' + in.number(0, 9));
    return text;
  };
  check_time(digits(4) + "-" + digits(2) + "-" + digits(2) + "T" + digits(2) + ":" + digits(2) +
             ":" + digits(2) + (in.flag() ? "." + digits(in.number(0, 9)) : "") +
             (in.flag() ? "Z" : std::string(in.one_of({"+", "-"})) + digits(2) + ":" + digits(2)));
  std::string duration(in.one_of({"", "-", "+"}));
  for (int n = in.number(1, 4); n > 0; --n)
    duration += digits(in.number(0, 6)) + (in.flag() ? "." + digits(in.number(0, 9)) : "") +
                std::string(in.one_of({"ns", "us", "\u00b5s", "\u03bcs", "ms", "s", "m", "h", ""}));
  check_duration(duration);
}
