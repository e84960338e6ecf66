// Laws about RayServices:
//
// - a cluster that the status names, or that requests go to, is not deleted;
// - one that nobody names any more goes after rayClusterDeletionDelaySeconds:
// not sooner, and not
//   later than the operator's news may be old;
// - the weights behind a Gateway sum to 100;
// - requests are not turned away from a cluster that serves, but to one that
// does; and while one
//   serves, they do not go for long to clusters only that do not;
// - in the end there is one cluster, of the newest spec, which serves the
// newest config; of a
//   suspended RayService nothing is left.
#pragma once

#include "sim/serve_double.h"
#include "sim/world.h"

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace manta::sim {

class ServiceJudge {
 public:
  ServiceJudge(World& world, const ServeDouble& serve, Duration slack,
               std::vector<std::string>& broken);
  ~ServiceJudge();

  void hear(const kube::Request& request);
  /// Ray just lied about Serve: what the operator turns where before it asks again is not judged.
  void hear_lie() { lied_ = world_.loop().now(); }
  void judge_end();

 private:
  struct Cluster {
    std::optional<Time> unnamed = {};  // since when no status names it
    std::optional<Time> served = {};   // when it did last
    std::optional<Time> reached = {};  // when requests last went to it
    bool outstays = false;             // said once
  };

  void at_commit(const Change& change);
  void look_around();
  void look_at(const Json& service);
  void see_names(const Json& service);
  void judge_deletion(const std::string& name);
  void judge_weights(const Json& route);
  void judge_turn(const Json& service, const std::vector<std::string>& targets);
  void judge_end(const Json& service);
  void judge_serving(const Json& service);
  void judge_nothing_left(const Json& service);

  Mirror::Objects clusters_of(const Json& service) const;
  /// The clusters that requests go to.
  std::vector<std::string> targets_of(const Json& service) const;
  bool serves(const std::string& cluster) const;
  bool has_served(const std::string& cluster) const;
  void complain(const Json& service, const std::string& what);

  World& world_;
  const ServeDouble& serve_;
  Duration slack_;
  std::vector<std::string>& broken_;
  Loop::TimerId timer_ = {};
  Time lied_ = {};                                // when Ray last did, about Serve
  std::map<std::string, Cluster> clusters_ = {};  // by name: no two have the same
  struct Names {
    std::string text = {};
    Time since = {};
  };
  std::map<std::string, Names> names_ = {};  // by RayService: of the clusters in its status
  std::map<std::string, Time> lost_ = {};    // by RayService: requests reach nobody since
};

}  // namespace manta::sim
