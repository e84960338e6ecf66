// What is left of the objects when all that chance and the clock decided is taken away: two runs
// that ended alike have equal pictures.
#include "ray/labels.h"
#include "sim/world.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string_view>

namespace manta::sim {
namespace {

using Renames = std::vector<std::pair<std::string, std::string>>;

void add_derived_names(const Json& object, Renames& renames) {
  if (const auto replica = string_at(object, {"metadata", "labels", ray::kLabelReplicaName});
      !replica.empty())
    renames.emplace_back(std::string(replica), "<replica>");
  // A user's own names stay: "c0" stands in many a uid.
  const auto own = name_of(object) + "-";
  const auto add = [&](std::string_view name, std::string_view role) {
    if (name.starts_with(own))
      renames.emplace_back(std::string(name), fmt::format("{}:{}", name_of(object), role));
  };
  const auto kind = string_at(object, {"kind"});
  if (kind == "RayService")
    for (const auto* side : {"activeServiceStatus", "pendingServiceStatus"})
      add(string_at(object, {"status", side, "rayClusterName"}), side);
  if (kind == "RayJob")
    for (const auto* field : {"jobId", "rayClusterName"})
      add(string_at(object, {"status", field}), field);
}

void drop_run_dependent(Json& object) {
  auto& metadata = ensure(object, {"metadata"}).as_object();
  for (const auto* field : {"uid", "resourceVersion", "creationTimestamp", "managedFields"})
    metadata.erase(field);
  // Of a RayJob's cluster it is taken over generated names, too.
  if (auto* annotations = metadata.if_contains("annotations"))
    if (auto* hash = annotations->as_object().if_contains(ray::kAnnotationRecreateHash))
      *hash = "<hash>";
  // How many steps a rollout took is the clock's choice.
  if (string_at(object, {"kind"}) == "HTTPRoute") metadata.erase("generation");
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_hex(char c) { return is_digit(c) || (c >= 'a' && c <= 'f'); }

/// How much of the text's beginning fits a shape, in which x is a hex digit, 9 a digit, and all
/// else itself; 0: it does not fit.
std::size_t fits(std::string_view text, std::string_view shape) {
  if (text.size() < shape.size()) return 0;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const char c = text[i];
    if (shape[i] == 'x' ? !is_hex(c) : shape[i] == '9' ? !is_digit(c) : c != shape[i]) return 0;
  }
  return shape.size();
}

std::size_t time_at(std::string_view text) {
  auto length = fits(text, "9999-99-99T99:99:99");
  if (length == 0) return 0;
  if (length < text.size() && text[length] == '.')
    for (++length; length < text.size() && is_digit(text[length]);) ++length;
  return length < text.size() && text[length] == 'Z' ? length + 1 : 0;
}

std::size_t address_at(std::string_view text) {
  if (!text.starts_with("10.")) return 0;
  std::size_t length = 2;
  for (int part = 0; part < 3; ++part) {
    if (length >= text.size() || text[length] != '.') return 0;
    const auto from = ++length;
    while (length < text.size() && is_digit(text[length])) ++length;
    if (length == from) return 0;
  }
  return length;
}

std::string without_chance(std::string text, const Renames& renames) {
  for (const auto& [name, stable] : renames)
    for (auto at = text.find(name); at != std::string::npos;
         at = text.find(name, at + stable.size()))
      text.replace(at, name.size(), stable);
  std::string out;
  for (std::string_view rest = text; !rest.empty();) {
    const bool within = !out.empty() && (is_hex(out.back()) || out.back() == '.');
    if (const auto uid = within ? 0 : fits(rest, "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx")) {
      out += "<uid>";
      rest.remove_prefix(uid);
    } else if (const auto time = within ? 0 : time_at(rest)) {
      out += "<time>";
      rest.remove_prefix(time);
    } else if (const auto address = within ? 0 : address_at(rest)) {
      out += "<address>";
      rest.remove_prefix(address);
    } else {
      out += rest.front();
      rest.remove_prefix(1);
    }
  }
  return out;
}

}  // namespace

std::vector<std::string> World::picture(const std::function<bool(Json&)>& of) const {
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
    if (of && !of(bare)) continue;
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
