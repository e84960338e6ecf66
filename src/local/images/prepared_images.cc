#include "local/images/prepared_images.h"

#include "local/images/image_name.h"

#include <fmt/format.h>

#include <optional>
#include <system_error>
#include <utility>

namespace manta::local {
namespace fs = std::filesystem;
namespace {

/// What they have resident with one CPU and no work (700 and 260 MiB), and a little more.
constexpr std::int64_t kHeadNeeds = 1024 << 20;
constexpr std::int64_t kWorkerNeeds = 400 << 20;

/// The installation that an environment's python belongs to, when it lies outside /usr.
std::vector<std::string> base_python(const std::string& venv) {
  std::error_code code;
  const auto real = fs::canonical(fs::path(venv) / "bin" / "python", code);
  if (code) return {};
  const auto prefix = real.parent_path().parent_path().string();
  if (prefix == "/usr" || prefix.starts_with("/usr/") || prefix == venv) return {};
  return {prefix};
}

ImageRoot to_root(const PreparedImage& image) {
  ImageRoot root{.id = image.name};
  if (image.is_venv) {
    root.kind = ImageRoot::Kind::Venv;
    root.venv = image.path;
    root.binds = base_python(image.path);
    // Service names stand in the Pod's hosts file. gRPC's own resolver, which Ray's core uses,
    // waits for a DNS server instead of reading it.
    root.env["GRPC_DNS_RESOLVER"] = "native";
    root.needs = {{"ray start --head", kHeadNeeds}, {"ray start ", kWorkerNeeds}};
  } else {
    root.kind = ImageRoot::Kind::Root;
    root.root = image.path;
  }
  return root;
}

std::string describe(const PreparedImage& image) {
  return fmt::format("{} (Ray {}, Python {})", image.name, image.ray, image.python);
}

std::optional<PreparedImage> find_ray(const ImageIndex& index, const RayImage& wanted) {
  for (auto& image : index.list())
    if (image.ray == wanted.version && (wanted.python.empty() || wanted.python == image.python))
      return std::move(image);
  return std::nullopt;
}

}  // namespace

Result<ImageRoot> PreparedImages::resolve(const std::string& name) {
  const auto canonical = canonical_image_name(name);
  if (const auto exact = index_.find(canonical)) return to_root(*exact);
  const auto ray = parse_ray_image(canonical);
  if (!ray)
    return failed(ErrorCode::NotFound,
                  fmt::format("image \"{0}\" is not prepared on this machine; give it a folder: "
                              "{1} image add {0} --root DIR | --venv DIR",
                              name, index_.command()));
  if (const auto found = find_ray(index_, *ray)) {
    auto root = to_root(*found);
    if (const auto missing = what_is_left_out(*ray); !missing.empty())
      root.notice =
          fmt::format("image \"{}\" runs as {}, without {}", name, describe(*found), missing);
    return root;
  }
  const auto fallback = index_.default_image();
  if (!fallback)
    return failed(ErrorCode::NotFound,
                  fmt::format("image \"{}\" is not prepared, and neither is any other Ray; run: "
                              "{} image pull --default",
                              name, index_.command()));
  auto root = to_root(*fallback);
  root.notice = fmt::format(
      "image \"{0}\" is not prepared, {1} is used instead; for this one run: {3} image pull {2}",
      name, describe(*fallback), canonical, index_.command());
  if (const auto missing = what_is_left_out(*ray); !missing.empty())
    root.notice += ", without " + missing;
  return root;
}

}  // namespace manta::local
