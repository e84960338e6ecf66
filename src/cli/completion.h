// Shell completion scripts, made from the command tree itself so that they cannot lag behind it.
#pragma once

#include "base/result.h"

#include <string>
#include <vector>

namespace manta::cli {

struct CommandWords {
  std::string name = {};  // "image pull"; empty: `manta` itself
  std::string help = {};
  std::vector<std::string> words = {};  // subcommands, flags and fixed arguments
  bool takes_file = false;
};

/// Fails on another shell than bash, zsh and fish.
Result<std::string> completion_script(const std::string& shell,
                                      const std::vector<CommandWords>& commands);

}  // namespace manta::cli
