// Executes plans: one object at a time, hundreds of objects side by side.
//
// For every object of a controller: plan; run the stages (withholding lanes that back off); take
// each answer into the caches; plan again at once while there is something to do; then write the
// status; then wait for a trigger (a cache change, a fact, a timer).
//
//   Runtime runtime(loop, api, caches, outside, events, random, options);
//   runtime.add({.name = "raycluster", .primary = ray::kRayClusters, .plan = …, .watches = …});
//   co_await runtime.run(stop);   // returns when stopped and every write in flight has its answer
//
// Guarantees: never two plans of one object at once; a write whose reply was lost is settled by
// reading its object before that object is planned again; failed lanes back off 5 ms doubling to
// 1000 s (60 s what a quota refused), with jitter, and at once try again when the object's spec
// changes; no object's writes
// hold up another's (round robin over objects, bounded per object and in all); recording an event
// never delays a write; a planner that answers the same writes again after they all succeeded is
// slowed down.
//
// A stage with a failed or withheld write ends the pass: its other writes are made, later stages
// are not. A write that met a newer world (Conflict, an update of what is gone, a name that exists)
// is no failure at first: the object is read into the caches and planned again. The third in a row
// of one lane is. The status write has a lane of its own, "status", unless it names one.
#pragma once

#include "base/async.h"
#include "base/random.h"
#include "kube/api.h"
#include "kube/cache.h"
#include "kube/plan.h"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace manta::kube {

class EventRecorder;

/// Systems other than Kubernetes: Ray's dashboard. Must bound each call's time and size.
class Outside {
 public:
  virtual ~Outside() = default;
  virtual Task<Result<Json>> call(std::string target, Json request) = 0;
};

struct ControllerSpec {
  std::string name = {};
  Resource primary = {};
  std::string logger = {};  // empty: "controllers.<Kind>"
  /// Whose events these are; empty: "<name>-controller".
  std::string reporting_controller = {};
  /// Pure. Nothing: the object is not (or no longer) in the caches; its state is dropped.
  std::function<std::optional<Plan>(const ObjectKey&, const PlanContext&)> plan = {};
  /// Which objects to plan again when a cached object changed. Called with the newest metadata (the
  /// last one of an object that is gone).
  struct Watch {
    CacheBase* cache = nullptr;
    std::function<std::vector<ObjectKey>(const ObjectMeta&)> affected = {};
    /// Optional; false: this change needs no new plan. Both may be null (created, gone).
    std::function<bool(const ObjectMeta* before, const ObjectMeta* after)> matters = {};
    /// What goes makes room in its namespace's quota: what was refused there is tried again.
    bool frees_quota = false;
  };
  std::vector<Watch> watches = {};
};

/// For a Watch: the controller owner of this kind, or nothing.
std::function<std::vector<ObjectKey>(const ObjectMeta&)> owner_of_kind(Resource owner);
/// For a Watch of the primary resource: the object itself.
std::vector<ObjectKey> itself(const ObjectMeta& meta);

struct RuntimeOptions {
  // More are no faster: an API server that is busy with ours has no time for the kubelets, whose
  // news we wait for (bench/RESULTS.md).
  int writes_in_flight = 8;
  int writes_in_flight_per_object = 6;
  int outside_in_flight = 64;  // External writes; facts have as many of their own
  std::string field_manager = {};
};

/// How one pass over an object (plan, writes, status) ended.
enum class PassEnd {
  Success,       // nothing left until something changes
  Error,         // a write failed
  RequeueAfter,  // to be planned again at a time
};

/// What the metrics layer hears of. Called on the loop's thread; must be quick.
class RuntimeObserver {
 public:
  virtual ~RuntimeObserver() = default;
  /// The runtime begins to act on this controller's objects.
  virtual void started(std::string_view controller) {}
  /// An object waits for its turn; has it; a pass over it is over.
  virtual void queued(std::string_view controller, const ObjectKey& key) {}
  virtual void began(std::string_view controller, const ObjectKey& key) {}
  virtual void ended(std::string_view controller, const ObjectKey& key, PassEnd end) {}
  /// Also when there was no such object (any more).
  virtual void planned(std::string_view controller, const ObjectKey& key, Duration took) {}
  virtual void wrote(std::string_view controller, const Write& write, const Result<Json>& answer) {}
};

class Runtime {
 public:
  Runtime(Loop& loop, Api& api, const CacheSet& caches, Outside& outside, EventRecorder& events,
          Random& random, RuntimeOptions options = {}, RuntimeObserver* observer = nullptr);
  ~Runtime();

  void add(ControllerSpec controller);
  /// Plan this object soon.
  void trigger(std::string_view controller, const ObjectKey& key);
  Task<void> run(std::stop_token stop);
  /// True when nothing is planned, in flight or due at once: only timers and facts remain.
  bool idle() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace manta::kube
