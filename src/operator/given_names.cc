#include "operator/given_names.h"

#include "controllers/rayservice/seen.h"
#include "kube/endpoint_slice_view.h"
#include "operator/bare_views.h"
#include "ray/builders/cluster_facts.h"
#include "ray/labels.h"

namespace manta::operator_ {
namespace {

// Services of Ray's names are few, whoever made them.
bool has_usual_name(std::string_view name) {
  return name.ends_with("-head-svc") || name.ends_with("-serve-svc");
}

}  // namespace

GivenNames::GivenNames(kube::Cache<ray::RayCluster>& clusters,
                       kube::Cache<ray::RayService>& services) {
  clusters.listen([this, &clusters](const kube::ObjectMeta* before, const kube::ObjectMeta* after) {
    const auto& key = (after ? after : before)->key;
    const auto cluster = clusters.get(key);
    give(of_clusters_, key, cluster ? ray::head_service_name(*cluster) : std::string());
  });
  services.listen([this, &services](const kube::ObjectMeta* before, const kube::ObjectMeta* after) {
    const auto& key = (after ? after : before)->key;
    const auto service = services.get(key);
    give(of_services_, key,
         service ? controllers::rayservice::serve_service_name(*service) : std::string());
  });
}

void GivenNames::give(Names& names, const kube::ObjectKey& giver, std::string name) {
  if (has_usual_name(name)) name.clear();
  const auto found = names.find(giver);
  if (found != names.end()) {
    if (found->second == name) return;
    const auto given = given_.find({giver.namespace_, found->second});
    if (--given->second == 0) given_.erase(given);
    names.erase(found);
  }
  if (name.empty()) return;
  ++given_[{giver.namespace_, name}];
  names.emplace(giver, std::move(name));
}

bool GivenNames::concerns(const Json& service) const {
  return has_usual_name(string_at(service, {"metadata", "name"})) || has_ray_mark(service) ||
         given_.contains(kube::key_of(service));
}

bool GivenNames::concerns_serving(const Json& slice) const {
  const auto& labels = object_at(slice, {"metadata", "labels"});
  const std::string service(string_at(slice, {"metadata", "labels", kube::kLabelServiceName}));
  return labels.contains(ray::kLabelServe) || service.ends_with("-serve-svc") ||
         given_.contains({kube::key_of(slice).namespace_, service});
}

std::vector<kube::ObjectKey> GivenNames::givers(const Names& names,
                                                const kube::ObjectKey& service) const {
  std::vector<kube::ObjectKey> givers;
  if (given_.contains(service))
    for (const auto& [giver, name] : names)
      if (giver.namespace_ == service.namespace_ && name == service.name) givers.push_back(giver);
  return givers;
}

std::vector<kube::ObjectKey> GivenNames::clusters_of(const kube::ObjectKey& service) const {
  return givers(of_clusters_, service);
}

std::vector<kube::ObjectKey> GivenNames::services_of(const kube::ObjectKey& service) const {
  return givers(of_services_, service);
}

}  // namespace manta::operator_
