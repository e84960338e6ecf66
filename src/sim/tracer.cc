#include "sim/tracer.h"

#include <fmt/format.h>

namespace manta::sim {
namespace {

/// What people look at first.
std::string glance(const Json& object) {
  std::string text;
  for (const auto* field : {"phase", "state", "jobDeploymentStatus", "jobStatus", "reason"})
    if (const auto value = string_at(object, {"status", field}); !value.empty())
      text += fmt::format(" {}={}", field, value);
  if (const auto generation = int_at(object, {"metadata", "generation"}); generation > 0)
    text += fmt::format(" generation={}/{}", int_at(object, {"status", "observedGeneration"}),
                        generation);
  if (is_deleting(object)) text += " deleting";
  return text;
}

}  // namespace

void Tracer::follow(World& world) {
  world_ = &world;
  if (out_) world.mirror().listen([this](const Change& change) { at_commit(change); });
}

void Tracer::tell(const std::string& what) const {
  if (!out_) return;
  const auto now = world_ ? world_->loop().now() : Time{};
  constexpr Time kStart{std::chrono::seconds{1'700'000'000}};
  out_(fmt::format("{:9.3f} {}", std::chrono::duration<double>(now - kStart).count(), what));
}

Tracer::Say Tracer::say() const {
  if (!out_) return {};
  return [this](const std::string& what) { tell(what); };
}

void Tracer::at_commit(const Change& change) const {
  const auto kind = string_at(change.newest(), {"kind"});
  if (kind == "Event" || kind == "Lease") return;
  const auto* what = change.before.is_null() ? "new" : change.after.is_null() ? "gone" : "now";
  tell(fmt::format("{} {} {}{}", what, kind, name_of(change.newest()), glance(change.newest())));
}

}  // namespace manta::sim
