#include "base/excerpt.h"

#include "base/utf8.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace manta {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST(Excerpt, WhatFitsStaysAsItIs) {
  EXPECT_EQ(excerpt("", 128), "");
  EXPECT_EQ(excerpt(std::string(128, 'x'), 128), std::string(128, 'x'));
}

TEST(Excerpt, OfATracebackTheFirstLineAndTheErrorStay) {
  std::string text = "Job failed with exit code 1, last logs:\nTraceback\n";
  for (int i = 0; i < 1000; ++i) text += "  File \"job.py\", line 1\n";
  text += "ValueError: no such model";
  const auto cut = excerpt(text, 1024);
  EXPECT_LE(cut.size(), 1024u);
  EXPECT_THAT(cut, StartsWith("Job failed with exit code 1, last logs: … ("));
  EXPECT_THAT(cut, HasSubstr(" bytes left out) …   File \"job.py\", line 1\n"));
  EXPECT_THAT(cut, EndsWith("\nValueError: no such model"));
}

TEST(Excerpt, IsNeverLongerThanAllowedAndNoCharacterIsHalved) {
  for (const std::string_view piece : {"x", "ä", "…", "😀", "a\n", "\n"}) {
    std::string text;
    while (text.size() < 5000) text += piece;
    for (std::size_t most = 128; most < 400; ++most) {
      const auto cut = excerpt(text, most);
      ASSERT_LE(cut.size(), most) << piece;
      ASSERT_TRUE(is_utf8(cut)) << piece << most;
      ASSERT_GT(cut.size(), most / 3) << piece << most;
    }
  }
}

TEST(Excerpt, TellsHowMuchIsMissing) {
  const auto cut = excerpt(std::string(1000, 'x'), 200);
  const auto kept = static_cast<std::size_t>(std::ranges::count(cut, 'x'));
  EXPECT_THAT(cut, HasSubstr("(" + std::to_string(1000 - kept) + " bytes left out)"));
}

}  // namespace
}  // namespace manta
