#include "controllers/rayservice/gateway_api.h"

#include <algorithm>

namespace manta::controllers::rayservice {

const kube::Resource kGateways = {"gateway.networking.k8s.io", "v1", "gateways", "Gateway", true};
const kube::Resource kHttpRoutes = {"gateway.networking.k8s.io", "v1", "httproutes", "HTTPRoute",
                                    true};

namespace {

using SameItem = bool (*)(const Json& left, const Json& right);

bool same_lists(const Json& left, const Json& right, std::string_view key, SameItem same) {
  const auto& l = array_at(left, {key});
  const auto& r = array_at(right, {key});
  return std::ranges::equal(l, r, same);
}

bool same_text(const Json& left, const Json& right, std::string_view key) {
  return string_at(left, {key}) == string_at(right, {key});
}

bool same_listener(const Json& left, const Json& right) {
  return same_text(left, right, "name") && same_text(left, right, "protocol") &&
         int_at(left, {"port"}) == int_at(right, {"port"});
}

bool same_document(const Json& left, const Json& right) {
  return canonical_json(left) == canonical_json(right);
}

bool same_parent(const Json& left, const Json& right) {
  return same_text(left, right, "name") && same_text(left, right, "namespace");
}

bool same_backend(const Json& left, const Json& right) {
  return same_parent(left, right) && int_at(left, {"weight"}, 1) == int_at(right, {"weight"}, 1) &&
         int_at(left, {"port"}) == int_at(right, {"port"});
}

bool same_rule(const Json& left, const Json& right) {
  return same_lists(left, right, "matches", same_document) &&
         same_lists(left, right, "filters", same_document) &&
         same_lists(left, right, "backendRefs", same_backend);
}

bool is_true(const std::vector<kube::ConditionView>& conditions, std::string_view type) {
  return std::ranges::any_of(conditions, [&](const auto& condition) {
    return condition.type == type && condition.status == "True";
  });
}

}  // namespace

bool same_gateway(const Json& live, const Json& wanted) {
  return same_text(live, wanted, "gatewayClassName") &&
         same_lists(live, wanted, "listeners", same_listener);
}

bool same_route(const Json& live, const Json& wanted) {
  return same_lists(live, wanted, "hostnames", same_document) &&
         same_lists(live, wanted, "parentRefs", same_parent) &&
         same_lists(live, wanted, "rules", same_rule);
}

std::optional<std::string> missing_gateway_condition(const kube::SpecView& gateway) {
  const auto conditions = kube::parse_conditions(gateway.status);
  for (const auto* type : {"Accepted", "Programmed"})
    if (!is_true(conditions, type)) return type;
  return std::nullopt;
}

bool is_route_ready(const kube::SpecView& route, const kube::ObjectKey& gateway) {
  return std::ranges::any_of(array_at(route.status, {"parents"}), [&](const Json& parent) {
    const auto namespace_ = string_at(parent, {"parentRef", "namespace"});
    if (string_at(parent, {"parentRef", "name"}) != gateway.name) return false;
    if (!namespace_.empty() && namespace_ != gateway.namespace_) return false;
    const auto conditions = kube::parse_conditions(parent);
    return is_true(conditions, "Accepted") && is_true(conditions, "ResolvedRefs");
  });
}

std::optional<std::int32_t> weight_of(const Json& route_spec, std::string_view service) {
  const auto& rules = array_at(route_spec, {"rules"});
  if (rules.empty()) return std::nullopt;
  for (const auto& backend : array_at(rules.front(), {"backendRefs"}))
    if (string_at(backend, {"name"}) == service)
      return static_cast<std::int32_t>(
          std::clamp<std::int64_t>(int_at(backend, {"weight"}, 1), 0, 1'000'000));
  return std::nullopt;
}

}  // namespace manta::controllers::rayservice
