// What is left of the objects when all that chance and the clock decided is taken away: two runs
// that ended alike have equal pictures.
#include "ray/labels.h"
#include "sim/world.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <regex>

namespace manta::sim {
namespace {

using Renames = std::vector<std::pair<std::string, std::string>>;

void add_derived_names(const Json& object, Renames& renames) {
  if (string_at(object, {"kind"}) != "RayJob") return;
  for (const auto* field : {"jobId", "rayClusterName"})
    if (const auto name = string_at(object, {"status", field}); !name.empty())
      renames.emplace_back(std::string(name), fmt::format("{}:{}", name_of(object), field));
}

void drop_run_dependent(Json& object) {
  auto& metadata = ensure(object, {"metadata"}).as_object();
  for (const auto* field : {"uid", "resourceVersion", "creationTimestamp", "managedFields"})
    metadata.erase(field);
}

std::string without_chance(std::string text, const Renames& renames) {
  for (const auto& [name, stable] : renames)
    for (auto at = text.find(name); at != std::string::npos;
         at = text.find(name, at + stable.size()))
      text.replace(at, name.size(), stable);
  static const std::regex kUid("[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}");
  static const std::regex kTime("[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:]{8}(\\.[0-9]+)?Z");
  static const std::regex kAddress("\\b10\\.[0-9]+\\.[0-9]+\\.[0-9]+\\b");
  text = std::regex_replace(text, kUid, "<uid>");
  text = std::regex_replace(text, kTime, "<time>");
  return std::regex_replace(text, kAddress, "<address>");
}

}  // namespace

std::vector<std::string> World::picture() const {
  Renames renames;
  for (const auto& [name, base] : mirror_.generated()) renames.emplace_back(name, base + "*");
  for (const auto* object : mirror_.all()) add_derived_names(*object, renames);
  // A name within a longer one must not go first.
  std::ranges::sort(renames, std::greater<>{}, [](const auto& r) { return r.first.size(); });
  std::vector<std::string> lines;
  for (const auto* object : mirror_.all()) {
    const auto kind = string_at(*object, {"kind"});
    if (kind == "Event" || kind == "Lease" || kind == "CustomResourceDefinition" ||
        kind == "Namespace")
      continue;
    Json bare = *object;
    drop_run_dependent(bare);
    lines.push_back(without_chance(canonical_json(bare), renames));
  }
  std::ranges::sort(lines);
  return lines;
}

std::string difference(const std::vector<std::string>& wanted,
                       const std::vector<std::string>& found) {
  constexpr std::size_t kShown = 160;
  std::string text;
  std::vector<std::string> missing, extra;
  std::ranges::set_difference(wanted, found, std::back_inserter(missing));
  std::ranges::set_difference(found, wanted, std::back_inserter(extra));
  for (std::size_t at = 0; at < std::max(missing.size(), extra.size()); ++at) {
    const auto a = at < missing.size() ? missing[at] : std::string();
    const auto b = at < extra.size() ? extra[at] : std::string();
    const auto same = static_cast<std::size_t>(std::ranges::mismatch(a, b).in1 - a.begin());
    const auto from = same > kShown / 2 ? same - kShown / 2 : 0;
    text += fmt::format("wanted: {}\n found: {}\n", a.substr(std::min(from, a.size()), kShown),
                        b.substr(std::min(from, b.size()), kShown));
  }
  return text;
}

}  // namespace manta::sim
