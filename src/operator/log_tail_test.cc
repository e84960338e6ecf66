#include "operator/log_tail.h"

#include "base/json.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace manta::operator_ {
namespace {

// As Python's json.dumps writes it: nothing but ASCII.
std::string as_ray_writes(std::string_view log_in_json) {
  return fmt::format(R"({{"logs": "{}"}})", log_in_json);
}
std::string times(std::string_view text, int count) {
  std::string out;
  for (; count > 0; --count) out += text;
  return out;
}
std::string end_of(const std::string& answer) {
  TailBuffer tail(kLogAnswerTail);
  tail.append(answer);
  return tail.take();
}

TEST(TailBuffer, KeepsTheLastBytesHoweverTheyCome) {
  std::string all;
  for (int i = 0; i < 1000; ++i) all += fmt::format("{} ", i);
  for (const std::size_t piece : {1, 3, 16, 17, 5000}) {
    TailBuffer tail(16);
    for (std::size_t at = 0; at < all.size(); at += piece)
      tail.append(std::string_view(all).substr(at, piece));
    EXPECT_EQ(tail.take(), all.substr(all.size() - 16)) << piece;
    EXPECT_EQ(tail.take(), "");
  }
}

TEST(LogTail, IsAShortLogItself) {
  EXPECT_EQ(*log_tail(as_ray_writes("")), "");
  EXPECT_EQ(*log_tail(as_ray_writes(R"(a\n\"b\" \u00e9 \ud83d\ude00\n)")),
            "a\n\"b\" \u00e9 \U0001F600\n");
}

TEST(LogTail, IsTheEndOfALongOneThatStillFits) {
  const auto text = *log_tail(as_ray_writes(times(R"(\u00e9)", 40'000)));  // two bytes each
  EXPECT_EQ(text, times("\u00e9", 32 * 1024));
}

// Every place where the answer may have been cut.
TEST(LogTail, RJ_39_ReadsWhateverTheCutLeaves) {
  const std::string unit = R"(\\\"\u00e9\ud83d\ude00ü\n\\\\tail )";
  const std::string decoded = "\\\"\u00e9\U0001F600\u00fc\n\\\\tail ";
  const auto body = times(unit, static_cast<int>(kLogAnswerTail / unit.size()) + 10);
  for (std::size_t pad = 0; pad < unit.size(); ++pad) {
    const auto answer = end_of(as_ray_writes(body + std::string(pad, '.')));
    ASSERT_EQ(answer.size(), kLogAnswerTail);
    const auto text = log_tail(answer);
    ASSERT_TRUE(text) << pad << ": " << text.error().message;
    EXPECT_GT(text->size(), kLogTail - 4) << pad;
    EXPECT_LE(text->size(), kLogTail) << pad;
    EXPECT_TRUE(text->ends_with(decoded + std::string(pad, '.'))) << pad;
  }
}

TEST(LogTail, WhatIsNoCharacterHidesNoLog) {
  for (const std::string_view bad : {"\\udcff", "\\ud83d", "\xff", "\xe2\x82"}) {
    const auto unit = fmt::format("{}-", bad);
    const auto body = times(unit, static_cast<int>(kLogAnswerTail / unit.size()) + 10) + "the end";
    for (std::size_t pad = 0; pad < unit.size(); ++pad) {
      const auto text = log_tail(end_of(as_ray_writes(body + std::string(pad, '.'))));
      ASSERT_TRUE(text) << text.error().message;
      EXPECT_GT(text->size(), kLogTail - 4);
      EXPECT_TRUE(text->ends_with("\ufffd-the end" + std::string(pad, '.')));
    }
  }
}

TEST(LogTail, IsFullEvenWhenEveryCharacterTakesSixBytes) {
  EXPECT_EQ(log_tail(end_of(as_ray_writes(times(R"(\u001b)", 200'000))))->size(), kLogTail);
}

TEST(LogTail, NoAnswerOfRaysIsAnError) {
  for (const auto* answer : {"", "{}", "null", "\"logs\"", R"({"logs": null})", "<html>\"x\"\x01"})
    EXPECT_FALSE(log_tail(answer)) << answer;
}

}  // namespace
}  // namespace manta::operator_
