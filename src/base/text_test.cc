#include "base/text.h"

#include <gtest/gtest.h>

namespace manta {
namespace {

TEST(Split, KeepsEmptyParts) {
  using Parts = std::vector<std::string>;
  EXPECT_EQ(split("a,b", ','), (Parts{"a", "b"}));
  EXPECT_EQ(split(",a,,", ','), (Parts{"", "a", "", ""}));
  EXPECT_EQ(split("", ','), (Parts{""}));
}

TEST(LowerCase, IsOfAsciiLettersOnly) {
  EXPECT_EQ(lower_case("X-Ray ID_9"), "x-ray id_9");
  EXPECT_EQ(lower_case("[@`{\xC3\x84"), "[@`{\xC3\x84");
}

TEST(Trim, TakesBlanksFromTheEndsOnly) {
  EXPECT_EQ(trim(" \ta b\t "), "a b");
  EXPECT_EQ(trim("a\n"), "a\n");
  EXPECT_EQ(trim("\t a ", " "), "\t a");
  EXPECT_EQ(trim(" \t "), "");
  EXPECT_EQ(trim(""), "");
}

}  // namespace
}  // namespace manta
