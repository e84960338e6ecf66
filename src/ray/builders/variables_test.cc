#include "ray/builders/variables.h"

#include <gtest/gtest.h>

namespace manta::ray {
namespace {

struct Row {
  const char* text;
  const char* want;  // the names that the other container has then, or "no"
};

class CopyVariables : public testing::TestWithParam<Row> {};

TEST_P(CopyVariables, Row) {
  const auto parsed = parse_json(R"json({"env": [{"name": "A", "value": "1"},
      {"name": "B", "value": "$(A)/$(B)"}, {"name": "C", "value": "$(OF_THE_IMAGE)"},
      {"name": "D", "value": "theirs"}]})json");
  const JsonObject from = parsed.value().as_object();
  JsonObject to;
  to["env"] = JsonArray{{{"name", "D"}, {"value", "ours"}}};
  std::string names;
  if (!copy_variables(from, to, GetParam().text)) names = "no";
  for (const auto& entry : array_at(to, {"env"})) names += std::string(string_at(entry, {"name"}));
  EXPECT_EQ(names, GetParam().want);
}

INSTANTIATE_TEST_SUITE_P(, CopyVariables,
                         testing::Values(Row{"", "D"}, Row{"plain", "D"}, Row{"$(A)", "DA"},
                                         Row{"x/$(B)", "DAB"}, Row{"$(D)", "D"}, Row{"$$(A)", "D"},
                                         Row{"$(A", "D"}, Row{"$A$", "D"}, Row{"$(C)", "noD"},
                                         Row{"$(A)$(NOWHERE)", "noD"}));

}  // namespace
}  // namespace manta::ray
