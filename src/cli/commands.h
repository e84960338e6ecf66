// What each subcommand does; app.cc reads the command line. Each returns the exit code.
#pragma once

#include "cli/launch.h"
#include "cli/paths.h"

#include <string>
#include <vector>

namespace manta::cli {

int command_up(const Paths& paths, const DaemonOptions& options);
int command_down(const Paths& paths, bool purge);
int command_status(const Paths& paths, bool as_json);
/// Prints the file's place, or its text.
int command_kubeconfig(const Paths& paths, bool print_text);
int command_doctor(const Paths& paths);
int command_version();

int command_image_pull(const Paths& paths, const std::vector<std::string>& names, bool with_default,
                       bool again, bool quiet);
int command_image_add(const Paths& paths, const std::string& name, const std::string& root,
                      const std::string& venv);
int command_image_list(const Paths& paths);
int command_image_remove(const Paths& paths, const std::string& name);
/// Empty name: prints the default.
int command_image_default(const Paths& paths, const std::string& name);

/// bash, zsh or fish.
int command_completion(const std::string& shell);

}  // namespace manta::cli
