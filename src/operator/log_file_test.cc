#include "operator/log_file.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

namespace manta::operator_ {
namespace {

namespace fs = std::filesystem;
using std::chrono::hours;
using std::chrono::milliseconds;

const Time kThen{milliseconds{1'787'145'712'045}};  // 2026-08-19T13:21:52.045Z

class LogFiles : public testing::Test {
 protected:
  LogFiles() {
    std::string pattern = testing::TempDir() + "logsXXXXXX";
    folder = ::mkdtemp(pattern.data());
  }
  ~LogFiles() override { fs::remove_all(folder); }
  std::set<std::string> names() const {
    std::set<std::string> out;
    for (const auto& entry : fs::directory_iterator(folder)) out.insert(entry.path().filename());
    return out;
  }
  std::string content(const std::string& name) const {
    std::ifstream file(folder / name);
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
  }
  LogFile::Options options(std::uintmax_t bytes) const {
    return {.path = folder / "op.log", .max_bytes = bytes, .backups = 2};
  }
  fs::path folder;
};
using Names = std::set<std::string>;

TEST_F(LogFiles, AreSetAsideWhenFull) {
  LogFile file(options(10));
  ASSERT_TRUE(file.open());
  file.write(kThen, "12345\n");
  file.write(kThen, "678\n");
  EXPECT_EQ(names(), (Names{"op.log"}));
  file.write(kThen, "next\n");
  EXPECT_EQ(names(), (Names{"op-2026-08-19T13-21-52.045.log", "op.log"}));
  EXPECT_EQ(content("op-2026-08-19T13-21-52.045.log"), "12345\n678\n");
  EXPECT_EQ(content("op.log"), "next\n");
}

TEST_F(LogFiles, TheOldestFallOff) {
  LogFile file(options(1));
  ASSERT_TRUE(file.open());
  std::ofstream(folder / "op-notes.log") << "somebody else's";
  for (int i = 0; i < 5; ++i) file.write(kThen + hours{i}, std::to_string(i) + "\n");
  EXPECT_EQ(names(), (Names{"op-2026-08-19T16-21-52.045.log", "op-2026-08-19T17-21-52.045.log",
                            "op-notes.log", "op.log"}));
  file.write(kThen + hours{24 * 40}, "later\n");  // whatever is older than a month goes, too
  EXPECT_EQ(names(), (Names{"op-2026-09-28T13-21-52.045.log", "op-notes.log", "op.log"}));
}

TEST_F(LogFiles, GoOnWhereTheyWere) {
  std::ofstream(folder / "op.log") << "before\n";
  LogFile file(options(1000));
  ASSERT_TRUE(file.open());
  file.write(kThen, "after\n");
  EXPECT_EQ(content("op.log"), "before\nafter\n");
}

TEST_F(LogFiles, MakeTheirFolder) {
  LogFile file({.path = folder / "a/b/op.log"});
  ASSERT_TRUE(file.open());
  EXPECT_TRUE(fs::exists(folder / "a/b/op.log"));
}

TEST_F(LogFiles, SayWhyTheyCannotBe) {
  LogFile file({.path = folder});
  const auto opened = file.open();
  ASSERT_FALSE(opened);
  EXPECT_NE(opened.error().message.find("Is a directory"), std::string::npos);
  std::ofstream(folder / "file") << "x";
  const auto below = LogFile({.path = folder / "file/sub/op.log"}).open();
  ASSERT_FALSE(below);
  EXPECT_NE(below.error().message.find("cannot make folder"), std::string::npos);
  EXPECT_NE(below.error().message.find("Not a directory"), std::string::npos);
}

}  // namespace
}  // namespace manta::operator_
