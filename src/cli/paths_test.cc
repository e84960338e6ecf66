#include "cli/paths.h"

#include "cli/instance.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <map>

namespace manta::cli {
namespace {
namespace fs = std::filesystem;

using Variables = std::map<std::string, std::string, std::less<>>;

Environment of(Variables variables) {
  return [variables](std::string_view name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional(found->second);
  };
}

struct Case {
  const char* name;
  const char* flag;
  Variables environment;
  const char* home;
  const char* images;
};
const Case kCases[] = {
    {"Flag", "/f", {{"MANTA_HOME", "/m"}, {"HOME", "/h"}}, "/f", "/f/images"},
    {"OwnVariable", "", {{"MANTA_HOME", "/m"}, {"XDG_DATA_HOME", "/x"}}, "/m", "/m/images"},
    {"Xdg", "", {{"XDG_DATA_HOME", "/x"}, {"HOME", "/h"}}, "/x/manta", "/x/manta/images"},
    {"Home", "", {{"HOME", "/h"}}, "/h/.local/share/manta", "/h/.local/share/manta/images"},
    {"SharedImages", "", {{"MANTA_HOME", "/m"}, {"MANTA_IMAGES", "/i"}}, "/m", "/i"},
};
class FindPaths : public testing::TestWithParam<Case> {};
TEST_P(FindPaths, Row) {
  const auto paths = find_paths(GetParam().flag, of(GetParam().environment));
  ASSERT_TRUE(paths);
  EXPECT_EQ(paths->home, GetParam().home);
  EXPECT_EQ(paths->images, GetParam().images);
}
INSTANTIATE_TEST_SUITE_P(, FindPaths, testing::ValuesIn(kCases),
                         [](const auto& row) { return row.param.name; });

TEST(FindPathsCommand, NamesTheDirectoryUnlessItIsFoundByItself) {
  const auto command = [](const char* flag, Variables variables) {
    return find_paths(flag, of(std::move(variables)))->command;
  };
  EXPECT_EQ(command("", {{"HOME", "/h"}}), "manta");
  EXPECT_EQ(command("", {{"MANTA_HOME", "/m"}}), "manta");
  EXPECT_EQ(command("/n", {{"MANTA_HOME", "/m"}}), "manta --data-dir /n");
  EXPECT_EQ(command("/m", {{"MANTA_HOME", "/m"}}), "manta");
  EXPECT_EQ(command("/my data", {{"HOME", "/h"}}), "manta --data-dir '/my data'");
  EXPECT_EQ(command("/d", {}), "manta --data-dir /d");
}

TEST(FindPathsNowhere, IsAnError) { EXPECT_FALSE(find_paths("", of({}))); }

class Instance : public testing::Test {
 protected:
  void SetUp() override {
    char folder[] = "/tmp/manta-instance-XXXXXX";
    ASSERT_NE(::mkdtemp(folder), nullptr);
    paths_.home = folder;
  }
  void TearDown() override { fs::remove_all(paths_.home); }
  Paths paths_;
};

TEST_F(Instance, StateOfADeadDaemonCountsForNothing) {
  ASSERT_TRUE(write_state(paths_, {.pid = 1, .port = 7, .server = "s"}));
  EXPECT_FALSE(running_daemon(paths_));
  ASSERT_TRUE(take_lock(paths_));
  const auto running = running_daemon(paths_);
  ASSERT_TRUE(running);
  EXPECT_EQ(running->port, 7);
}

TEST_F(Instance, SecondDaemonIsRefused) {
  ASSERT_TRUE(take_lock(paths_));
  const auto second = take_lock(paths_);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, ErrorCode::AlreadyExists);
}

TEST_F(Instance, HomeThatIsAFileIsRefusedWithAdvice) {
  paths_.home /= "file";
  ASSERT_TRUE(write_state({.home = paths_.home.parent_path()}, {.pid = 1}));
  fs::rename(paths_.home.parent_path() / "daemon.json", paths_.home);
  const auto made = make_home(paths_);
  ASSERT_FALSE(made);
  EXPECT_NE(made.error().message.find("--data-dir"), std::string::npos);
  paths_.home = paths_.home.parent_path();
}

}  // namespace
}  // namespace manta::cli
