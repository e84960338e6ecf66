// A kube::Api in memory, just enough for the node's own tests: get, list, create, merge patch,
// graceful deletion of Pods, watch. The real rules are the embedded API server's; tests/e2e runs
// the two together.
#pragma once

#include "base/async.h"
#include "kube/api.h"

#include <map>
#include <string>
#include <vector>

namespace manta::local::testing {

class TinyApi final : public kube::Api {
 public:
  explicit TinyApi(Loop& loop) : loop_(loop) {}

  Task<Result<kube::Response>> call(kube::Request request) override;
  Task<Result<void>> watch(kube::WatchRequest request, WatchSink sink,
                           std::stop_token stop) override;
  Task<Result<kube::RawResponse>> raw(kube::RawRequest request) override;

  /// Writes an object as it is (metadata filled in).
  void put(const kube::Resource& resource, Json object);
  const Json* find_object(const kube::Resource& resource, const kube::ObjectKey& key) const;
  std::size_t count(const kube::Resource& resource) const;

 private:
  using Key = std::pair<std::string, kube::ObjectKey>;
  struct Watcher {
    std::string plural;
    WatchSink sink;
  };
  void tell(const std::string& plural, kube::WatchEventType type, const Json& object);
  Result<Json> create(const kube::Request& request);
  Result<Json> patch(const kube::Request& request);
  Result<Json> remove(const kube::Request& request);

  Loop& loop_;
  std::map<Key, Json> objects_ = {};
  std::map<int, Watcher> watchers_ = {};
  int next_watcher_ = 0;
  std::int64_t version_ = 1;
};

}  // namespace manta::local::testing
