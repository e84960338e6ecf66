// What must hold whatever happens. Some laws are checked at every commit, the rest when the world
// has settled.
#pragma once

#include "sim/mirror.h"
#include "sim/operator_life.h"

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace manta::sim {

class Laws {
 public:
  Laws(Mirror& mirror, const WriteLog& writes);

  /// Every owner is there; every deletion has its event (unless a crash took the events along).
  void check_settled(bool events_may_be_lost);
  const std::vector<std::string>& broken() const { return broken_; }
  std::vector<std::string> take_broken() { return std::exchange(broken_, {}); }

 private:
  void at_commit(const Change& change);
  void one_live_head(const Change& change);
  void generation_never_goes_back(const Change& change);
  void status_is_of_this_spec(const Change& change);
  void note_going(const Change& change);
  bool was_going(std::string_view cluster, Time at) const;
  void owners_live();
  void deletions_are_explained();

  Mirror& mirror_;
  const WriteLog& writes_;
  std::vector<std::string> broken_ = {};
  /// When each RayCluster of a name began to go (or had gone), and when another came in its place.
  std::map<std::string, std::map<Time, bool>, std::less<>> going_ = {};
};

}  // namespace manta::sim
