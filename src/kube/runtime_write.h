// Makes one write and finds out what became of it.
//
// Whatever happens, the caches afterwards hold what the server was last seen to hold. A write whose
// reply was lost (Timeout, Unavailable, and Internal, which API servers answer when etcd did not)
// is settled by reading its object until a definite answer is had.
#pragma once

#include "base/random.h"
#include "kube/api.h"
#include "kube/cache.h"
#include "kube/runtime.h"

#include <map>
#include <stop_token>
#include <string>

namespace manta::kube {

/// The same for writes that ask for the same; a resourceVersion in the body does not count.
std::uint64_t fingerprint_of(const Write& write);
/// The write once more, for `seed` the fingerprint of those before it.
std::uint64_t fingerprint_of(const Write& write, std::uint64_t seed);

/// Names of generateName creates that may yet come to be: the same create planned again takes such
/// a name before it takes a new one, so however late the first is committed, there is one object.
using UnsettledNames = std::multimap<std::uint64_t, std::string>;

struct WriteOutcome {
  enum class Kind {  // from good to bad
    Done,            // it is as the write wants it, or its error is tolerated
    Stopped,  // not made or not known: we stop, its lane has just failed, or its plan is outdated
    Stale,    // the world was newer than the plan; it has been read
    Failed,   // definitely not done, or not known to be
  };
  Kind kind = Kind::Done;
  Result<Json> answer = {};
  std::string name = {};  // of the object, also when generated
};

class Writer {
 public:
  Writer(Loop& loop, Api& api, const CacheSet& caches, Outside& outside, Random& random,
         std::string field_manager, std::stop_token stop)
      : loop_(loop),
        api_(api),
        caches_(caches),
        outside_(outside),
        random_(random),
        field_manager_(std::move(field_manager)),
        stop_(std::move(stop)) {}

  /// Both arguments must outlive the task; `unsettled` is the planned object's.
  Task<WriteOutcome> run(const Write& write, UnsettledNames& unsettled);
  /// Asks for the object until the answer is definite: it, NotFound, or a refusal; Cancelled when
  /// we stop. The answer goes into the caches.
  Task<Result<Json>> read(Resource resource, ObjectKey key);

 private:
  using Kind = WriteOutcome::Kind;

  Task<WriteOutcome> create(const Write& write, UnsettledNames& unsettled);
  Task<WriteOutcome> settle_create(const Write& write, std::string name, Error error,
                                   bool maybe_ours);
  Task<WriteOutcome> call_outside(const Write& write);
  Task<WriteOutcome> change(const Write& write);  // Update, Patch
  Task<WriteOutcome> settle_change(const Write& write, ObjectKey key, Error error);
  Task<WriteOutcome> remove(const Write& write);
  Task<WriteOutcome> settle_remove(const Write& write, std::string uid, Error error);
  Task<WriteOutcome> remove_collection(const Write& write);

  Task<Result<Json>> call(Request request);
  Task<Result<Json>> ask(Request request);
  void observe(const Resource& resource, const Json& answer) const;
  std::string uid_held(const Write& write) const;

  Loop& loop_;
  Api& api_;
  const CacheSet& caches_;
  Outside& outside_;
  Random& random_;
  std::string field_manager_;
  std::stop_token stop_;
};

}  // namespace manta::kube
