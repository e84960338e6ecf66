#include "ray/validation_params.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

namespace manta::ray {
namespace {

bool is_name_start(char c) { return std::isalpha(static_cast<unsigned char>(c)) || c == '_'; }
bool is_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

// Reads a word as bash does.
class Word {
 public:
  explicit Word(std::string_view text) : rest_(text) {}

  Fault fault() {
    while (!rest_.empty()) {
      const char c = take();
      Fault found;
      if (c == '\'')
        found = in_single_quotes();
      else if (c == '"')
        found = in_double_quotes();
      else
        found = bare(c);
      if (found) return found;
    }
    return {};
  }

 private:
  char take() {
    const char c = rest_.front();
    rest_.remove_prefix(1);
    return c;
  }

  Fault in_single_quotes() {
    const auto end = rest_.find('\'');
    if (end == std::string_view::npos) return "a ' is not closed";
    rest_.remove_prefix(end + 1);
    return {};
  }

  Fault in_double_quotes() {
    while (!rest_.empty()) {
      const char c = take();
      if (c == '"') return {};
      if (c == '\\' && !rest_.empty())
        take();
      else if (auto found = expansion(c))
        return found;
    }
    return "a \" is not closed";
  }

  Fault bare(char c) {
    if (c == '\\') {
      if (rest_.empty()) return "a \\ quotes nothing";
      take();
      return {};
    }
    if (c == ' ' || c == '\t') return "a blank outside of quotes begins another argument";
    if (std::string_view(";&|<>()").find(c) != std::string_view::npos)
      return fmt::format("the shell acts on {} outside of quotes", c);
    // Where the braces end is not looked for: others, quoted ones too, may stand in between.
    if (c == '{' && std::min(rest_.find(','), rest_.find("..")) != std::string_view::npos)
      return "the shell expands {…,…} outside of quotes";
    return expansion(c);
  }

  // Of `$` and backticks, which double quotes do not hold back.
  Fault expansion(char c) {
    if (c == '`') return "the shell runs what stands in backticks";
    if (c != '$' || rest_.empty()) return {};
    if (is_name_start(rest_.front())) return {};
    if (rest_.front() == '{') {
      const auto end = rest_.find('}');
      const auto name =
          end == std::string_view::npos ? std::string_view() : rest_.substr(1, end - 1);
      if (name.empty() || !is_name_start(name.front()) || !std::ranges::all_of(name, is_name))
        return "of ${…} only ${NAME} is allowed";
      rest_.remove_prefix(end + 1);
      return {};
    }
    return fmt::format("the shell expands ${}; only $NAME is allowed", rest_.front());
  }

  std::string_view rest_;
};

Fault check_params(const Opt<StringMap>& params, std::string_view path) {
  if (!params) return {};
  for (const auto& [flag, value] : *params) {
    const auto of_a_flag = [](char c) { return is_name(c) || c == '-'; };
    if (flag.empty() || !std::ranges::all_of(flag, of_a_flag))
      return fmt::format("{}.rayStartParams has the key {:?}, which is no flag of ray start", path,
                         flag);
    if (auto found = shell_word_fault(value))
      return fmt::format("{}.rayStartParams[{}] is {:?}: {}", path, flag, value, *found);
  }
  return {};
}

}  // namespace

Fault shell_word_fault(std::string_view text) {
  if (text.find_first_of("\n\r") != std::string_view::npos) return "it has a line break";
  if (text.find('\0') != std::string_view::npos) return "it has a zero byte";
  return Word(text).fault();
}

Fault check_start_params(const RayClusterSpec& spec) {
  if (auto fault = check_params(spec.headGroupSpec.rayStartParams, "headGroupSpec")) return fault;
  for (std::size_t i = 0; i < spec.workerGroupSpecs.size(); ++i)
    if (auto fault = check_params(spec.workerGroupSpecs[i].rayStartParams,
                                  fmt::format("workerGroupSpecs[{}]", i)))
      return fault;
  return {};
}

}  // namespace manta::ray
