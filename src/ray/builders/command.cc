#include "ray/builders/command.h"

#include "base/shell.h"
#include "ray/builders/edit.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
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

// [sh, -c, …]: what follows is a whole script and its arguments, each one word.
bool is_script(const std::vector<std::string>& words) {
  if (words.size() < 2) return false;
  const std::string_view shell = std::string_view(words[0]).substr(words[0].rfind('/') + 1);
  const std::string_view flag = words[1];
  constexpr std::string_view kShells[] = {"sh", "bash", "dash", "ash"};
  return std::ranges::find(kShells, shell) != std::end(kShells) && flag.starts_with('-') &&
         !flag.starts_with("--") && flag.find('c') != flag.npos;
}

// Else the user's words are joined unquoted, as KubeRay joins them: many manifests rely on `args`
// being a piece of shell. spec/03 §13.1
std::string shell_text(const std::vector<std::string>& words) {
  const bool quote = is_script(words);
  std::string text;
  for (const auto& word : words) text += fmt::format(" {} ", quote ? shell_quote(word) : word);
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
