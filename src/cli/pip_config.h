// pip in Pods installs from where pip on this machine does.
#pragma once

#include "cli/paths.h"

#include <functional>
#include <string>
#include <vector>

namespace manta::cli {

/// A pip.conf with the package index, certificates and proxy that the user's own pip would use.
/// `files`: the contents of pip's configuration files, those that win last; the environment (PIP_…,
/// HTTPS_PROXY) wins over them. Other settings stay behind: folders of this machine are none of the
/// Pods'.
///
/// A file rather than variables: a proxy in a Pod's environment would catch the calls that Ray
/// makes to itself.
std::string build_pip_config(const std::vector<std::string>& files, const Environment& environment);

/// Of this machine and user.
std::string machine_pip_config();

}  // namespace manta::cli
