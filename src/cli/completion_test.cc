#include "cli/completion.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <fstream>

namespace manta::cli {
namespace {

const std::vector<CommandWords> kCommands{
    {"", "", {"run", "image", "--help"}},
    {"run", "", {"--keep"}, true},
    {"image", "", {"pull", "ls"}},
    {"image pull", "", {"--default"}},
};

/// What bash offers after these words.
std::string complete(const std::string& words, int count) {
  char path[] = "/tmp/manta-completion-XXXXXX";
  const int fd = ::mkstemp(path);
  EXPECT_GE(fd, 0);
  std::ofstream(path) << *completion_script("bash", kCommands)
                      << "COMP_WORDS=(" + words + "); COMP_CWORD=" + std::to_string(count) +
                             "; _manta; echo \"${COMPREPLY[*]}\"\n";
  FILE* pipe = ::popen((std::string("bash ") + path).c_str(), "r");
  std::array<char, 1024> line{};
  const std::string answer = std::fgets(line.data(), line.size(), pipe) ? line.data() : "";
  ::pclose(pipe);
  std::remove(path);
  return answer.substr(0, answer.find('\n'));
}

TEST(BashCompletion, FollowsTheCommandTree) {
  EXPECT_EQ(complete("manta ''", 1), "run image --help");
  EXPECT_EQ(complete("manta im", 1), "image");
  EXPECT_EQ(complete("manta image ''", 2), "pull ls");
  EXPECT_EQ(complete("manta image pull --", 3), "--default");
  EXPECT_EQ(complete("manta run --k", 2), "--keep");
}

TEST(Completion, KnowsThreeShells) {
  EXPECT_TRUE(completion_script("zsh", kCommands));
  EXPECT_NE(completion_script("fish", kCommands)->find("-l default"), std::string::npos);
  EXPECT_FALSE(completion_script("tcsh", kCommands));
}

}  // namespace
}  // namespace manta::cli
