#include "local/apiserver/conversion.h"

#include <array>
#include <utility>

namespace manta::local {
namespace {

// core/v1's name, events.k8s.io/v1's name. Source: Kubernetes pkg/apis/events/v1 conversion.
constexpr std::array<std::pair<std::string_view, std::string_view>, 7> kEventFields{{
    {"involvedObject", "regarding"},
    {"message", "note"},
    {"source", "deprecatedSource"},
    {"firstTimestamp", "deprecatedFirstTimestamp"},
    {"lastTimestamp", "deprecatedLastTimestamp"},
    {"count", "deprecatedCount"},
    {"reportingComponent", "reportingController"},
}};

bool is_new_event(const Kind& kind) { return kind.resource.group == "events.k8s.io"; }

void rename(JsonObject& object, std::string_view from, std::string_view to) {
  auto* value = object.if_contains(from);
  if (!value) return;
  Json moved = std::move(*value);
  object.erase(from);
  object[to] = std::move(moved);
}

}  // namespace

bool stored_as_is(const Kind& kind) { return kind.resource.api_version() == kind.storage_version; }

Json from_storage(const Kind& kind, Json object) {
  if (stored_as_is(kind) || !object.is_object()) return object;
  auto& members = object.get_object();
  members["apiVersion"] = kind.resource.api_version();
  if (is_new_event(kind))
    for (const auto& [core, modern] : kEventFields) rename(members, core, modern);
  return object;
}

Json to_storage(const Kind& kind, Json object) {
  if (stored_as_is(kind) || !object.is_object()) return object;
  auto& members = object.get_object();
  members["apiVersion"] = kind.storage_version;
  if (is_new_event(kind)) {
    for (const auto& [core, modern] : kEventFields) rename(members, modern, core);
    if (!members.contains("source")) members["source"] = JsonObject{};
  }
  return object;
}

}  // namespace manta::local
