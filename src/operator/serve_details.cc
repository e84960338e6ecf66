#include "operator/serve_details.h"

namespace manta::operator_ {
namespace {

void copy_text(const Json& from, std::string_view key, JsonObject& to) {
  if (const auto* value = find(from, {key}); value && value->is_string()) to[key] = *value;
}

JsonObject state_of(const Json& from) {
  JsonObject out;
  copy_text(from, "status", out);
  copy_text(from, "message", out);
  return out;
}

JsonObject application_of(const Json& from) {
  auto out = state_of(from);
  if (const auto* config = find(from, {"deployed_app_config"}); config && config->is_object())
    out["deployed_app_config"] = *config;
  JsonObject deployments;
  for (const auto& [name, deployment] : object_at(from, {"deployments"}))
    deployments[name] = state_of(deployment);
  if (!deployments.empty()) out["deployments"] = std::move(deployments);
  return out;
}

}  // namespace

JsonObject serve_essentials(const Json& details) {
  JsonObject applications;
  for (const auto& [name, application] : object_at(details, {"applications"}))
    applications[name] = application_of(application);
  return JsonObject{{"applications", std::move(applications)}};
}

}  // namespace manta::operator_
