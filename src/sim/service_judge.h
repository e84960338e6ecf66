// Laws about RayServices: a cluster that their Service sends requests to is not deleted; and in the
// end there is one cluster, of the newest spec, which serves the newest config.
#pragma once

#include "sim/serve_double.h"
#include "sim/world.h"

#include <string>
#include <vector>

namespace manta::sim {

class ServiceJudge {
 public:
  ServiceJudge(World& world, std::vector<std::string>& broken) : world_(world), broken_(broken) {}

  void hear(const kube::Request& request);
  void judge_end(const ServeDouble& serve);

 private:
  void judge_end(const Json& service, const ServeDouble& serve);
  /// The cluster that the Service for requests selects; empty: there is none.
  std::string serving(const Json& service) const;

  World& world_;
  std::vector<std::string>& broken_;
};

}  // namespace manta::sim
