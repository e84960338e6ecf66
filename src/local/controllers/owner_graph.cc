#include "local/controllers/owner_graph.h"

#include <algorithm>
#include <utility>

namespace manta::local {

void OwnerGraph::put(GraphNode node) {
  erase(node.uid);
  for (const auto& owner : node.owners) dependents_[owner.uid].insert(node.uid);
  auto uid = node.uid;
  nodes_.insert_or_assign(std::move(uid), std::move(node));
}

void OwnerGraph::erase(const std::string& uid) {
  const auto found = nodes_.find(uid);
  if (found == nodes_.end()) return;
  for (const auto& owner : found->second.owners) {
    const auto entry = dependents_.find(owner.uid);
    if (entry == dependents_.end()) continue;
    entry->second.erase(uid);
    if (entry->second.empty()) dependents_.erase(entry);
  }
  nodes_.erase(found);
}

const GraphNode* OwnerGraph::find(const std::string& uid) const {
  const auto found = nodes_.find(uid);
  return found == nodes_.end() ? nullptr : &found->second;
}

std::vector<const GraphNode*> OwnerGraph::dependents(const std::string& uid) const {
  std::vector<const GraphNode*> result;
  if (const auto entry = dependents_.find(uid); entry != dependents_.end())
    for (const auto& dependent : entry->second)
      if (const auto* node = find(dependent)) result.push_back(node);
  return result;
}

namespace {

bool blocks(const GraphNode& dependent, const std::string& owner_uid) {
  return std::ranges::any_of(dependent.owners, [&](const kube::OwnerRef& owner) {
    return owner.uid == owner_uid && owner.blockOwnerDeletion;
  });
}

/// An object that is being deleted with its dependents first.
Collection decide_waiting(const GraphNode& node, const std::vector<const GraphNode*>& dependents) {
  if (std::ranges::none_of(dependents, [&](const GraphNode* d) { return blocks(*d, node.uid); }))
    return {.action = Collection::Action::FinishForeground};
  Collection collection{.action = Collection::Action::DeleteDependents};
  for (const auto* dependent : dependents)
    if (!dependent->deleting) collection.dependents.push_back(dependent);
  return collection;
}

}  // namespace

Collection decide_collection(const GraphNode& node, const std::vector<OwnerState>& owner_states,
                             const std::vector<const GraphNode*>& dependents) {
  using Action = Collection::Action;
  if (node.deleting && node.orphan)
    return {.action = Action::OrphanDependents, .dependents = dependents};
  if (node.waits_for_dependents()) return decide_waiting(node, dependents);
  if (node.deleting || node.owners.empty()) return {};
  Collection references{.action = Action::DropReferences};
  bool kept = false;
  bool waiting = false;
  for (std::size_t i = 0; i < node.owners.size(); ++i) {
    switch (owner_states[i]) {
      case OwnerState::Present:
      case OwnerState::Unknown:
        kept = true;
        break;
      case OwnerState::Waiting:
        waiting = true;
        references.owner_uids.push_back(node.owners[i].uid);
        break;
      case OwnerState::Absent:
        references.owner_uids.push_back(node.owners[i].uid);
        break;
    }
  }
  // One living owner is enough to live; references to the dead go.
  if (kept) return references.owner_uids.empty() ? Collection{} : references;
  Collection deletion{.action = Action::Delete};
  // Its own dependents hold it, unless they are themselves waiting: a circle must not wait for
  // ever.
  const bool circle =
      std::ranges::any_of(dependents, [](const GraphNode* d) { return d->waits_for_dependents(); });
  if (waiting && !dependents.empty() && !circle)
    deletion.propagation = kube::Propagation::Foreground;
  return deletion;
}

}  // namespace manta::local
