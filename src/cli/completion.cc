#include "cli/completion.h"

#include "base/shell.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace manta::cli {
namespace {

std::string words_of(const CommandWords& command) {
  return fmt::format("{}", fmt::join(command.words, " "));
}

/// The longest command that the words typed so far begin with decides what may follow.
std::string bash(const std::vector<CommandWords>& commands) {
  std::string cases;
  for (const auto& command : commands)
    cases += fmt::format("    {}) words={}; files={} ;;\n", shell_quote(command.name),
                         shell_quote(words_of(command)), command.takes_file ? 1 : 0);
  return fmt::format(R"(# manta completion for bash: source <(manta completion bash)
_manta_words() {{
  case "$1" in
{0}    *) return 1 ;;
  esac
}}
_manta() {{
  local words= files=0 cur="${{COMP_WORDS[COMP_CWORD]}}" path= i
  _manta_words ""
  for ((i = 1; i < COMP_CWORD; i++)); do
    case "${{COMP_WORDS[i]}}" in -*) continue ;; esac
    _manta_words "${{path:+$path }}${{COMP_WORDS[i]}}" && path="${{path:+$path }}${{COMP_WORDS[i]}}"
  done
  COMPREPLY=($(compgen -W "$words" -- "$cur"))
  if [ "$files" = 1 ]; then COMPREPLY+=($(compgen -f -- "$cur")); fi
}}
complete -o filenames -F _manta manta
)",
                     cases);
}

std::string zsh(const std::vector<CommandWords>& commands) {
  return "#compdef manta\n# manta completion for zsh: source <(manta completion zsh)\n"
         "autoload -U +X bashcompinit && bashcompinit\n" +
         bash(commands);
}

std::string fish(const std::vector<CommandWords>& commands) {
  std::string text =
      "# manta completion for fish: manta completion fish | source\ncomplete -c manta -f\n";
  for (const auto& command : commands) {
    std::string condition = "__fish_use_subcommand";
    if (!command.name.empty()) {
      condition.clear();
      std::string_view rest = command.name;
      while (!rest.empty()) {
        const auto word = rest.substr(0, rest.find(' '));
        rest.remove_prefix(std::min(rest.size(), word.size() + 1));
        condition += fmt::format("{}__fish_seen_subcommand_from {}",
                                 condition.empty() ? "" : "; and ", word);
      }
    }
    for (const auto& word : command.words) {
      if (word.starts_with("--"))
        text += fmt::format("complete -c manta -n '{}' -l {}\n", condition, word.substr(2));
      else
        text += fmt::format("complete -c manta -n '{}' -a {}\n", condition, word);
    }
    if (command.takes_file) text += fmt::format("complete -c manta -n '{}' -F\n", condition);
  }
  return text;
}

}  // namespace

Result<std::string> completion_script(const std::string& shell,
                                      const std::vector<CommandWords>& commands) {
  if (shell == "bash") return bash(commands);
  if (shell == "zsh") return zsh(commands);
  if (shell == "fish") return fish(commands);
  return failed(ErrorCode::Invalid,
                fmt::format("no completion for shell \"{}\"; there is bash, zsh and fish", shell));
}

}  // namespace manta::cli
