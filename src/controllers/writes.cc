#include "controllers/writes.h"

#include "controllers/transition.h"

#include <algorithm>

namespace manta::controllers {
namespace {

JsonObject metadata_of(const kube::ObjectMeta& meta) {
  JsonObject out{{"name", meta.key.name},
                 {"namespace", meta.key.namespace_},
                 {"uid", meta.uid},
                 {"resourceVersion", std::to_string(meta.resource_version)}};
  const auto put_map = [&](std::string_view field, const kube::StringMap& map) {
    if (map.empty()) return;
    JsonObject object;
    for (const auto& [key, value] : map) object[key] = value;
    out[field] = std::move(object);
  };
  put_map("labels", meta.labels);
  put_map("annotations", meta.annotations);
  JsonArray owners;
  for (const auto& owner : meta.owners) owners.push_back(kube::to_json(owner));
  if (!owners.empty()) out["ownerReferences"] = std::move(owners);
  JsonArray finalizers(meta.finalizers.begin(), meta.finalizers.end());
  if (!finalizers.empty()) out["finalizers"] = std::move(finalizers);
  return out;
}

}  // namespace

kube::Write create(const kube::Resource& resource, Json body, std::string_view lane) {
  const auto key = kube::key_of(body);
  return {.kind = kube::WriteKind::Create,
          .resource = resource,
          .key = key,
          .body = std::move(body),
          .lane = std::string(lane)};
}

kube::Write remove(const kube::Resource& resource, const kube::ObjectMeta& meta,
                   std::string_view lane) {
  return {.kind = kube::WriteKind::Delete,
          .resource = resource,
          .key = meta.key,
          .precondition_uid = meta.uid,
          .lane = std::string(lane),
          .tolerate = {ErrorCode::NotFound}};
}

kube::Write update(const kube::Resource& resource, const kube::SpecView& changed,
                   std::string_view lane) {
  JsonObject body{{"apiVersion", resource.api_version()},
                  {"kind", resource.kind},
                  {"metadata", metadata_of(changed.meta)},
                  {"spec", changed.spec}};
  // Where a kind has no status subresource, what is left out is gone.
  if (!changed.status.is_null()) body["status"] = changed.status;
  return {.kind = kube::WriteKind::Update,
          .resource = resource,
          .key = changed.meta.key,
          .body = std::move(body),
          .lane = std::string(lane)};
}

kube::Write update_status(const kube::Resource& resource, const kube::ObjectMeta& meta,
                          const Json& before, Json status) {
  auto why = transition(before, status);
  return {.kind = kube::WriteKind::Update,
          .resource = resource,
          .key = meta.key,
          .subresource = "status",
          .body = {{"apiVersion", resource.api_version()},
                   {"kind", resource.kind},
                   {"metadata",
                    {{"name", meta.key.name},
                     {"namespace", meta.key.namespace_},
                     {"uid", meta.uid},
                     {"resourceVersion", std::to_string(meta.resource_version)}}},
                   {"status", std::move(status)}},
          .why = std::move(why)};
}

kube::Write set_finalizer(const kube::Resource& resource, const kube::ObjectMeta& meta,
                          std::string_view finalizer, bool present) {
  JsonArray finalizers;
  for (const auto& name : meta.finalizers)
    if (name != finalizer) finalizers.emplace_back(name);
  if (present) finalizers.emplace_back(finalizer);
  return {.kind = kube::WriteKind::Patch,
          .resource = resource,
          .key = meta.key,
          .body = {{"metadata",
                    {{"finalizers", std::move(finalizers)},
                     {"uid", meta.uid},
                     {"resourceVersion", std::to_string(meta.resource_version)}}}},
          .patch_type = kube::PatchType::Merge,
          .lane = "finalizer",
          .why = present ? "our finalizer is missing" : "our finalizer has done its work"};
}

JsonArray replace_spec(const kube::ServiceView& live, JsonObject spec) {
  spec.erase("clusterIP");
  if (!live.clusterIP.empty()) spec["clusterIP"] = live.clusterIP;
  if (live.clusterIP == "None") spec.erase("type");  // headless ones cannot become anything else
  // Given by a cloud's webhook as a rule.
  if (!live.loadBalancerClass.empty() && string_at(spec, {"type"}) == "LoadBalancer")
    spec["loadBalancerClass"] = live.loadBalancerClass;
  return {{{"op", "test"}, {"path", "/metadata/uid"}, {"value", live.meta.uid}},
          {{"op", "replace"}, {"path", "/spec"}, {"value", std::move(spec)}}};
}

kube::EventNote normal(std::string_view reason, std::string_view action, std::string note) {
  return {kube::EventType::Normal, std::string(reason), std::string(action), std::move(note)};
}

kube::EventNote warning(std::string_view reason, std::string_view action, std::string note) {
  return {kube::EventType::Warning, std::string(reason), std::string(action), std::move(note)};
}

void look_again_within(kube::Plan& plan, Duration wait) {
  if (wait <= Duration::zero()) return;
  if (!plan.look_again || wait < *plan.look_again) plan.look_again = wait;
}

std::string created_key(const Json& body) {
  const auto key = kube::key_of(body);
  return key.namespace_ + "/" + (key.name.empty() ? "{name}" : key.name);
}

}  // namespace manta::controllers
