#include "base/quantity.h"

#include "base/random.h"

#include <gtest/gtest.h>

namespace manta {
namespace {

std::string canonical(std::string_view text) {
  const auto quantity = Quantity::parse(text);
  return quantity ? quantity->to_string() : "error";
}

TEST(Quantity, CanonicalForm) {
  const std::pair<const char*, const char*> rows[] = {{"0", "0"},
                                                      {"0Gi", "0"},
                                                      {"1000m", "1"},
                                                      {"1024Mi", "1Gi"},
                                                      {"0.5", "500m"},
                                                      {"1.5Gi", "1536Mi"},
                                                      {"1.5Ki", "1536"},
                                                      {"0.5Ki", "512"},
                                                      {"1000", "1k"},
                                                      {"1500", "1500"},
                                                      {"1e3", "1e3"},
                                                      {"1E3", "1e3"},
                                                      {"1e-3", "1e-3"},
                                                      {"10e2", "1e3"},
                                                      {"100m", "100m"},
                                                      {"0.1", "100m"},
                                                      {"1.", "1"},
                                                      {".5", "500m"},
                                                      {"+2", "2"},
                                                      {"-2", "-2"},
                                                      {"-1.5", "-1500m"},
                                                      {"1Ei", "1Ei"},
                                                      {"1E", "1E"},
                                                      {"1000P", "1E"},
                                                      {"1000E", "1000E"},
                                                      {"0.1n", "1n"},
                                                      {"1.1n", "2n"},
                                                      {"-0.1n", "-1n"},
                                                      {"1n", "1n"},
                                                      {"1000n", "1u"},
                                                      {"1M", "1M"},
                                                      {"1Mi", "1Mi"},
                                                      {"1023Ki", "1023Ki"},
                                                      {"9999Ei", "9223372036854775807"},
                                                      {"0.0001Ki", "102400u"},
                                                      {"00012", "12"},
                                                      {"12e", "error"},
                                                      {"12e1.5", "error"},
                                                      {"Gi", "error"},
                                                      {"", "error"},
                                                      {"1 Gi", "error"},
                                                      {"1gi", "error"},
                                                      {"1K", "error"},
                                                      {"--1", "error"},
                                                      {"1mi", "error"},
                                                      {"1e+2", "100"},
                                                      {"0x10", "error"}};
  for (const auto& [in, out] : rows) EXPECT_EQ(canonical(in), out) << in;
}

TEST(Quantity, ValuesRoundUp) {
  EXPECT_EQ(Quantity::parse("500m")->value(), 1);
  EXPECT_EQ(Quantity::parse("1001m")->value(), 2);
  EXPECT_EQ(Quantity::parse("-500m")->value(), -1);
  EXPECT_EQ(Quantity::parse("1u")->milli_value(), 1);
  EXPECT_EQ(Quantity::parse("2Gi")->value(), 2ll << 30);
  EXPECT_EQ(Quantity::parse("1e30")->value(), std::numeric_limits<std::int64_t>::max());
  EXPECT_DOUBLE_EQ(Quantity::parse("1500m")->as_double(), 1.5);
}

TEST(Quantity, ArithmeticKeepsTheLeftFormat) {
  Quantity sum;
  sum += *Quantity::parse("512Mi");
  sum += *Quantity::parse("512Mi");
  EXPECT_EQ(sum.to_string(), "1Gi");
  sum -= *Quantity::parse("1G");
  EXPECT_EQ(sum.format(), Quantity::Format::BinarySI);
  EXPECT_EQ(sum.value(), (1 << 30) - 1'000'000'000);
  EXPECT_EQ((*Quantity::parse("250m") * 4).to_string(), "1");
  EXPECT_LT(*Quantity::parse("999m"), *Quantity::parse("1"));
  EXPECT_EQ(*Quantity::parse("1024Ki"), *Quantity::parse("1Mi"));
}

TEST(Quantity, CanonicalTextIsAFixedPoint) {
  SeededRandom random(11);
  const char* suffixes[] = {"", "n", "u", "m", "k", "M", "G", "Ki", "Mi", "Gi", "e3", "e-3"};
  for (int i = 0; i < 20'000; ++i) {
    const auto text = std::to_string(random.next() % 1'000'000) + "." +
                      std::to_string(random.next() % 10'000) + suffixes[random.next() % 12];
    const auto first = Quantity::parse(text);
    ASSERT_TRUE(first) << text;
    const auto second = Quantity::parse(first->to_string());
    ASSERT_TRUE(second) << text;
    EXPECT_EQ(*second, *first) << text;
    EXPECT_EQ(second->to_string(), first->to_string()) << text;
  }
}

}  // namespace
}  // namespace manta
