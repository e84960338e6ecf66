#include "controllers/writes.h"

#include <algorithm>

namespace manta::controllers {

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

kube::Write update_status(const kube::Resource& resource, const kube::ObjectMeta& meta,
                          Json status) {
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
                   {"status", std::move(status)}}};
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

kube::EventNote normal(std::string_view reason, std::string_view action, std::string note) {
  return {kube::EventType::Normal, std::string(reason), std::string(action), std::move(note)};
}

kube::EventNote warning(std::string_view reason, std::string_view action, std::string note) {
  return {kube::EventType::Warning, std::string(reason), std::string(action), std::move(note)};
}

std::string created_key(const Json& body) {
  const auto key = kube::key_of(body);
  return key.namespace_ + "/" + (key.name.empty() ? "{name}" : key.name);
}

}  // namespace manta::controllers
