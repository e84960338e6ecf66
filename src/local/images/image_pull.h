// Makes Python environments with a given Ray. Blocking: for the command line, never on a loop.
#pragma once

#include "local/images/image_index.h"
#include "local/images/image_name.h"

#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace manta::local {

/// The Ray that `manta image pull --default` installs and setup prepares.
inline constexpr std::string_view kDefaultRay = "2.60.0";

struct PullOptions {
  bool again = false;                                // rebuild although it is there
  bool quiet = false;                                // no output of the installer
  std::function<void(const std::string&)> say = {};  // progress, a line at a time
};

/// What to tell when an installer's words (uv's or pip's) mean that the index has no such Ray, or
/// none for this Python; nothing when they mean something else.
std::optional<std::string> no_such_ray(std::string_view version, std::string_view python,
                                       std::string_view output);

/// Quick when the image is there. Uses uv when it is on the PATH, else python3 -m venv and pip.
/// Safe against others doing the same at the same time and against being killed: the image is
/// listed only once it is whole. Fails with what to install or which version does not exist.
Result<PreparedImage> pull_image(const ImageIndex& index, const std::string& name,
                                 const PullOptions& options);

}  // namespace manta::local
