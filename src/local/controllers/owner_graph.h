// Who owns whom, over every object of the API server, and what the garbage collector should do
// about one of them. The graph only remembers; decide_collection() is pure.
//
// Background: a deleted owner's dependents go after it. Foreground: the owner waits (finalizer
// foregroundDeletion) until those that block it are gone. Orphan: dependents lose their reference,
// then the owner goes. Source: Kubernetes, "Garbage collection" and "Owners and dependents".
#pragma once

#include "kube/api.h"
#include "kube/object.h"

#include <map>
#include <set>
#include <string>
#include <vector>

namespace manta::local {

struct GraphNode {
  kube::Resource resource = {};
  kube::ObjectKey key = {};
  std::string uid = {};
  std::vector<kube::OwnerRef> owners = {};
  bool deleting = false;
  bool foreground = false;  // has finalizer foregroundDeletion
  bool orphan = false;      // has finalizer orphan

  /// Dependents go first; it waits for them.
  bool waits_for_dependents() const { return deleting && foreground; }
};

class OwnerGraph {
 public:
  /// Adds or replaces.
  void put(GraphNode node);
  void erase(const std::string& uid);
  const GraphNode* find(const std::string& uid) const;
  /// Those with an owner reference to this uid, in no promised order.
  std::vector<const GraphNode*> dependents(const std::string& uid) const;
  std::size_t size() const { return nodes_.size(); }

 private:
  std::map<std::string, GraphNode> nodes_ = {};
  std::map<std::string, std::set<std::string>> dependents_ = {};
};

/// What is known of one owner reference. Unknown: its kind is not served, or it is out of reach;
/// nothing is deleted on its account.
enum class OwnerState { Present, Absent, Waiting, Unknown };

struct Collection {
  enum class Action {
    Keep,
    Delete,            // it, with `propagation`
    DropReferences,    // to the owners in `owner_uids`
    DeleteDependents,  // those in `dependents`, so that this one may end
    OrphanDependents,  // remove references to it from `dependents`, then its finalizer
    FinishForeground,  // remove its finalizer foregroundDeletion
  };
  Action action = Action::Keep;
  kube::Propagation propagation = kube::Propagation::Background;
  std::vector<std::string> owner_uids = {};
  std::vector<const GraphNode*> dependents = {};
};

/// `owner_states` has one entry for each of node.owners, in order.
Collection decide_collection(const GraphNode& node, const std::vector<OwnerState>& owner_states,
                             const std::vector<const GraphNode*>& dependents);

}  // namespace manta::local
