#include "controllers/raycluster/follow_edits.h"

#include "controllers/raycluster/objects.h"
#include "controllers/writes.h"
#include "ray/builders/edit.h"
#include "ray/builders/service.h"
#include "ray/labels.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <vector>

namespace manta::controllers::raycluster {
namespace {

using Names = std::set<std::string, std::less<>>;

struct Applied {
  Names annotations = {};
  Names ports = {};
};

std::string name_of_port(const Json& port) {
  const auto name = string_at(port, {"name"});
  return name.empty() ? std::to_string(int_at(port, {"port"})) : std::string(name);
}

Applied applied_by(const Json& service) {
  Applied out;
  for (const auto& entry : object_at(service, {"metadata", "annotations"}))
    out.annotations.emplace(entry.key());
  for (const auto& port : array_at(service, {"spec", "ports"}))
    out.ports.insert(name_of_port(port));
  return out;
}

std::string text_of(const Applied& applied) {
  return canonical_json(
      Json{{"annotations", JsonArray(applied.annotations.begin(), applied.annotations.end())},
           {"ports", JsonArray(applied.ports.begin(), applied.ports.end())}});
}

Applied recorded_in(const kube::SpecView& live) {
  Applied out;
  const auto record = parse_json(live.meta.annotation(ray::kAnnotationServiceApplied));
  if (!record) return out;
  const auto read = [&](std::string_view part, Names& names) {
    for (const auto& name : array_at(*record, {part}))
      if (name.is_string()) names.emplace(name.get_string());
  };
  read("annotations", out.annotations);
  read("ports", out.ports);
  return out;
}

JsonObject annotation_changes(const kube::SpecView& live, const Json& wanted,
                              const Applied& before) {
  JsonObject changes;
  const auto& wants = object_at(wanted, {"metadata", "annotations"});
  for (const auto& entry : wants)
    if (entry.value().is_string() &&
        (!live.meta.annotations.contains(std::string(entry.key())) ||
         live.meta.annotation(entry.key()) != entry.value().get_string()))
      changes[entry.key()] = entry.value();
  for (const auto& name : before.annotations)
    if (!wants.contains(name) && live.meta.annotations.contains(name)) changes[name] = nullptr;
  auto record = text_of(applied_by(wanted));
  if (live.meta.annotation(ray::kAnnotationServiceApplied) != record)
    changes[ray::kAnnotationServiceApplied] = std::move(record);
  return changes;
}

// As the API server would store it in the place of `live`, which may be null.
Json completed(Json port, const Json* live) {
  auto& fields = port.as_object();
  if (!fields.contains("protocol")) fields["protocol"] = "TCP";
  if (!fields.contains("targetPort")) fields["targetPort"] = fields.at("port");
  if (live && !fields.contains("nodePort"))
    if (const auto* node_port = find(*live, {"nodePort"})) fields["nodePort"] = *node_port;
  return port;
}

JsonArray merged_ports(const JsonArray& live, const JsonArray& wanted, const Applied& before) {
  const auto find_in = [](const JsonArray& ports, const std::string& name) -> const Json* {
    const auto found =
        std::ranges::find_if(ports, [&](const auto& port) { return name_of_port(port) == name; });
    return found == ports.end() ? nullptr : &*found;
  };
  JsonArray out;
  for (const auto& port : wanted) out.push_back(completed(port, find_in(live, name_of_port(port))));
  for (const auto& port : live) {
    const auto name = name_of_port(port);
    if (!find_in(wanted, name) && !before.ports.contains(name)) out.push_back(port);
  }
  return out;
}

// Their order means nothing.
std::string text_of(const JsonArray& ports) {
  std::vector<std::string> texts;
  for (const auto& port : ports) texts.push_back(canonical_json(port));
  std::ranges::sort(texts);
  return fmt::format("{}", fmt::join(texts, "\n"));
}

const kube::ServiceView* own_head_service(const RayClusterSeen& seen) {
  if (seen.head_services.size() != 1) return nullptr;
  const auto& service = *seen.head_services.front();
  const auto* owner = service.meta.controller_owner();
  if (service.meta.deleting || !owner || owner->uid != seen.cluster->meta.uid) return nullptr;
  return &service;
}

const kube::ServiceView* own_whole_head_service(const RayClusterSeen& seen) {
  const auto* service = own_head_service(seen);
  return service && service->whole ? service : nullptr;
}

kube::Write edit(const kube::ServiceView& service, Json patch, std::string why) {
  const auto key = service.meta.key.to_string();
  return {.kind = kube::WriteKind::Patch,
          .resource = kube::kServices,
          .key = service.meta.key,
          .body = std::move(patch),
          .lane = "service-edits",
          .done_event = normal("UpdatedService", "Update", "Updated service " + key),
          .failed_event = warning("FailedToUpdateService", "Update",
                                  fmt::format("Failed updating service {}, {{error}}", key)),
          .why = std::move(why)};
}

}  // namespace

void record_applied(Json& service) {
  auto record = text_of(applied_by(service));
  ensure(service, {"metadata", "annotations", ray::kAnnotationServiceApplied}) = std::move(record);
}

Json service_patch(const kube::SpecView& live, const Json& wanted) {
  const auto before = recorded_in(live);
  auto annotations = annotation_changes(live, wanted, before);
  const auto& live_ports = array_at(live.spec, {"ports"});
  auto ports = merged_ports(live_ports, array_at(wanted, {"spec", "ports"}), before);
  const bool ports_differ = text_of(ports) != text_of(live_ports);
  if (annotations.empty() && !ports_differ) return nullptr;
  JsonObject metadata{{"uid", live.meta.uid},
                      {"resourceVersion", std::to_string(live.meta.resource_version)}};
  if (!annotations.empty()) metadata["annotations"] = std::move(annotations);
  JsonObject patch{{"metadata", std::move(metadata)}};
  if (ports_differ) patch["spec"] = JsonObject{{"ports", std::move(ports)}};
  return patch;
}

std::optional<kube::Write> update_head_service(const RayClusterSeen& seen,
                                               const Settings& settings) {
  const auto* service = own_whole_head_service(seen);
  if (!service) return std::nullopt;
  auto patch = service_patch(*service->whole, wanted_head_service(seen, settings));
  if (patch.is_null()) return std::nullopt;
  return edit(*service, std::move(patch), "the head Service differs from what the spec says now");
}

std::optional<kube::Write> update_head_selector(const RayClusterSeen& seen,
                                                const Settings& settings) {
  const auto* service = own_head_service(seen);
  if (!settings.build.stable_selectors || !service) return std::nullopt;
  const auto wanted = wanted_head_service(seen, settings);
  const auto& selector = object_at(wanted, {"spec", "selector"});
  if (canonical_json(ray::json_of(service->selector)) == canonical_json(Json(selector)))
    return std::nullopt;
  JsonObject changes;
  for (const auto& [label, value] : service->selector) changes[label] = nullptr;
  for (const auto& [label, value] : selector) changes[label] = value;
  return edit(
      *service,
      {{"metadata", {{"uid", service->meta.uid}}}, {"spec", {{"selector", std::move(changes)}}}},
      "labels of the head's template may change");
}

std::string head_service_drift(const RayClusterSeen& seen, const Settings& settings) {
  const auto* service = own_whole_head_service(seen);
  if (!service) return {};
  const auto wanted = wanted_head_service(seen, settings);
  std::vector<std::string> fields;
  const auto compare = [&](std::string_view field, std::string_view is, std::string_view wants) {
    if (is != wants) fields.push_back(fmt::format("{} is {}, not {}", field, is, wants));
  };
  compare("metadata.name", service->meta.key.name, string_at(wanted, {"metadata", "name"}));
  compare("spec.type", service->type, string_at(wanted, {"spec", "type"}, "ClusterIP"));
  const bool headless = string_at(wanted, {"spec", "clusterIP"}) == "None";
  if (headless != (service->clusterIP == "None"))
    compare("spec.clusterIP", service->clusterIP, headless ? "None" : "an address");
  if (fields.empty()) return {};
  return fmt::format("Service {} cannot be changed in place: {}; delete it, and it is made anew",
                     service->meta.key.to_string(), fmt::join(fields, ", "));
}

kube::Stage remove_ways_in(const RayClusterSeen& seen) {
  kube::Stage stage;
  const auto add = [&](const kube::Resource& resource, const kube::ObjectMeta& meta,
                       std::string_view kind, std::string_view what) {
    const auto* owner = meta.controller_owner();
    if (meta.deleting || !owner || owner->uid != seen.cluster->meta.uid) return;
    auto write = remove(resource, meta, "ingress");
    const auto key = meta.key.to_string();
    write.why = "enableIngress is off";
    write.done_event =
        normal(fmt::format("Deleted{}", kind), "Delete", fmt::format("Deleted {} {}", what, key));
    write.failed_event = warning(fmt::format("FailedToDelete{}", kind), "Delete",
                                 fmt::format("Failed deleting {} {}, {{error}}", what, key));
    stage.push_back(std::move(write));
  };
  if (seen.ingress) add(kube::kIngresses, seen.ingress->meta, "Ingress", "ingress");
  for (const auto& route : seen.routes) add(kRoutes, route->meta, "Route", "route");
  return stage;
}

}  // namespace manta::controllers::raycluster
