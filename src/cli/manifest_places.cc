// find_place(): the one file of the command line that knows yaml-cpp, for its marks.
#include "cli/manifest.h"

#include <yaml-cpp/yaml.h>

#include <charconv>

namespace manta::cli {
namespace {

struct Step {
  std::string key = {};
  std::optional<std::size_t> index = {};
};

/// spec.a[0].b and metadata.labels[app.kubernetes.io/name] alike.
std::vector<Step> split(std::string_view path) {
  std::vector<Step> steps;
  while (!path.empty()) {
    if (path.front() == '.') {
      path.remove_prefix(1);
      continue;
    }
    if (path.front() == '[') {
      const auto close = std::min(path.find(']'), path.size());
      const auto inside = path.substr(1, close - 1);
      std::size_t number = 0;
      const auto read = std::from_chars(inside.data(), inside.data() + inside.size(), number);
      if (read.ec == std::errc{} && read.ptr == inside.data() + inside.size())
        steps.push_back({.index = number});
      else
        steps.push_back({.key = std::string(inside)});
      path.remove_prefix(std::min(path.size(), close + 1));
      continue;
    }
    const auto end = std::min(path.find_first_of(".["), path.size());
    steps.push_back({.key = std::string(path.substr(0, end))});
    path.remove_prefix(end);
  }
  return steps;
}

Place place_of(const YAML::Node& node) { return {node.Mark().line + 1, node.Mark().column + 1}; }

/// Follows the steps as far as the document has them; the place of the last key found.
Place walk(YAML::Node node, const std::vector<Step>& steps) {
  Place place = place_of(node);
  for (const auto& step : steps) {
    if (step.index) {
      if (!node.IsSequence() || *step.index >= node.size()) return place;
      node.reset(node[*step.index]);
      place = place_of(node);
      continue;
    }
    if (!node.IsMap()) return place;
    bool found = false;
    for (const auto& entry : node) {
      if (!entry.first.IsScalar() || entry.first.Scalar() != step.key) continue;
      place = place_of(entry.first);
      const YAML::Node next = entry.second;
      node.reset(next);
      found = true;
      break;
    }
    if (!found) return place;
  }
  return place;
}

}  // namespace

std::optional<Place> find_place(const Manifest& manifest, std::size_t document,
                                std::string_view field) {
  try {
    std::size_t index = 0;
    for (const auto& node : YAML::LoadAll(manifest.text)) {
      if (node.IsNull() || !node.IsDefined()) continue;  // empty documents are not counted
      if (index++ == document) return walk(node, split(field));
    }
  } catch (const YAML::Exception&) {
    return std::nullopt;  // it was readable a moment ago; the message goes without a place
  }
  return std::nullopt;
}

}  // namespace manta::cli
