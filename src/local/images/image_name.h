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
  std::string extras = {};       // "rayproject/ray-ml" and the like: Ray with more in it
  bool is_release() const;       // "2.52.0", "2.52.0rc1": what package indexes have
};

/// What the image has and an environment with that Ray has not, for people: "its gpu libraries, and
/// what rayproject/ray-ml adds to Ray". Empty when nothing.
std::string what_is_left_out(const RayImage& image);

/// Registry and library prefixes of Docker Hub and a digest left out: one name for one image.
std::string canonical_image_name(std::string_view name);

/// Nothing when the image is not one of Ray's own (rayproject/ray, rayproject/ray-ml and the like).
std::optional<RayImage> parse_ray_image(std::string_view name);

/// "rayproject/ray:2.52.0", with -py310 when a Python is given.
std::string ray_image_name(std::string_view version, std::string_view python = {});

}  // namespace manta::local
