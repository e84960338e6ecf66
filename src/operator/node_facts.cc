#include "operator/node_facts.h"

#include "controllers/raycluster/lost_head.h"

namespace manta::operator_ {

Task<Result<Json>> NodeFacts::call(std::string target, Json request) {
  if (target == controllers::raycluster::kNodeTarget)
    return look_for(std::string(string_at(request, {"name"})));
  return rest_.call(std::move(target), std::move(request));
}

Task<Result<Json>> NodeFacts::look_for(std::string name) {
  const auto node = co_await api_.get(kube::kNodes, {{}, std::move(name)});
  if (!node && node.error().code != ErrorCode::NotFound) co_return std::unexpected(node.error());
  co_return Json{{"exists", node.has_value()}};
}

}  // namespace manta::operator_
