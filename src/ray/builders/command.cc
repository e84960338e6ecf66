#include "ray/builders/command.h"

#include "base/shell.h"
#include "ray/builders/edit.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <initializer_list>
#include <string>
#include <vector>

namespace manta::ray {
namespace {

std::vector<std::string> users_words(const JsonObject& container) {
  std::vector<std::string> words;
  for (const auto* key : {"command", "args"})
    for (const Json& word : array_of(container, key))
      if (word.is_string()) words.emplace_back(std::string_view(word.get_string()));
  return words;
}

bool names_one_of(const std::string& word, std::initializer_list<std::string_view> programs) {
  const auto name = std::string_view(word).substr(word.rfind('/') + 1);
  return std::ranges::find(programs, name) != programs.end();
}

// Index of the shell that is started, by itself or by such as do nothing else; words.size(): none.
std::size_t shell_at(const std::vector<std::string>& words) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (names_one_of(words[i], {"sh", "bash", "dash", "ash", "ksh", "zsh"})) return i;
    if (names_one_of(words[i], {"env", "tini", "dumb-init", "busybox"})) continue;
    if (i == 0) break;
    const std::string& before = words[i - 1];
    const bool is_argument = before.starts_with('-') && before != "--";
    if (!words[i].starts_with('-') && words[i].find('=') == std::string::npos && !is_argument)
      break;
  }
  return words.size();
}

// Index of what follows <shell> [options] -c: a whole script and its arguments, each one word.
std::size_t script_at(const std::vector<std::string>& words) {
  for (std::size_t i = shell_at(words) + 1; i < words.size(); ++i) {
    const std::string_view option = words[i];
    if (option == "--" || (!option.starts_with('-') && !option.starts_with('+'))) break;
    const bool is_long = option.starts_with("--");
    if (!is_long && option.starts_with('-') && option.find('c') != option.npos) return i + 1;
    const bool has_argument = is_long ? option == "--rcfile" || option == "--init-file"
                                      : option.ends_with('o') || option.ends_with('O');
    if (has_argument) ++i;
  }
  return words.size();
}

// The user's words are joined unquoted, as KubeRay joins them: many manifests rely on `args` being
// a piece of shell. But a script for another shell is a word. spec/03 §13.1, SEEN-11
std::string shell_text(const std::vector<std::string>& words) {
  const std::size_t script = script_at(words);
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i)
    text += fmt::format(" {} ", i < script ? words[i] : shell_quote(words[i]));
  return text;
}

}  // namespace

JsonArray bash_command(const BuildOptions& options, bool exit_on_error) {
  const std::string flags =
      fmt::format("-c{}{}", exit_on_error ? "e" : "", options.login_shell ? "l" : "");
  return JsonArray{"/bin/bash", flags, "--"};
}

void set_ray_command(JsonObject& ray_container, std::string_view ray_start, bool keep_users,
                     const BuildOptions& options) {
  const auto words = users_words(ray_container);
  // Joined by one space: ["ray", "start"] starts Ray as well. SEEN-11
  if (keep_users || fmt::format("{}", fmt::join(words, " ")).find("ray start") != std::string::npos)
    return;

  const std::string users = shell_text(words);
  ray_container["command"] = bash_command(options);
  ray_container["args"] =
      JsonArray{fmt::format("{}{}ulimit -n ${{RAY_START_ULIMIT_OPEN_FILES:-65536}}; {}", users,
                            users.empty() ? "" : " && ", ray_start)};
}

}  // namespace manta::ray
