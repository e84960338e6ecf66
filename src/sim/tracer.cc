#include "sim/tracer.h"

#include <fmt/format.h>

namespace manta::sim {
namespace {

/// " active=s0-abcde:100/60": a RayService's cluster, the capacity that it was told and its part
/// of the traffic.
std::string glance_at_cluster(const Json& service, const char* which, const char* label) {
  const auto* cluster = find(service, {"status", which});
  const auto name = cluster ? string_at(*cluster, {"rayClusterName"}) : std::string_view();
  if (name.empty()) return {};
  const auto percent = [&](const char* field) {
    return find(*cluster, {field}) ? fmt::to_string(int_at(*cluster, {field})) : "-";
  };
  return fmt::format(" {}={}:{}/{}", label, name, percent("targetCapacity"),
                     percent("trafficRoutedPercent"));
}

/// " s0-abcde-serve-svc:60": where an HTTPRoute sends requests.
std::string glance_at_weights(const Json& route) {
  std::string text;
  for (const auto& rule : array_at(route, {"spec", "rules"}))
    for (const auto& backend : array_at(rule, {"backendRefs"}))
      text += fmt::format(" {}:{}", string_at(backend, {"name"}), int_at(backend, {"weight"}, 1));
  return text;
}

/// What people look at first.
std::string glance(const Json& object) {
  std::string text;
  for (const auto* field : {"phase", "state", "jobDeploymentStatus", "jobStatus", "reason"})
    if (const auto value = string_at(object, {"status", field}); !value.empty())
      text += fmt::format(" {}={}", field, value);
  if (const auto generation = int_at(object, {"metadata", "generation"}); generation > 0)
    text += fmt::format(" generation={}/{}", int_at(object, {"status", "observedGeneration"}),
                        generation);
  text += glance_at_cluster(object, "activeServiceStatus", "active");
  text += glance_at_cluster(object, "pendingServiceStatus", "pending");
  text += glance_at_weights(object);
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
