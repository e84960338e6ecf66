#include "cli/command_words.h"

#include <gtest/gtest.h>

namespace manta::cli {
namespace {

using std::chrono::seconds;

TEST(CommandWords, TimeoutIsADurationOrSeconds) {
  EXPECT_EQ(parse_timeout("600").value(), seconds{600});
  EXPECT_EQ(parse_timeout("0.5").value(), seconds{1});
  EXPECT_EQ(parse_timeout("90s").value(), seconds{90});
  EXPECT_EQ(parse_timeout("10m").value(), seconds{600});
  EXPECT_EQ(parse_timeout("1h30m").value(), seconds{5400});
}

TEST(CommandWords, NoTimeoutSaysWhatIsAllowed) {
  for (const auto* text : {"", "0", "-5", "-5s", "ten", "10 m", "10d", "1.2.3", "nan", "1e9", "0s",
                           "99999999999", "300000h"}) {
    const auto got = parse_timeout(text);
    ASSERT_FALSE(got) << text;
    EXPECT_TRUE(got.error().message.contains("90s, 10m, 1h30m")) << got.error().message;
  }
}

TEST(CommandWords, UnknownCommandNamesTheNearestAndAllThereAre) {
  EXPECT_EQ(
      unknown_command("manta", "stauts", {"up", "status"}),
      "manta has no command \"stauts\", is \"status\" meant?; there are up, status (see manta "
      "--help)");
  EXPECT_EQ(unknown_command("manta image", "frobnicate", {"ls", "rm"}),
            "manta image has no command \"frobnicate\"; there are ls, rm (see manta image --help)");
}

}  // namespace
}  // namespace manta::cli
