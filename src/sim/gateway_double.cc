#include "sim/gateway_double.h"

#include "controllers/rayservice/gateway_api.h"

namespace manta::sim {
namespace {

using namespace std::chrono_literals;
using controllers::rayservice::kGateways;
using controllers::rayservice::kHttpRoutes;

Json condition(std::string_view type, bool is) {
  return {{"type", type}, {"status", is ? "True" : "False"}, {"reason", type}};
}

bool concerns(const Json& object) {
  const auto kind = string_at(object, {"kind"});
  return kind == kGateways.kind || kind == kHttpRoutes.kind;
}

}  // namespace

GatewayDouble::GatewayDouble(Loop& loop, kube::Api& api, Mirror& mirror)
    : loop_(loop), api_(api), mirror_(mirror), scope_(loop) {
  mirror.listen([this](const Change& change) {
    if (!change.after.is_null() && concerns(change.after)) see(change.after);
  });
}

void GatewayDouble::set_up(bool up) {
  up_ = up;
  for (const auto* resource : {&kGateways, &kHttpRoutes})
    for (const auto* object : mirror_.list(resource->kind)) see(*object);
}

void GatewayDouble::see(const Json& object) {
  if (object_at(object, {"status"}) == wanted_status(object).as_object()) return;
  scope_.spawn("publish", publish(std::string(string_at(object, {"kind"})), name_of(object)));
}

Json GatewayDouble::wanted_status(const Json& object) const {
  if (string_at(object, {"kind"}) == kGateways.kind)
    return {{"conditions", JsonArray{condition("Accepted", true), condition("Programmed", up_)}}};
  JsonArray parents;
  for (const auto& parent : array_at(object, {"spec", "parentRefs"}))
    parents.push_back(
        {{"parentRef", {{"name", string_at(parent, {"name"})}}},
         {"conditions", JsonArray{condition("Accepted", up_), condition("ResolvedRefs", up_)}}});
  return {{"parents", std::move(parents)}};
}

Task<void> GatewayDouble::publish(std::string kind, std::string name) {
  if (!co_await sleep(loop_, 1s, scope_.stop_token())) co_return;
  const auto* object = mirror_.find(kind, name);
  if (!object) co_return;  // gone meanwhile
  Json status = wanted_status(*object);
  if (object_at(*object, {"status"}) == status.as_object()) co_return;
  const auto& resource = kind == kGateways.kind ? kGateways : kHttpRoutes;
  const Json patch = {{"status", std::move(status)}};
  (void)co_await api_.patch(resource, {"default", name}, kube::PatchType::Merge, patch, "status");
}

}  // namespace manta::sim
