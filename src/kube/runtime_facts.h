// Polls what plans want to know of systems outside Kubernetes.
//
// One poll per object and fact. Requests of one circuit share a breaker: after three failures in a
// row only one request at a time probes it, ever more rarely, until one succeeds; the other facts
// of that circuit read as failing without being asked. What hangs delays nobody else.
#pragma once

#include "base/async.h"
#include "base/random.h"
#include "kube/plan.h"
#include "kube/runtime.h"
#include "kube/runtime_gate.h"

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace manta::kube {

struct FactCircuit;

/// One object's facts.
struct ObjectFacts {
  Facts values = {};
  std::function<void()> changed = {};  // an answer differs, or began or ceased to fail

  struct Poll;
  std::map<std::string, std::shared_ptr<Poll>, std::less<>> polls = {};
  FairGate::Queue queue = {};
};

class FactPoller {
 public:
  FactPoller(Loop& loop, Outside& outside, Random& random, Scope& scope);
  ~FactPoller();

  /// Polls exactly these from now on; new ones, and those whose query changed, at once.
  void want(const std::shared_ptr<ObjectFacts>& facts, const std::vector<FactRequest>& requests);
  /// What is known is from before a call of ours to the outside: it is forgotten and asked again.
  void refresh(const std::shared_ptr<ObjectFacts>& facts);
  /// No new requests; those in flight end in the scope.
  void stop() { stopped_ = true; }

 private:
  using Poll = ObjectFacts::Poll;

  void end(ObjectFacts& facts, std::string_view name);
  void schedule(const std::shared_ptr<ObjectFacts>& facts, const std::shared_ptr<Poll>& poll,
                Duration delay);
  void due(const std::shared_ptr<ObjectFacts>& facts, const std::shared_ptr<Poll>& poll);
  Task<void> ask(std::shared_ptr<ObjectFacts> facts, std::shared_ptr<Poll> poll);
  void take(ObjectFacts& facts, const Poll& poll, Result<Json> answer, Time at);
  std::shared_ptr<FactCircuit> circuit(const std::string& name);

  Loop& loop_;
  Outside& outside_;
  Random& random_;
  Scope& scope_;
  FairGate gate_;
  bool stopped_ = false;
  std::map<std::string, std::weak_ptr<FactCircuit>> circuits_ = {};
};

}  // namespace manta::kube
