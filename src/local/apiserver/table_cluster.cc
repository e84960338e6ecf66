// The rows of the cluster's own objects.
#include "base/text.h"
#include "fmt/format.h"
#include "local/apiserver/table_cells.h"

#include <algorithm>

namespace manta::local {

JsonArray namespace_cells(const Json& object, Time now) {
  return {name_of(object), Json(string_at(object, {"status", "phase"})), Json(age(object, now))};
}

JsonArray node_cells(const Json& node, Time now) {
  std::string status = "Unknown";
  for (const auto& condition : array_at(node, {"status", "conditions"}))
    if (string_at(condition, {"type"}) == "Ready")
      status = string_at(condition, {"status"}) == "True" ? "Ready" : "NotReady";
  if (bool_at(node, {"spec", "unschedulable"})) status += ",SchedulingDisabled";
  std::vector<std::string> roles;
  for (const auto& [key, value] : object_at(node, {"metadata", "labels"}))
    if (std::string_view(key).starts_with("node-role.kubernetes.io/"))
      roles.emplace_back(std::string_view(key).substr(24));
  auto address = [&](std::string_view type) {
    for (const auto& entry : array_at(node, {"status", "addresses"}))
      if (string_at(entry, {"type"}) == type) return std::string(string_at(entry, {"address"}));
    return std::string("<none>");
  };
  return {name_of(node),
          Json(status),
          Json(roles.empty() ? "<none>" : join(roles)),
          Json(age(node, now)),
          Json(string_at(node, {"status", "nodeInfo", "kubeletVersion"})),
          Json(address("InternalIP")),
          Json(address("ExternalIP")),
          Json(text(node, {"status", "nodeInfo", "osImage"}, "<unknown>")),
          Json(text(node, {"status", "nodeInfo", "kernelVersion"}, "<unknown>")),
          Json(text(node, {"status", "nodeInfo", "containerRuntimeVersion"}, "<unknown>"))};
}

JsonArray event_cells(const Json& event, Time now) {
  // Either view of the object.
  const bool core = find(event, {"involvedObject"}) != nullptr;
  const std::string_view about = core ? "involvedObject" : "regarding";
  auto stamp = [&](std::initializer_list<std::string_view> names) {
    for (const auto name : names)
      if (const auto value = string_at(event, {name}); !value.empty()) return value;
    return string_at(event, {"eventTime"});
  };
  auto first = stamp({"firstTimestamp", "deprecatedFirstTimestamp"});
  auto last = stamp({"lastTimestamp", "deprecatedLastTimestamp"});
  auto count = int_at(event, {"count"}, int_at(event, {"deprecatedCount"}, 1));
  if (const auto series = string_at(event, {"series", "lastObservedTime"}); !series.empty()) {
    last = series;
    count = int_at(event, {"series", "count"});
  }
  const auto seen = age_of(last, now);
  const auto kind = lower_case(string_at(event, {about, "kind"}));
  auto source = string_at(event, {"source", "component"});
  if (source.empty())
    source = string_at(event, {core ? "reportingComponent" : "reportingController"});
  auto message = string_at(event, {core ? "message" : "note"});
  while (message.ends_with('\n')) message.remove_suffix(1);
  return {Json(seen),
          Json(string_at(event, {"type"})),
          Json(string_at(event, {"reason"})),
          Json(fmt::format("{}/{}", kind, string_at(event, {about, "name"}))),
          Json(string_at(event, {about, "fieldPath"})),
          Json(source),
          Json(message),
          Json(age_of(first, now)),
          Json(count),
          name_of(event)};
}

JsonArray lease_cells(const Json& object, Time now) {
  return {name_of(object), Json(string_at(object, {"spec", "holderIdentity"})),
          Json(age(object, now))};
}

JsonArray priority_cells(const Json& object, Time now) {
  return {name_of(object), Json(int_at(object, {"value"})),
          Json(bool_at(object, {"globalDefault"})), Json(age(object, now)),
          Json(string_at(object, {"preemptionPolicy"}))};
}

}  // namespace manta::local
