// Whether a Node is still there, as a fact: planners ask about the one Node that matters to them,
// so nobody caches thousands of them. Everything else is passed on.
//
// Request: {"name": NODE}, target kNodeTarget. Answer: {"exists": bool}. An error when it cannot be
// told, as when the operator may not read Nodes.
#pragma once

#include "kube/api.h"
#include "kube/runtime.h"

namespace manta::operator_ {

class NodeFacts final : public kube::Outside {
 public:
  NodeFacts(kube::Api& api, kube::Outside& rest) : api_(api), rest_(rest) {}

  Task<Result<Json>> call(std::string target, Json request) override;

 private:
  Task<Result<Json>> look_for(std::string name);

  kube::Api& api_;
  kube::Outside& rest_;
};

}  // namespace manta::operator_
