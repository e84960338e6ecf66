#include "cli/commands.h"
#include "cli/console.h"
#include "local/images/image_pull.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

namespace manta::cli {
namespace fs = std::filesystem;
namespace {

int fail(const Error& error) {
  print_error(error.message);
  return 1;
}

}  // namespace

int command_image_pull(const Paths& paths, const std::vector<std::string>& names, bool with_default,
                       bool again, bool quiet) {
  const local::ImageIndex index(paths.images, paths.command);
  auto wanted = names;
  if (with_default) wanted.push_back(local::ray_image_name(local::kDefaultRay));
  for (const auto& name : wanted) {
    const auto parsed = local::parse_ray_image(name);
    const auto missing = parsed ? local::what_is_left_out(*parsed) : std::string();
    if (!missing.empty())
      fmt::print(stderr,
                 "{}: prepared as plain Ray, without {}; what a job needs of it goes into its "
                 "runtime environment (pip), or into an environment of yours: {} image add {} "
                 "--venv DIR\n",
                 name, missing, paths.command, name);
    const auto image = local::pull_image(
        index, name, {.again = again, .quiet = quiet, .say = [](const std::string& line) {
                        fmt::print(stderr, "{}\n", line);
                      }});
    if (!image) return fail(image.error());
    fmt::print("{}: Ray {} on Python {}, {}\n", name, image->ray, image->python, image->path);
  }
  return 0;
}

int command_image_add(const Paths& paths, const std::string& name, const std::string& root,
                      const std::string& venv) {
  local::PreparedImage image{.is_venv = root.empty()};
  if (root.empty()) {
    auto inspected = local::inspect_venv(venv);
    if (!inspected) return fail(inspected.error());
    image = std::move(*inspected);
  } else {
    std::error_code code;
    image.path = fs::absolute(root, code).lexically_normal().string();
    if (!fs::is_directory(image.path, code)) {
      print_error(fmt::format("{} is no folder", root));
      return 1;
    }
    if (!fs::exists(fs::path(image.path) / "bin", code) &&
        !fs::exists(fs::path(image.path) / "usr" / "bin", code)) {
      print_error(fmt::format("{} is no root file system: it has neither bin nor usr/bin", root));
      return 1;
    }
  }
  image.name = local::canonical_image_name(name);
  if (auto put = local::ImageIndex(paths.images, paths.command).put(image); !put)
    return fail(put.error());
  fmt::print("{} is {}\n", image.name, image.path);
  if (image.is_venv && image.ray.empty())
    print_error(fmt::format(
        "{0} holds no Ray, so no Pod of a RayCluster starts with it; install it there, and add it "
        "again: {0}/bin/python -m pip install 'ray[default]'",
        image.path));
  return 0;
}

int command_image_list(const Paths& paths) {
  const local::ImageIndex index(paths.images, paths.command);
  const auto chosen = index.default_image();
  std::size_t width = 4;
  const auto images = index.list();
  for (const auto& image : images) width = std::max(width, image.name.size());
  fmt::print("{:<{}}  {:<8} {:<10} {:<7} {}\n", "NAME", width, "DEFAULT", "RAY", "PYTHON", "PATH");
  for (const auto& image : images)
    fmt::print("{:<{}}  {:<8} {:<10} {:<7} {}\n", image.name, width,
               chosen && chosen->name == image.name ? "yes" : "",
               image.ray.empty() ? "-" : image.ray, image.python.empty() ? "-" : image.python,
               image.path);
  return 0;
}

int command_image_remove(const Paths& paths, const std::string& name) {
  if (auto removed = local::ImageIndex(paths.images, paths.command).remove(name); !removed)
    return fail(removed.error());
  fmt::print("removed {}\n", name);
  return 0;
}

int command_image_default(const Paths& paths, const std::string& name) {
  const local::ImageIndex index(paths.images, paths.command);
  if (!name.empty())
    if (auto chosen = index.set_default(name); !chosen) return fail(chosen.error());
  const auto image = index.default_image();
  if (!image) {
    print_error(fmt::format("no Ray is prepared; run: {} image pull --default", paths.command));
    return 1;
  }
  fmt::print("{}\n", image->name);
  return 0;
}

}  // namespace manta::cli
