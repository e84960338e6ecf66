#include "operator/flags.h"

#include <gtest/gtest.h>

namespace manta::operator_ {
namespace {

struct Values {
  std::string address = ":8080";
  bool elect = true;
  int workers = 1;
  double qps = 100;
};

// What parse() made of the arguments, as one line.
std::string outcome(const std::vector<std::string>& arguments) {
  Values values;
  FlagSet flags("manager");
  flags.add("addr", &values.address, "where to listen");
  flags.add("elect", &values.elect, "elect a leader");
  flags.add("workers", &values.workers, "how many");
  flags.add("qps", &values.qps, "how fast");
  const auto end = flags.parse(arguments);
  if (!end) return end.error().message;
  if (*end == FlagSet::End::HelpWanted) return "help";
  return values.address + (values.elect ? " elect " : " alone ") + std::to_string(values.workers) +
         " " + std::to_string(static_cast<int>(values.qps * 10));
}

struct Case {
  const char* name;
  std::vector<std::string> arguments;
  const char* want;
};
const Case kCases[] = {
    {"Defaults", {}, ":8080 elect 1 1000"},
    {"OneDash", {"-addr=:1"}, ":1 elect 1 1000"},
    {"TwoDashes", {"--addr=:1"}, ":1 elect 1 1000"},
    {"ValueAsNextArgument", {"--addr", ":1", "--workers", "3"}, ":1 elect 3 1000"},
    {"EmptyValue", {"--addr="}, " elect 1 1000"},
    {"ValueWithEquals", {"--addr=a=b"}, "a=b elect 1 1000"},
    {"BoolWithEquals", {"--elect=F"}, ":8080 alone 1 1000"},
    {"BoolTakesNoNextArgument", {"--elect", "false", "--workers=9"}, ":8080 elect 1 1000"},
    {"LastWins", {"--workers=2", "--workers=5"}, ":8080 elect 5 1000"},
    {"Hexadecimal", {"--workers=0x10"}, ":8080 elect 16 1000"},
    {"Octal", {"--workers=010"}, ":8080 elect 8 1000"},
    {"Negative", {"--workers=-4"}, ":8080 elect -4 1000"},
    {"SignedFraction", {"--qps=+2.5"}, ":8080 elect 1 25"},
    {"Fraction", {"--qps=1.5"}, ":8080 elect 1 15"},
    {"DashesEndFlags", {"--", "--workers=2"}, ":8080 elect 1 1000"},
    {"WordEndsFlags", {"serve", "--workers=2"}, ":8080 elect 1 1000"},
    {"EmptyArgumentEndsFlags", {"", "--workers=2"}, ":8080 elect 1 1000"},
    {"OneDashAloneEndsFlags", {"-", "--workers=2"}, ":8080 elect 1 1000"},
    {"Help", {"--help"}, "help"},
    {"ShortHelp", {"-h"}, "help"},
    {"Unknown", {"--nope"}, "flag provided but not defined: -nope"},
    {"ThreeDashes", {"---addr"}, "bad flag syntax: ---addr"},
    {"NoName", {"--=x"}, "bad flag syntax: --=x"},
    {"NoValue", {"--addr"}, "flag needs an argument: -addr"},
    {"BadInt", {"--workers=x"}, "invalid value \"x\" for flag -workers: parse error"},
    {"TwoSigns", {"--workers=--5"}, "invalid value \"--5\" for flag -workers: parse error"},
    {"TwoSignsAndBase",
     {"--workers=0x-5"},
     "invalid value \"0x-5\" for flag -workers: parse error"},
    {"TwoSignedFraction", {"--qps=+-2"}, "invalid value \"+-2\" for flag -qps: parse error"},
    {"HugeInt",
     {"--workers=99999999999"},
     "invalid value \"99999999999\" for flag -workers: value out of range"},
    {"BadBool", {"--elect=yes"}, "invalid boolean value \"yes\" for -elect: parse error"},
};

class Flags : public testing::TestWithParam<Case> {};
TEST_P(Flags, Row) { EXPECT_EQ(outcome(GetParam().arguments), GetParam().want); }
INSTANTIATE_TEST_SUITE_P(, Flags, testing::ValuesIn(kCases), [](auto& c) { return c.param.name; });

TEST(FlagsUsage, NamesTypesAndDefaults) {
  Values values;
  FlagSet flags("manager");
  flags.add("qps", &values.qps, "how fast");
  flags.add("addr", &values.address, "where to listen");
  EXPECT_EQ(flags.usage(),
            "Usage of manager:\n"
            "  -addr string\n    \twhere to listen (default \":8080\")\n"
            "  -qps float\n    \thow fast (default 100)\n");
}

}  // namespace
}  // namespace manta::operator_
