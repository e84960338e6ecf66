#include "ray/name_rules.h"

#include "ray/ray_version.h"

#include <gtest/gtest.h>

namespace manta::ray {
namespace {

struct Case {
  const char* name;
  std::vector<std::string> (*rule)(std::string_view);
  std::string text;
  std::vector<std::string> beginnings;  // one for each fault, in order
};
const std::string kLong = "must be no more than 63 bytes";
const Case kCases[] = {
    {"Dns1035", dns1035_label_faults, "a-1", {}},
    {"Dns1035Digit", dns1035_label_faults, "1a", {"a DNS-1035 label must"}},
    {"Dns1035Empty", dns1035_label_faults, "", {"a DNS-1035 label must"}},
    {"Dns1035Dash", dns1035_label_faults, "a-", {"a DNS-1035 label must"}},
    {"Dns1035LongAndBad",
     dns1035_label_faults,
     std::string(64, 'A'),
     {kLong, "a DNS-1035 label must"}},
    {"Dns1123", dns1123_label_faults, "1a", {}},
    {"Dns1123Dots", dns1123_label_faults, "a.b", {"must not contain dots"}},
    {"Dns1123Upper", dns1123_label_faults, "A.b", {"a lowercase RFC 1123 label must"}},
    {"Subdomain", dns1123_subdomain_faults, "a.b-c.d", {}},
    {"SubdomainEmptyPart", dns1123_subdomain_faults, "a..b", {"a lowercase RFC 1123 subdomain"}},
    {"Key", label_key_faults, "example.com/My_Name.1", {}},
    {"KeyTwoSlashes", label_key_faults, "a/b/c", {"a valid label key must consist of"}},
    {"KeyEmptyPrefix", label_key_faults, "/b", {"prefix part must be non-empty"}},
    {"KeyBadPrefix", label_key_faults, "A/b", {"prefix part a lowercase RFC 1123 subdomain"}},
    {"KeyEmptyName",
     label_key_faults,
     "a/",
     {"name part must be non-empty", "name part must consist of"}},
    {"KeyLong", label_key_faults, std::string(64, 'a'), {"name part " + kLong}},
    {"Value", label_value_faults, "", {}},
    {"ValueBad", label_value_faults, "-a", {"a valid label must be an empty string or"}},
    {"ValueLong", label_value_faults, std::string(64, 'a'), {kLong}},
};
class NameRules : public testing::TestWithParam<Case> {};
TEST_P(NameRules, Row) {
  const auto faults = GetParam().rule(GetParam().text);
  ASSERT_EQ(faults.size(), GetParam().beginnings.size()) << go_list(faults);
  for (std::size_t i = 0; i < faults.size(); ++i)
    EXPECT_TRUE(faults[i].starts_with(GetParam().beginnings[i])) << faults[i];
}
INSTANTIATE_TEST_SUITE_P(, NameRules, testing::ValuesIn(kCases),
                         [](auto& info) { return info.param.name; });

TEST(GoQuote, EscapesAsGoDoes) {
  EXPECT_EQ(go_quote("a\"\\\n\t\x01\x7f$'"), R"("a\"\\\n\t\x01\x7f$'")");
  EXPECT_EQ(go_quote("é世\xff"), "\"é世\\xff\"");
  EXPECT_EQ(go_quote("\xc2\x85\xe2\x80\xa8"), R"("\u0085\u2028")");
  EXPECT_EQ(go_quote("\xed\xa0\x80"), R"("\xed\xa0\x80")");  // a surrogate is no UTF-8
}

struct Version {
  const char* name;
  std::string text;
  std::string fault;
};
const Version kVersions[] = {
    {"Three", "2.52.0", ""},
    {"SpaceAndV", " \tv2.52", ""},
    {"Suffix", "2.52.0rc1", ""},
    {"TrailingDot", "2.52.", ""},
    {"Word", "nightly", "could not parse \"nightly\" as version"},
    {"Empty", "", "could not parse \"\" as version"},
    {"LineBreak", "2.52\nx", "could not parse \"2.52\\nx\" as version"},
    {"One", "2", "illegal version string \"2\""},
    {"ZeroPrefix", "02.1", "illegal zero-prefixed version component \"02\" in \"02.1\""},
    {"Zero", "0.1", ""},
    {"LaterZeroPrefix", "2.052", ""},
    {"Overflow", "2.99999999999999999999",
     "illegal non-numeric version component \"99999999999999999999\" in "
     "\"2.99999999999999999999\": strconv.ParseUint: parsing \"99999999999999999999\": value out "
     "of range"},
};
class RayVersionText : public testing::TestWithParam<Version> {};
TEST_P(RayVersionText, Row) {
  const auto parsed = parse_ray_version(GetParam().text);
  EXPECT_EQ(parsed ? "" : parsed.error().message, GetParam().fault);
}
INSTANTIATE_TEST_SUITE_P(, RayVersionText, testing::ValuesIn(kVersions),
                         [](auto& info) { return info.param.name; });

TEST(RayVersion, ComparesNumbers) {
  EXPECT_EQ(*parse_ray_version("2.52"), *parse_ray_version("v2.52.0.dev0"));
  EXPECT_LT(*parse_ray_version("2.9.3"), *parse_ray_version("2.10"));
  EXPECT_LT(*parse_ray_version("2.52"), *parse_ray_version("2.52.0.1"));
}

}  // namespace
}  // namespace manta::ray
