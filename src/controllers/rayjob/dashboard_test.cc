#include "controllers/rayjob/dashboard.h"

#include <gtest/gtest.h>

namespace manta::controllers::rayjob {
namespace {

TEST(ParseJobInfo, TimesThatNoCalendarHasReadAsAbsent) {
  const auto info = parse_job_info(
      Json{{"status", "RUNNING"}, {"start_time", INT64_MAX}, {"end_time", 253'402'300'800'000}});
  ASSERT_TRUE(info.has_value());
  EXPECT_FALSE(info->start.has_value());
  EXPECT_FALSE(info->end.has_value());
  const auto last = parse_job_info(Json{{"start_time", 253'402'300'799'000}, {"end_time", -1}});
  ASSERT_TRUE(last->start.has_value());
  EXPECT_EQ(format_rfc3339(*last->start), "9999-12-31T23:59:59Z");
  EXPECT_FALSE(last->end.has_value());
}

}  // namespace
}  // namespace manta::controllers::rayjob
