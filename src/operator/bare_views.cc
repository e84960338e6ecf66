#include "operator/bare_views.h"

#include <algorithm>

namespace manta::operator_ {
namespace {

// How the names end that ray/names.h gives; long ones are clipped in front.
constexpr std::string_view kIngressEnd = "-head-ingress";
constexpr std::string_view kClaimEnd = "-gcs-pvc";

bool is_named(const Json& object, std::string_view end) {
  return string_at(object, {"metadata", "name"}).ends_with(end);
}

}  // namespace

bool has_ray_mark(const Json& object) {
  const auto& labels = object_at(object, {"metadata", "labels"});
  const auto& owners = array_at(object, {"metadata", "ownerReferences"});
  return std::ranges::any_of(
             labels, [](const auto& label) { return label.key().starts_with("ray.io/"); }) ||
         std::ranges::any_of(owners, [](const auto& owner) {
           return string_at(owner, {"apiVersion"}).starts_with("ray.io/");
         });
}

Result<kube::MetaView> project_bare(const Json& object) {
  auto view = kube::project_meta(object);
  if (view) {
    view->meta.labels.clear();
    view->meta.finalizers.clear();
  }
  return view;
}

Result<kube::SpecView> project_claim(const Json& object) {
  if (has_ray_mark(object) || is_named(object, kClaimEnd)) return kube::project_spec(object);
  auto bare = project_bare(object);
  if (!bare) return std::unexpected(std::move(bare.error()));
  return kube::SpecView{.meta = std::move(bare->meta)};
}

bool concerns_head(const Json& ingress) {
  return has_ray_mark(ingress) || is_named(ingress, kIngressEnd);
}

}  // namespace manta::operator_
