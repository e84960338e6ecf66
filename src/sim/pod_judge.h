// Laws about Pods, judged from what is stored and not from what the operator believes:
//
// - a worker is made only while its group has fewer live ones than its spec wants;
// - a head is made with the image that its cluster's spec asks for;
// - each deletion of a Pod by the operator has a cause that anybody can see: the Pod has ended, the
//   autoscaler named it, there were more than wanted, its group or cluster sleeps, goes, or is
//   recreated, or its multi-host replica has lost a Pod.
//
// The operator acts on news that may be a little old, so a spec or a cause counts for `slack` after
// it has gone.
#pragma once

#include "ray/types.h"
#include "sim/world.h"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace manta::sim {

class PodJudge {
 public:
  PodJudge(World& world, Duration slack, std::vector<std::string>& broken);

  /// A write of the operator, before it is made.
  void hear(const kube::Request& request);

 private:
  struct Version {
    ray::RayCluster cluster = {};
    std::optional<Time> replaced = {};
  };
  struct Group {
    std::optional<Time> surplus = {};  // last time there were more than wanted
    std::optional<Time> lost = {};     // last time a Pod of it was lost
  };
  struct Cluster {
    std::vector<Version> versions = {};
    std::map<std::string, Group> groups = {};
    bool gone = false;
  };

  void at_commit(const Change& change);
  void see_cluster(const Change& change);
  void see_pod(const Change& change);
  void look_for_surplus(const std::string& uid);
  bool recent(std::optional<Time> at) const;
  std::vector<const ray::RayCluster*> recent_versions(const Cluster& cluster) const;
  std::int64_t live_in(const std::string& cluster, std::string_view group,
                       std::string_view owner) const;

  void judge_creation(const Json& pod);
  void judge_head(const Json& pod);
  void judge_deletion(const Json& pod);
  void judge_collection(const kube::Request& request);
  bool may_go(const Json& pod, const Cluster& cluster) const;
  bool all_may_go(const Cluster& cluster, std::string_view name, std::string_view group) const;

  World& world_;
  Duration slack_;
  std::vector<std::string>& broken_;
  std::map<std::string, Cluster> clusters_ = {};  // by uid
};

}  // namespace manta::sim
