#include "local/controllers/service_accounts.h"

namespace manta::local {
namespace {

using kube::Write;
using kube::WriteKind;

Write create(const kube::Resource& resource, const std::string& namespace_, JsonObject body,
             std::string_view name) {
  body["apiVersion"] = "v1";
  body["kind"] = resource.kind;
  body["metadata"] = JsonObject{{"name", name}, {"namespace", namespace_}};
  return {.kind = WriteKind::Create,
          .resource = resource,
          .key = {namespace_, std::string(name)},
          .body = std::move(body),
          .lane = resource.plural,
          .tolerate = {ErrorCode::AlreadyExists}};
}

}  // namespace

kube::Plan plan_namespace_contents(const NamespaceSeen& seen, const std::string& ca_pem) {
  kube::Plan plan;
  if (seen.namespace_ == nullptr || seen.namespace_->meta.deleting) return plan;
  const auto& name = seen.namespace_->meta.key.name;
  kube::Stage stage;
  if (!seen.has_default_account)
    stage.push_back(create(kube::kServiceAccounts, name, {}, "default"));
  const JsonObject data{{"ca.crt", ca_pem}};
  if (seen.root_ca == nullptr) {
    stage.push_back(create(kube::kConfigMaps, name, {{"data", data}}, "kube-root-ca.crt"));
  } else if (seen.root_ca->data != data) {
    stage.push_back({.kind = WriteKind::Patch,
                     .resource = kube::kConfigMaps,
                     .key = seen.root_ca->meta.key,
                     .body = JsonObject{{"data", data}},
                     .lane = "configmaps"});
  }
  if (!stage.empty()) plan.stages.push_back(std::move(stage));
  return plan;
}

}  // namespace manta::local
