#include "controllers/rayjob/dashboard.h"

#include "controllers/rayjob/testing.h"

namespace manta::controllers::rayjob {
namespace {

// The body that Ray gets; an error's message when there is none.
std::string body_of(const testing::World& world) {
  testing::Desk desk(world);
  const auto write = submit_write(desk.draft);
  return write ? dump_json(*find(write->body, {"job"})) : write.error().message;
}

TEST(SubmitBody, HasOnlyWhatWasAskedFor) {
  testing::World world("HTTPMode");
  world.job.status.jobId = "id";
  EXPECT_EQ(body_of(world), R"({"entrypoint":"python a.py","submission_id":"id"})");
  world.job.spec.entrypoint = "  a && b\n";  // not trimmed
  world.job.spec.runtimeEnvYAML = "{}";
  world.job.spec.entrypointResources = "{}";
  world.job.status.jobId.clear();
  EXPECT_EQ(body_of(world), R"({"entrypoint":"  a && b\n"})");
}

TEST(SubmitBody, HasNumbersAsUpstreamWritesThem) {
  testing::World world("HTTPMode");
  world.job.spec.entrypointNumCpus = 1.1F;
  world.job.spec.entrypointNumGpus = 2;
  world.job.spec.entrypointResources = R"({"a": 0.1, "b": 2.0, "c": 1e3, "d": 7})";
  EXPECT_EQ(body_of(world),
            R"({"entrypoint_resources":{"a":0.1,"b":2,"c":1000,"d":7},"entrypoint":"python a.py",)"
            R"("entrypoint_num_cpus":1.1,"entrypoint_num_gpus":2})");
}

TEST(SubmitBody, WithResourcesThatAreNoNumbersIsNone) {
  testing::World world("HTTPMode");
  for (const auto* resources : {R"({"a": "1"})", R"({"a": 1e39})", "[]", "{a: 1}"}) {
    world.job.spec.entrypointResources = resources;
    EXPECT_NE(body_of(world).find("spec.entrypointResources"), std::string::npos) << resources;
  }
}

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

TEST(ParseJobInfo, AStatusThatIsNoStringIsNoAnswer) {
  EXPECT_FALSE(parse_job_info(Json{{"status", 5}}));
  EXPECT_FALSE(parse_job_info(Json{{"status", nullptr}}));
  EXPECT_TRUE(parse_job_info(Json{{"message", "as old Rays do"}}));
  EXPECT_LE(parse_job_info(Json{{"status", std::string(9000, 'X')}})->status.size(), 128u);
}

}  // namespace
}  // namespace manta::controllers::rayjob
