// JSON text: what is read is written so that it reads back the same, in every style.
#include "base/utf8.h"
#include "fuzz/fuzz.h"

#include <algorithm>
#include <charconv>

using namespace manta;
using namespace manta::fuzz;

// "JSON: line L, column C: …" must name a place in the text, or just past its end.
static void check_place(std::string_view message, std::string_view text) {
  const auto take = [&](std::string_view word) {
    std::size_t number = 0;
    const auto at = message.find(word);
    if (at == std::string_view::npos) return number;
    const auto* from = message.data() + at + word.size();
    std::from_chars(from, message.data() + message.size(), number);
    return number;
  };
  const auto line = take("line "), column = take("column ");
  if (text.empty()) return;
  const auto lines = static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n')) + 1;
  FUZZ_CHECK(line >= 1 && line <= lines, message, text);
  for (std::size_t skip = 1; skip < line; ++skip) text.remove_prefix(text.find('\n') + 1);
  FUZZ_CHECK(column >= 1 && column <= text.substr(0, text.find('\n')).size() + 1, message, text);
}

static void check_styles(const Json& value) {
  const auto plain = dump_json(value), html = dump_json(value, JsonEscape::Html),
             pretty = pretty_json(value), canonical = canonical_json(value);
  for (const auto& text : {plain, html, pretty, canonical}) {
    const auto again = parse_json(text);
    FUZZ_CHECK(again.has_value(), text, again.error().message);
    FUZZ_CHECK(same(*again, value), text, plain);
    // A second trip changes nothing, not even -0 or 1.0.
    FUZZ_CHECK(canonical_json(*again) == canonical, text, canonical);
  }
  FUZZ_CHECK(html.find_first_of("<>&") == std::string::npos, html);
  FUZZ_CHECK(plain.find_first_of("\n\r\t") == std::string::npos, plain);
}

// What is no character costs an answer that character, and nothing else.
static void check_mended(std::string_view text) {
  const auto mended = mend_json_text(text);
  FUZZ_CHECK(is_utf8(mended), text, mended);
  FUZZ_CHECK(mend_json_text(mended) == mended, text, mended);
  if (parse_json(text)) FUZZ_CHECK(mended == text, text, mended);
}

// A string of anything that has no quotes and no escapes but \uXXXX.
static void check_mended_string(Input& in) {
  std::string text = "\"";
  for (int n = in.number(0, 8); n > 0; --n) {
    if (in.flag()) {
      text += in.one_of({"\\ud83d", "\\uDE00", "\\u0041", "\\\\", "ud83d", "\xf0\x9f"});
      continue;
    }
    for (const char c : in.bytes(4))
      if (c != '"' && c != '\\' && static_cast<unsigned char>(c) >= ' ') text += c;
  }
  text += '"';
  check_mended(text);
  FUZZ_CHECK(parse_json(mend_json_text(text)).has_value(), text);
}

FUZZ(data) {
  check_mended(data);
  if (const auto value = parse_json(data))
    check_styles(*value);
  else
    check_place(value.error().message, data);

  Input in(data);
  check_mended_string(in);
  check_styles(in.json());
}
