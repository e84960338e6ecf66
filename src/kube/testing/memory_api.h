// A small API server in memory for this library's own tests: it keeps revisions, generations,
// deletion with finalizers, the status subresource, label selectors, pages and watches as
// Kubernetes does, and does wrong what a test asks for. Not a mock: nothing in it knows what a test
// expects.
#pragma once

#include "base/async.h"
#include "base/random.h"
#include "kube/api.h"

#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace manta::kube {

/// What goes wrong with one request.
struct MemoryFault {
  std::optional<Error> before = {};            // refused or lost on the way there
  std::optional<Error> after = {};             // done, but the reply is lost: this is answered
  std::optional<Duration> commits_after = {};  // `before` is answered, and so much later it is done
};

class MemoryApi final : public Api {
 public:
  MemoryApi(Loop& loop, Random& random) : loop_(loop), random_(random) {}

  Task<Result<Response>> call(Request request) override;
  Task<Result<void>> watch(WatchRequest request, WatchSink sink, std::stop_token stop) override;
  Task<Result<RawResponse>> raw(RawRequest request) override;

  // What the world is like.
  std::function<MemoryFault(const Request&)> fault = {};
  std::function<Duration(const Request&)> latency = [](const Request&) {
    return std::chrono::milliseconds{1};
  };
  std::function<Duration(const WatchEvent&)> watch_delay = [](const WatchEvent&) {
    return std::chrono::milliseconds{1};
  };

  /// At once, without faults: what users and other controllers do. CHECKs that it succeeds.
  Json apply_now(Request request);
  Json create_now(const Resource& resource, Json object);
  Json merge_now(const Resource& resource, const ObjectKey& key, Json patch,
                 std::string subresource = {});
  void delete_now(const Resource& resource, const ObjectKey& key);
  /// The object is gone, whatever keeps it (as a kubelet ends a Pod).
  void purge_now(const Resource& resource, const ObjectKey& key);

  std::vector<Json> objects(const Resource& resource) const;
  const Json* object(const Resource& resource, const ObjectKey& key) const;
  std::uint64_t revision() const { return revision_; }

  /// Ends every watch: in good order, or so.
  void end_watches(Result<void> how = {});
  std::size_t watches() const { return watchers_.size(); }
  /// Older revisions can no longer be watched, pages begun can no longer be continued.
  void compact();
  void send_bookmarks();

  std::vector<Request> requests = {};  // all that came, in order
  std::set<std::string> ended = {};    // names of objects that have gone, ever
  std::size_t count(Verb verb, const Resource& resource) const;

 private:
  using Objects = std::map<ObjectKey, Json>;
  struct Change {
    std::uint64_t revision;
    Resource resource;
    Json before;  // null when created
    Json after;   // null when gone
  };
  struct Watcher {
    WatchRequest request;
    WatchSink sink;
    LabelSelector selector;
    std::uint64_t from;
    OneShot<bool> done;
    Time last = {};  // a stream keeps its order
    Result<void> how = {};
  };

  Result<Json> perform(const Request& request);
  Result<Json> list(const Request& request);
  Result<Json> create(const Request& request);
  Result<Json> update(const Request& request);
  Result<Json> remove(const Request& request);
  Result<Json> remove_collection(const Request& request);
  Json commit(const Resource& resource, const ObjectKey& key, Json before, Json after);
  void deliver(const std::shared_ptr<Watcher>& watcher, const Change& change);
  void send(const std::shared_ptr<Watcher>& watcher, WatchEvent event);

  Loop& loop_;
  Random& random_;
  std::uint64_t revision_ = 100;
  std::uint64_t compacted_ = 0;
  std::map<std::string, Objects> objects_ = {};  // by plural
  std::vector<Change> history_ = {};
  std::vector<std::shared_ptr<Watcher>> watchers_ = {};
  std::map<std::string, std::pair<std::string, std::deque<Json>>> pages_ = {};
};

}  // namespace manta::kube
