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
