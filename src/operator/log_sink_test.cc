#include "operator/log_sink.h"

#include "operator/log_sampler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace manta::operator_ {
namespace {

using std::chrono::seconds;

const Time kThen{std::chrono::milliseconds{1'787'145'712'045}};

TEST(LogLine, IsZapsJson) {
  EXPECT_EQ(
      format_log_line(LogFormat::Json, log::Level::Error, kThen, "cannot start",
                      {{"logger", "setup"}, {"error", "no \"x\""}, {"n", 3}}),
      R"({"level":"error","ts":"2026-08-19T13:21:52.045Z","logger":"setup","msg":"cannot start","n":3,"error":"no \"x\""})");
}

TEST(LogLine, IsZapsConsole) {
  EXPECT_EQ(format_log_line(LogFormat::Console, log::Level::Info, kThen, "started", {{"n", 3}}),
            "2026-08-19T13:21:52.045Z\tinfo\tstarted\t{\"n\":3}");
}

TEST(LogLine, LeavesOutWhatSaysNothing) {
  EXPECT_EQ(format_log_line(LogFormat::Console, log::Level::Info, kThen, "wrote",
                            {{"subresource", ""}, {"error", ""}, {"n", 0}}),
            "2026-08-19T13:21:52.045Z\tinfo\twrote\t{\"n\":0}");
}

TEST(LogSink, PF_06_EveryTransitionIsShownHoweverManyThereAre) {
  const auto shown = [](std::string_view why) {
    testing::internal::CaptureStderr();
    const auto sink = make_log_sink({.sampled = true}, [] { return kThen; }).value();
    for (int i = 0; i < 1000; ++i) sink->write(log::Level::Error, "wrote", {{"why", why}});
    const auto text = testing::internal::GetCapturedStderr();
    return std::ranges::count(text, '\n');
  };
  EXPECT_EQ(shown("state: (none) -> ready"), 1000);
  EXPECT_EQ(shown(""), 109);
}

TEST(LogSampler, ShowsTheFirstHundredThenEveryHundredth) {
  LogSampler sampler;
  int shown = 0;
  for (int i = 0; i < 1000; ++i) shown += sampler.admit(log::Level::Info, "wrote", kThen);
  EXPECT_EQ(shown, 109);
  EXPECT_TRUE(sampler.admit(log::Level::Error, "wrote", kThen));
  EXPECT_TRUE(sampler.admit(log::Level::Info, "else", kThen));
  EXPECT_TRUE(sampler.admit(log::Level::Info, "wrote", kThen + seconds{1}));
}

// What a sink with these options puts on stderr and in its file.
std::pair<std::string, std::string> lines(LogOptions options, int repeat = 1) {
  std::string pattern = testing::TempDir() + "sinkXXXXXX";
  const std::filesystem::path folder = ::mkdtemp(pattern.data());
  options.file.path = folder / "log";
  testing::internal::CaptureStderr();
  {
    const auto sink = make_log_sink(options, [] { return kThen; }).value();
    for (int i = 0; i < repeat; ++i)
      for (const auto level : {log::Level::Debug, log::Level::Info, log::Level::Error})
        sink->write(level, "m", {});
  }
  const auto shown = testing::internal::GetCapturedStderr();
  std::ifstream file(folder / "log");
  std::ostringstream text;
  text << file.rdbuf();
  std::filesystem::remove_all(folder);
  const auto short_form = [](const std::string& all) {
    std::string out;
    for (std::size_t at = all.find("\"level\":\""); at != std::string::npos;
         at = all.find("\"level\":\"", at + 1))
      out += all[at + 9];
    return out;
  };
  return {short_form(shown), short_form(text.str())};
}

TEST(LogSink, HasALevelForTheConsoleAlone) {
  using Pair = std::pair<std::string, std::string>;
  EXPECT_EQ(lines({}), (Pair{"ie", "ie"}));
  EXPECT_EQ(lines({.console_level = log::Level::Debug}), (Pair{"die", "ie"}));
  EXPECT_EQ(lines({.console_level = log::Level::Error}), (Pair{"e", "ie"}));
  EXPECT_EQ(lines({.console_level = std::nullopt}), (Pair{"", "ie"}));
}

TEST(LogSink, SamplesTheConsoleAlone) {
  const auto [console, file] = lines({.sampled = true}, 150);
  EXPECT_EQ(console.size(), 200u);
  EXPECT_EQ(file.size(), 300u);
}

}  // namespace
}  // namespace manta::operator_
