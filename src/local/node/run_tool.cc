#include "local/node/run_tool.h"

#include "local/node/helper_process.h"

#include <errno.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

namespace manta::local {

namespace {

/// Files in memory for both directions: nobody waits for anybody, whatever their size.
Fd memory_file(const std::string& text) {
  Fd file(memfd_create("manta-tool", MFD_CLOEXEC));
  if (!text.empty() && write(file.get(), text.data(), text.size()) < 0) return {};
  lseek(file.get(), 0, SEEK_SET);
  return file;
}

std::string content(const Fd& file) {
  std::string text;
  char buffer[4096];
  lseek(file.get(), 0, SEEK_SET);
  for (ssize_t got; (got = read(file.get(), buffer, sizeof buffer)) > 0;)
    text.append(buffer, static_cast<std::size_t>(got));
  while (text.ends_with('\n')) text.pop_back();
  return text;
}

}  // namespace

ToolResult run_tool(std::vector<std::string> words, const std::string& input) {
  const auto in = memory_file(input);
  const auto out = memory_file("");
  if (!in || !out) return {1, "no memory for its output"};
  std::vector<char*> argv;
  for (auto& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  // /usr/sbin is not in everybody's PATH.
  std::string path = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
  std::string language = "LC_ALL=C";
  char* environment[] = {path.data(), language.data(), nullptr};
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, in.get(), 0);
  posix_spawn_file_actions_adddup2(&actions, out.get(), 1);
  posix_spawn_file_actions_adddup2(&actions, out.get(), 2);
  pid_t pid = -1;
  int error = ENOENT;
  for (const char* folder : {"/usr/local/sbin/", "/usr/sbin/", "/sbin/", "/usr/bin/", "/bin/"}) {
    if (error != ENOENT) break;
    error =
        posix_spawn(&pid, (folder + words[0]).c_str(), &actions, nullptr, argv.data(), environment);
  }
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) return {kNoSuchTool, words[0] + " is not there"};
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return {WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), content(out)};
}

}  // namespace manta::local
