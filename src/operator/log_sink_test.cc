#include "operator/log_sink.h"

#include <gtest/gtest.h>

namespace manta::operator_ {
namespace {

const Time kThen{std::chrono::milliseconds{1'787'145'712'045}};

TEST(LogLine, IsZapsJson) {
  EXPECT_EQ(
      format_log_line(LogFormat::Json, log::Level::Error, kThen, "cannot start",
                      {{"logger", "setup"}, {"error", "no \"x\""}, {"n", 3}}),
      R"({"level":"error","ts":"2026-08-19T13:21:52.045Z","logger":"setup","msg":"cannot start","error":"no \"x\"","n":3})");
}

TEST(LogLine, IsZapsConsole) {
  EXPECT_EQ(format_log_line(LogFormat::Console, log::Level::Info, kThen, "started", {{"n", 3}}),
            "2026-08-19T13:21:52.045Z\tinfo\tstarted\t{\"n\":3}");
}

}  // namespace
}  // namespace manta::operator_
