// Which of a cluster's thousands of Services concern Ray: those with Ray's labels or owners, and
// those that stand where one of ours is to be, by the names that we give or that specs give. PF-04
#pragma once

#include "kube/cache.h"
#include "ray/types.h"

#include <map>
#include <string>
#include <vector>

namespace manta::operator_ {

class GivenNames {
 public:
  /// Listens to both, which outlive it.
  GivenNames(kube::Cache<ray::RayCluster>& clusters, kube::Cache<ray::RayService>& services);
  GivenNames(const GivenNames&) = delete;
  GivenNames& operator=(const GivenNames&) = delete;

  bool concerns(const Json& service) const;
  /// Whether an EndpointSlice may be of a Service that stands before a RayService's applications:
  /// told by the Service's name and by its labels, which Kubernetes copies. Not by the Service: a
  /// slice may be seen before it, and never change again.
  bool concerns_serving(const Json& slice) const;
  /// The RayClusters whose specs give their head Service this unusual name.
  std::vector<kube::ObjectKey> clusters_of(const kube::ObjectKey& service) const;
  /// The RayServices whose specs give their serve Service this unusual name.
  std::vector<kube::ObjectKey> services_of(const kube::ObjectKey& service) const;

 private:
  using Names = std::map<kube::ObjectKey, std::string>;  // by the object whose spec gives them
  std::vector<kube::ObjectKey> givers(const Names& names, const kube::ObjectKey& service) const;
  void give(Names& names, const kube::ObjectKey& giver, std::string name);

  Names of_clusters_ = {};
  Names of_services_ = {};
  std::map<kube::ObjectKey, int> given_ = {};  // by how many
};

}  // namespace manta::operator_
