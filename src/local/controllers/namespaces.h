// Empties a namespace that is being deleted, then lets it go.
#pragma once

#include "base/async.h"
#include "kube/api.h"
#include "kube/cache.h"
#include "local/controllers/views.h"

#include <set>
#include <string>

namespace manta::local {

class NamespaceController {
 public:
  /// `namespaces` is kept current by somebody else, and outlives this.
  NamespaceController(Loop& loop, kube::Api& api, kube::Cache<NamespaceView>& namespaces);

  /// Until stopped.
  Task<void> run(std::stop_token stop);

 private:
  Task<void> terminate(std::string name, std::stop_token stop);
  /// How many objects are left; asks for the deletion of each.
  Task<Result<std::int64_t>> delete_contents(std::string name);
  Task<Result<void>> finalize(std::string name);

  Loop& loop_;
  kube::Api& api_;
  kube::Cache<NamespaceView>& namespaces_;
  std::set<std::string> terminating_ = {};
  OneShot<bool> wake_;
};

}  // namespace manta::local
