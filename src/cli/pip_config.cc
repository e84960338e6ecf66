#include "cli/pip_config.h"

#include "base/text.h"
#include "local/images/image_index.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <sstream>

namespace manta::cli {
namespace {

constexpr const char* kPassedOn[] = {"index-url", "extra-index-url", "trusted-host", "cert",
                                     "proxy",     "retries",         "timeout"};

/// "index-url" is PIP_INDEX_URL.
std::string variable_of(std::string_view key) {
  std::string name = "PIP_";
  for (const char c : key)
    name += c == '-' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return name;
}

/// Into `settings`: what the file says of [global] and [install], values of several lines joined.
void read_settings(const std::string& file, std::map<std::string, std::string>& settings) {
  std::istringstream lines(file);
  bool counts = false;
  std::string* value = nullptr;
  for (std::string line; std::getline(lines, line);) {
    const auto text = trim(line, " \t\r");
    if (text.empty() || text.front() == '#' || text.front() == ';') continue;
    if (text.front() == '[') {
      counts = text == "[global]" || text == "[install]";
      value = nullptr;
    } else if (line.front() == ' ' || line.front() == '\t') {
      if (value != nullptr) *value += fmt::format("{}{}", value->empty() ? "" : " ", text);
    } else if (const auto at = text.find_first_of("=:"); counts && at != text.npos) {
      std::string key(trim(text.substr(0, at)));
      std::ranges::replace(key, '_', '-');
      value = &settings[key];
      *value = trim(text.substr(at + 1));
    }
  }
}

}  // namespace

std::string build_pip_config(const std::vector<std::string>& files,
                             const Environment& environment) {
  std::map<std::string, std::string> settings;
  for (const auto& file : files) read_settings(file, settings);
  for (const char* variable : {"https_proxy", "HTTPS_PROXY"})
    if (const auto proxy = environment(variable)) settings.try_emplace("proxy", *proxy);
  std::string text = "# Made by manta from this machine's pip configuration.\n[global]\n";
  for (const char* key : kPassedOn) {
    if (const auto given = environment(variable_of(key))) settings[key] = *given;
    const auto found = settings.find(key);
    if (found != settings.end() && !found->second.empty() && !found->second.contains('\n'))
      text += fmt::format("{} = {}\n", key, found->second);
  }
  return text;
}

std::string machine_pip_config() {
  std::vector<std::string> places = {"/etc/xdg/pip/pip.conf", "/etc/pip.conf"};
  if (const auto home = process_environment("HOME")) {
    places.push_back(*home + "/.pip/pip.conf");
    places.push_back(process_environment("XDG_CONFIG_HOME").value_or(*home + "/.config") +
                     "/pip/pip.conf");
  }
  if (const auto named = process_environment("PIP_CONFIG_FILE")) places.push_back(*named);
  std::vector<std::string> files;
  for (const auto& place : places)
    if (auto text = local::read_file(place)) files.push_back(std::move(*text));
  return build_pip_config(files, process_environment);
}

}  // namespace manta::cli
