// Shared by the kubeconfig files; nothing else includes it.
#pragma once

#include "base/result.h"

#include <string>

namespace manta::kube::kubeconfig_detail {

/// NotFound when there is none; other failures are Invalid. The message names the path.
Result<std::string> read_text_file(const std::string& path);

}  // namespace manta::kube::kubeconfig_detail
