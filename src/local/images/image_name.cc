#include "local/images/image_name.h"

#include <algorithm>
#include <cctype>
#include <initializer_list>

namespace manta::local {
namespace {

bool all_digits(std::string_view text) {
  return !text.empty() &&
         std::ranges::all_of(text, [](unsigned char c) { return std::isdigit(c) != 0; });
}

/// "py310" → "3.10"; anything else gives nothing.
std::optional<std::string> parse_python(std::string_view part) {
  if (!part.starts_with("py") || part.size() < 4 || !all_digits(part.substr(2)))
    return std::nullopt;
  return std::string(part.substr(2, 1)) + "." + std::string(part.substr(3));
}

bool is_accelerator(std::string_view part) {
  return part == "cpu" || part == "gpu" || part == "tpu" ||
         (part.starts_with("cu") && all_digits(part.substr(2)));
}

}  // namespace

std::string canonical_image_name(std::string_view name) {
  name = name.substr(0, name.find('@'));
  for (const std::string_view prefix : {"docker.io/", "index.docker.io/", "library/"})
    if (name.starts_with(prefix)) name.remove_prefix(prefix.size());
  return std::string(name);
}

std::optional<RayImage> parse_ray_image(std::string_view name) {
  const auto canonical = canonical_image_name(name);
  const auto colon = canonical.find(':');
  const auto repository = canonical.substr(0, colon);
  if (repository != "rayproject/ray" && repository != "rayproject/ray-ml" &&
      repository != "rayproject/ray-llm")
    return std::nullopt;
  RayImage image;
  if (repository != "rayproject/ray") image.extras = repository;
  std::string_view tag = colon == std::string::npos ? std::string_view("latest")
                                                    : std::string_view(canonical).substr(colon + 1);
  while (!tag.empty()) {
    const auto part = tag.substr(0, tag.find('-'));
    tag.remove_prefix(std::min(tag.size(), part.size() + 1));
    if (auto python = parse_python(part))
      image.python = std::move(*python);
    else if (is_accelerator(part))
      image.accelerator = part;
    else if (part == "aarch64" || part == "extra")
      continue;  // the machine's own architecture is used; extras are the user's to install
    else
      image.version += (image.version.empty() ? "" : "-") + std::string(part);
  }
  if (image.version.empty()) image.version = "latest";
  return image;
}

bool RayImage::is_release() const {
  std::string_view rest = version;
  for (int part = 0; part < 3; ++part) {
    const auto digits = std::min(rest.size(), rest.find_first_not_of("0123456789"));
    if (digits == 0) return false;
    rest.remove_prefix(digits);
    if (part == 2) break;
    if (!rest.starts_with('.')) return false;
    rest.remove_prefix(1);
  }
  for (const std::string_view stage : {"", "rc", ".post", ".dev"})
    if (rest.starts_with(stage) &&
        (stage.empty() ? rest.empty() : all_digits(rest.substr(stage.size()))))
      return true;
  return false;
}

std::string what_is_left_out(const RayImage& image) {
  std::string text;
  if (!image.accelerator.empty() && image.accelerator != "cpu")
    text = "its " + image.accelerator + " libraries";
  if (!image.extras.empty())
    text += (text.empty() ? "what " : ", and what ") + image.extras + " adds to Ray";
  return text;
}

std::string ray_image_name(std::string_view version, std::string_view python) {
  auto name = "rayproject/ray:" + std::string(version);
  if (python.empty()) return name;
  name += "-py";
  for (const char c : python)
    if (c != '.') name += c;
  return name;
}

}  // namespace manta::local
