#include "ray/builders/serve_drain.h"

#include "ray/builders/edit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace manta::ray {
namespace {

using ::testing::HasSubstr;

struct Case {
  const char* name;
  const char* pod_spec;
  const char* deadline;  // that Ray is given, in seconds; null: the user's hook stays as it is
  std::int64_t grace;    // 0: none is given
};
const Case kCases[] = {
    {"NothingGiven", R"({"containers":[{"name":"w"}]})", "105", 120},
    {"AGraceOfTheUsers", R"({"terminationGracePeriodSeconds":600,"containers":[{}]})", "585", 600},
    {"AGraceShorterThanTheMargin", R"({"terminationGracePeriodSeconds":5,"containers":[{}]})", "1",
     5},
    {"NoGraceAtAll", R"({"terminationGracePeriodSeconds":0,"containers":[{}]})", "1", 0},
    {"AGraceOfNull", R"({"terminationGracePeriodSeconds":null,"containers":[{}]})", "105", 120},
    {"AHookOfTheUsers", R"({"containers":[{"lifecycle":{"preStop":{"sleep":{"seconds":9}}}}]})",
     nullptr, 0},
    {"AHookOfTheUsersAtTheStart",
     R"({"containers":[{"lifecycle":{"postStart":{"exec":{"command":["a"]}}}}]})", nullptr, 0},
    {"ALifecycleOfNull", R"({"containers":[{"lifecycle":null}]})", "105", 120},
    {"ASidecarsHookIsNotRays",
     R"({"containers":[{},{"lifecycle":{"preStop":{"sleep":{"seconds":9}}}}]})", "105", 120},
};

class ServeDrain : public ::testing::TestWithParam<Case> {};
TEST_P(ServeDrain, Row) {
  const auto& row = GetParam();
  const auto before = parse_json(row.pod_spec).value();
  auto after = before;
  add_serve_drain(after.as_object());
  if (!row.deadline) {
    EXPECT_EQ(dump_json(after), dump_json(before));
    return;
  }
  EXPECT_EQ(int_at(after, {"terminationGracePeriodSeconds"}), row.grace);
  const auto& containers = array_at(after, {"containers"});
  const auto& command = array_at(containers[0], {"lifecycle", "preStop", "exec", "command"});
  ASSERT_EQ(command.size(), 3u);
  EXPECT_EQ(command[0], "bash");
  EXPECT_EQ(command[1], "-c");
  EXPECT_THAT(std::string(command[2].as_string()),
              HasSubstr("--deadline-remaining-seconds " + std::string(row.deadline) + " "));
  for (std::size_t i = 1; i < containers.size(); ++i)
    EXPECT_EQ(dump_json(containers[i]), dump_json(array_at(before, {"containers"})[i]));
}
INSTANTIATE_TEST_SUITE_P(, ServeDrain, ::testing::ValuesIn(kCases),
                         [](auto& c) { return c.param.name; });

}  // namespace
}  // namespace manta::ray
