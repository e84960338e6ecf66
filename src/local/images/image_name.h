// What an image's name says. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace manta::local {

/// rayproject/ray:2.52.0-py310-cpu and its kin.
struct RayImage {
  std::string version = {};      // "2.52.0"; also "latest", "nightly", "2.52.0.abcdef"
  std::string python = {};       // "3.10"; empty: any
  std::string accelerator = {};  // "gpu", "cu121", …; empty or "cpu": none
  bool wants_accelerator() const { return !accelerator.empty() && accelerator != "cpu"; }
};

/// Registry and library prefixes of Docker Hub and a digest left out: one name for one image.
std::string canonical_image_name(std::string_view name);

/// Nothing when the image is not one of Ray's own (rayproject/ray, rayproject/ray-ml and the like).
std::optional<RayImage> parse_ray_image(std::string_view name);

/// "rayproject/ray:2.52.0", with -py310 when a Python is given.
std::string ray_image_name(std::string_view version, std::string_view python = {});

}  // namespace manta::local
