#include "base/utf8.h"

#include "base/json.h"
#include "base/yaml.h"

#include <gtest/gtest.h>

namespace manta {
namespace {

TEST(Utf8, LengthOfWellFormedCharacters) {
  EXPECT_EQ(utf8_length("a"), 1u);
  EXPECT_EQ(utf8_length("\u00e9x"), 2u);
  EXPECT_EQ(utf8_length("\u20ac"), 3u);
  EXPECT_EQ(utf8_length("\U0001f600"), 4u);
  EXPECT_EQ(utf8_length("\xf4\x8f\xbf\xbf"), 4u);  // U+10FFFF
}

TEST(Utf8, RefusesWhatIsNone) {
  for (const std::string_view text :
       {"\x80", "\xc0\x80", "\xc1\xbf", "\xe0\x9f\x80", "\xed\xa0\x80", "\xf0\x8f\xbf\xbf",
        "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xff", "\xc3", "\xe2\x82", "\xe2\x82x"}) {
    EXPECT_EQ(utf8_length(text), 0u);
    EXPECT_FALSE(is_utf8(text));
    EXPECT_FALSE(is_utf8("ab" + std::string(text)));
  }
  EXPECT_EQ(utf8_length(""), 0u);
  EXPECT_TRUE(is_utf8(""));
}

TEST(Utf8, JsonTextReplacesBytesThatAreNone) {
  // A program's output may be anything; as Go's encoder, one U+FFFD for each bad byte.
  const auto text = dump_json(Json("a\xff\xc3z\u00e9"));
  EXPECT_EQ(text, "\"a\\ufffd\\ufffdz\u00e9\"");
  EXPECT_TRUE(parse_json(text).has_value());
  EXPECT_TRUE(parse_json(canonical_json(Json{{"k\x80", "\xe2\x80"}})).has_value());
}

TEST(Utf8, JsonTextOfOthersIsMendedAsGoReadsIt) {
  const auto read = [](std::string_view json) {
    const auto value = parse_json(mend_json_text(json));
    return value ? std::string(value->get_string()) : "refused: " + value.error().message;
  };
  EXPECT_EQ(read(R"("a\\udcff.txt")"), "a\\udcff.txt") << "an escaped backslash, and letters";
  EXPECT_EQ(read(R"("a\\\udcff.txt")"), "a\\\ufffd.txt");
  EXPECT_EQ(read("\"a\\udcff.txt\""), "a\ufffd.txt");
  EXPECT_EQ(read("\"\\ud83d\\ude00\""), "\U0001F600");
  EXPECT_EQ(read("\"\\ud83d\\ud83d\\ude00\""), "\ufffd\U0001F600");
  EXPECT_EQ(read("\"\\ude00\\ud83d\""), "\ufffd\ufffd");
  EXPECT_EQ(read("\"\\uD83dA\""), "\ufffdA");
  EXPECT_EQ(read("\"\xff\xc3z\u00e9\""), "\ufffd\ufffdz\u00e9");
  EXPECT_TRUE(parse_json(mend_json_text("{\"k\\udc80\":[\"\xf0\x9f\x98\"]}")));
}

// All short strings of what matters.
TEST(Utf8, MendedJsonTextIsReadableAndWhatWasReadableIsUnchanged) {
  constexpr std::string_view kPieces[] = {"a",       "\\\\", "\\n",  "\\\"", "\\u0041", "\\ud83d",
                                          "\\uDE00", "\xff", "\xc3", "\xa9", "ud83d",   "\u00e9"};
  constexpr auto kCount = std::size(kPieces);
  std::size_t mended_count = 0;
  for (std::size_t all = 0; all < kCount * kCount * kCount * kCount; ++all) {
    std::string text = "\"";
    for (auto rest = all; rest > 0; rest /= kCount) text += kPieces[rest % kCount];
    text += '"';
    const auto mended = mend_json_text(text);
    ASSERT_TRUE(parse_json(mended)) << text;
    ASSERT_EQ(mend_json_text(mended), mended) << text;
    if (parse_json(text))
      ASSERT_EQ(mended, text);
    else
      ++mended_count;
  }
  EXPECT_GT(mended_count, 10'000u);
  for (const std::string_view cut :
       {"", "\\", "\"\\u", "\\ud83d", "\\ud83d\\", "\\ud83d\\ud", "\xf0\x9f"})
    EXPECT_TRUE(is_utf8(mend_json_text(cut)));
}

TEST(Utf8, YamlRefusesBytesThatAreNone) {
  for (const std::string_view text :
       {"a: \xc3\x28", "\xff", "'\x80'", "!!binary gA==", "? \xed\xa0\x80\n: 1"}) {
    const auto parsed = parse_yaml(text);
    ASSERT_FALSE(parsed.has_value());
    EXPECT_NE(parsed.error().message.find("UTF-8"), std::string::npos) << parsed.error().message;
  }
  EXPECT_TRUE(parse_yaml("!!binary YWJj").has_value());
}

}  // namespace
}  // namespace manta
