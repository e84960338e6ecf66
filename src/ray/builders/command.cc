#include "ray/builders/command.h"

#include "ray/builders/edit.h"

#include <fmt/format.h>

namespace manta::ray {

JsonArray bash_command(const BuildOptions& options, bool exit_on_error) {
  const std::string flags =
      fmt::format("-c{}{}", exit_on_error ? "e" : "", options.login_shell ? "l" : "");
  return JsonArray{"/bin/bash", flags, "--"};
}

void set_ray_command(JsonObject& ray_container, std::string_view ray_start, bool keep_users,
                     const BuildOptions& options) {
  // The user's words are joined unquoted, as KubeRay joins them: many manifests rely on `args`
  // being a piece of shell. spec/03 §13.1
  std::string users;
  for (const auto* key : {"command", "args"})
    for (const Json& word : array_of(ray_container, key))
      if (word.is_string()) users += fmt::format(" {} ", std::string_view(word.get_string()));
  if (keep_users || users.find("ray start") != std::string::npos) return;

  ray_container["command"] = bash_command(options);
  ray_container["args"] =
      JsonArray{fmt::format("{}{}ulimit -n ${{RAY_START_ULIMIT_OPEN_FILES:-65536}}; {}", users,
                            users.empty() ? "" : " && ", ray_start)};
}

}  // namespace manta::ray
