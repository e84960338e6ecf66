// Remembers what was sent to Ray Serve, which Ray itself does not tell: the answer to serve-details
// gets a member
//
//   "submitted": {"config": {…}, "head": "<uid>/<restarts>", "at": 1700000000000000, "listed":
//   true}
//
// of the last update-serve to the same host that succeeded; `head` as that request named it, `at`
// in microseconds of the epoch, and `listed` once Ray has listed an application since. So a planner
// can tell a config that is to be sent from one that was sent and takes its time, and stays pure.
// The memory is this process's: after a restart each config is sent once more, which Ray takes as
// no change.
#pragma once

#include "base/loop.h"
#include "kube/runtime.h"

#include <list>
#include <string>
#include <unordered_map>

namespace manta::operator_ {

class ServeLedger final : public kube::Outside {
 public:
  ServeLedger(Loop& loop, kube::Outside& outside, std::size_t kept = 1000)
      : loop_(loop), outside_(outside), kept_(kept) {}

  Task<Result<Json>> call(std::string target, Json request) override;

 private:
  struct Entry {
    std::string host = {};
    Json config = {};
    std::string head = {};
    Time at = {};
    bool listed = false;
  };
  using Entries = std::list<Entry>;  // the newest first

  void note(std::string host, const Json& request);
  void tell(const std::string& host, Json& answer);

  Loop& loop_;
  kube::Outside& outside_;
  std::size_t kept_;
  Entries entries_ = {};
  std::unordered_map<std::string, Entries::iterator> by_host_ = {};
};

}  // namespace manta::operator_
