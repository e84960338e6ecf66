#include "base/shell.h"

#include "base/random.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace manta {
namespace {

// What a shell makes of the script, byte for byte.
std::string run_shell(const char* shell, const std::string& script) {
  char name[] = "/tmp/shell_test.XXXXXX";
  const int fd = mkstemp(name);
  EXPECT_GE(fd, 0);
  std::ofstream(name, std::ios::binary) << script;
  std::string out;
  if (FILE* pipe = popen((std::string(shell) + " " + name).c_str(), "r")) {
    char buffer[4096];
    for (std::size_t n; (n = fread(buffer, 1, sizeof buffer, pipe)) > 0;) out.append(buffer, n);
    pclose(pipe);
  }
  std::filesystem::remove(name);
  close(fd);
  return out;
}

TEST(ShellQuote, PlainWordsStayReadable) {
  EXPECT_EQ(shell_quote("ray"), "ray");
  EXPECT_EQ(shell_quote("--port"), "--port");
  EXPECT_EQ(shell_quote("/a/b.c:8,9@x_%+"), "/a/b.c:8,9@x_%+");
  EXPECT_EQ(shell_quote(""), "''");
  EXPECT_EQ(shell_quote("it's"), "'it'\\''s'");
  EXPECT_EQ(shell_quote("A=b"), "'A=b'");
  EXPECT_EQ(shell_quote("~"), "'~'");
}

TEST(ShellQuote, AnyBytesComeBackFromRealShells) {
  SeededRandom random(3);
  std::vector<std::string> words = {"",      "'",  "''",  "\\",    "\"",   "$HOME", "`id`",
                                    "$(id)", "!!", "*",   "~root", "-n",   "\n",    "\xff\xfe",
                                    "{a,b}", "#x", "a=b", "%s",    "\r\n", "a b\tc"};
  for (int i = 0; i < 300; ++i) {
    std::string word;
    for (auto n = random.next() % 40; n > 0; --n)
      word += static_cast<char>(1 + random.next() % 255);
    words.push_back(word);
  }
  std::string script, want;
  for (const auto& word : words) {
    script += "printf '%s\\001\\001' " + shell_quote(word) + "\n";
    want += word + "\x01\x01";
  }
  EXPECT_EQ(run_shell("bash", script), want);
  EXPECT_EQ(run_shell("sh", script), want);
}

}  // namespace
}  // namespace manta
