#include "cli/leftovers.h"

#include "cli/instance.h"
#include "local/node/node.h"

#include <fmt/format.h>

#include <filesystem>
#include <system_error>

namespace manta::cli {
namespace fs = std::filesystem;
namespace {

local::NodeOptions node_options(const Paths& paths) {
  return {.state_folder = paths.node().string()};
}

/// What one run of a container left. Volumes stay: their Pods are stored, and run again.
void remove_container_files(const Paths& paths) {
  std::error_code ignored;
  for (const auto& pod : fs::directory_iterator(paths.node() / "pods", ignored))
    fs::remove_all(pod.path() / "containers", ignored);
}

}  // namespace

std::vector<std::string> find_leftovers(const Paths& paths) {
  if (is_locked(paths)) return {};
  return local::Node::find_leftovers(node_options(paths));
}

Result<std::vector<std::string>> remove_leftovers(const Paths& paths) {
  std::error_code ignored;
  if (!fs::exists(paths.lock(), ignored) || !take_lock(paths))
    return std::vector<std::string>{};  // none was here, or one starts, which cleans up itself
  fs::remove(paths.state(), ignored);
  fs::remove(paths.home / "manta.pid", ignored);
  const auto options = node_options(paths);
  auto found = local::Node::find_leftovers(options);
  local::Node::clean_up_leftovers(options);
  remove_container_files(paths);
  if (const auto left = local::Node::find_leftovers(options); !left.empty())
    return failed(ErrorCode::Forbidden,
                  fmt::format("a killed manta has left {}, and not all of it can be removed: {}",
                              listed(found), listed(left)));
  return found;
}

void remove_pod_files(const Paths& paths) {
  std::error_code ignored;
  for (const auto* folder : {"pods", "logs"}) fs::remove_all(paths.node() / folder, ignored);
}

std::string listed(const std::vector<std::string>& words) {
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i)
    text += (i == 0 ? "" : i + 1 < words.size() ? ", " : " and ") + words[i];
  return text;
}

}  // namespace manta::cli
