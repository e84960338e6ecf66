#include "base/log.h"
#include "local/node/node_impl.h"

#include <fmt/format.h>

namespace manta::local {

Task<Result<void>> Node::Impl::register_node() {
  const kube::ObjectKey key{"", options().node_name};
  auto created = co_await api.create(kube::kNodes, build_node(options(), machine));
  if (!created && created.error().code != ErrorCode::AlreadyExists)
    co_return failed(created.error().in(fmt::format("registering node {}", key.name)));
  auto node = created ? std::move(created) : co_await api.get(kube::kNodes, key);
  if (!node) co_return failed(node.error().in(fmt::format("registering node {}", key.name)));
  node_uid = string_at(*node, {"metadata", "uid"});
  static const Json kNone = JsonObject{};
  const Json* previous = find(*node, {"status"});
  Json patch = build_node(options(), machine);
  patch.as_object().erase("spec");
  if (auto labelled = co_await api.patch(kube::kNodes, key, kube::PatchType::Merge, patch);
      !labelled)
    co_return failed(labelled.error().in(fmt::format("labelling node {}", key.name)));
  Json status = JsonObject{
      {"status",
       build_node_status(options(), machine, previous != nullptr ? *previous : kNone, loop.now())}};
  auto written =
      co_await api.patch(kube::kNodes, key, kube::PatchType::Merge, std::move(status), "status");
  if (!written)
    co_return failed(written.error().in(fmt::format("writing the status of node {}", key.name)));
  co_return Result<void>{};
}

Task<void> Node::Impl::renew_lease() {
  auto lease = build_lease(options(), node_uid, loop.now());
  const kube::ObjectKey key{"kube-node-lease", options().node_name};
  Json patch = JsonObject{{"spec", lease.at("spec")}};
  auto renewed = co_await api.patch(kube::kLeases, key, kube::PatchType::Merge, std::move(patch));
  if (!renewed && renewed.error().code == ErrorCode::NotFound)
    renewed = co_await api.create(kube::kLeases, std::move(lease));
  if (!renewed)
    log::debug("the node's lease was not renewed", {{"error", renewed.error().message}});
}

/// A lease each period; the whole status every five minutes, as the kubelet does.
Task<void> Node::Impl::keep_alive(std::stop_token stop) {
  auto last_status = loop.steady();
  do {
    co_await renew_lease();
    if (loop.steady() - last_status < std::chrono::minutes{5}) continue;
    last_status = loop.steady();
    if (auto again = co_await register_node(); !again)
      log::warn("the node's status was not written", {{"error", again.error().message}});
  } while (co_await sleep(loop, options().lease_period, stop));
}

}  // namespace manta::local
