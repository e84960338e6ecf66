// The parts of Runtime: what it knows of each object, and one pass over an object's plan.
#pragma once

#include "base/log.h"
#include "kube/events.h"
#include "kube/runtime.h"
#include "kube/runtime_facts.h"
#include "kube/runtime_gate.h"
#include "kube/runtime_lanes.h"
#include "kube/runtime_write.h"

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace manta::kube {

struct Runtime::Impl {
  struct Controller;

  /// One planned object. Shared with the task that works on it.
  struct Object {
    ObjectKey key = {};
    Controller* controller = nullptr;

    bool dirty = false;    // plan it (again)
    bool queued = false;   // a task is about to start
    bool working = false;  // a task runs
    Loop::TimerId wake = 0;
    Steady rest_until = {};                   // its last plan was costly, or empty: not before this
    std::optional<Steady> silent_since = {};  // each pass since made writes, and told no status
    Steady next_status = {};  // its last status took its time: the next not before this

    ObjectRef self = {};          // as last seen, for its events
    std::int64_t generation = 0;  // that the last plan was made for
    std::uint64_t revision = 0;   // that it was made from
    bool there = false;           // whether there was an object then
    bool going = false;           // and whether it was being deleted
    Lanes lanes = {};
    RepeatGuard guard = {};
    UnsettledNames unsettled = {};
    FairGate::Queue writes = {};
    FairGate::Queue outside = {};
    std::set<std::string> failed_now = {};  // lanes, in the stage that is being made
    std::shared_ptr<ObjectFacts> facts = std::make_shared<ObjectFacts>();
    std::set<std::string> events = {};  // of the last plan
  };
  using ObjectPtr = std::shared_ptr<Object>;

  struct Controller {
    ControllerSpec spec = {};
    std::map<ObjectKey, ObjectPtr> objects = {};
  };

  /// What came of a plan's writes.
  struct Pass {
    bool attempted = false;               // some write was made, well or not
    std::optional<Steady> retry_at = {};  // of what was withheld, the earliest
    void retry(Steady at) { retry_at = retry_at ? std::min(*retry_at, at) : at; }
  };

  Impl(Loop& loop, Api& api, const CacheSet& caches, Outside& outside, EventRecorder& events,
       Random& random, RuntimeOptions options, RuntimeObserver* observer);
  ~Impl();

  // runtime.cc: triggers, timers, beginning and end.
  void add(ControllerSpec spec);
  void trigger(Controller& controller, const ObjectKey& key);
  void start(const ObjectPtr& object);
  void wake_at(const ObjectPtr& object, std::optional<Steady> at);
  void heard(Controller& controller, const ControllerSpec::Watch& watch, const ObjectMeta* before,
             const ObjectMeta* after);
  void retry_refused(Controller& controller, const std::string& namespace_);
  Task<void> run(std::stop_token stop);
  Task<bool> wait_for_caches(OneShot<bool> over);
  void trigger_all();
  void drop(const ObjectPtr& object);
  void quieten();  // no timer of ours remains

  // runtime_pass.cc: one object.
  Task<void> work(ObjectPtr object);
  Task<std::optional<PassEnd>> pass(ObjectPtr object);  // nothing: the object is gone
  std::optional<Plan> plan(Object& object);
  bool is_outdated(const Object& object) const;  // another is wanted than was planned for
  Task<void> run_stages(ObjectPtr object, std::vector<Stage> stages, Pass& pass);
  Task<Result<bool>> is_still_so(ObjectPtr object);     // by the server: as planned from
  Task<bool> run_stage(ObjectPtr object, Stage stage);  // true: all is done
  Task<bool> write_status(ObjectPtr object, Write status, Pass& pass);  // true: plan again
  Task<WriteOutcome> make(ObjectPtr object, const Write& write);
  void refuse(Object& object, const Stage& stage, Error error);
  void settle_lanes(Object& object, const Stage& stage, const std::vector<WriteOutcome>& outcomes);
  void report(Object& object, const Write& write, const WriteOutcome& outcome);
  void tell(const Object& object, const Write& write, const WriteOutcome& outcome, log::Line* level,
            std::string_view message);
  void record(Object& object, const std::vector<EventNote>& events);
  void record(Object& object, const EventNote& event);

  Loop& loop;
  const CacheSet& caches;
  EventRecorder& events;
  Random& random;
  RuntimeObserver* observer;
  std::stop_source stopping;
  FairGate gate;
  FairGate outside_gate;
  Writer writer;
  Scope scope;
  FactPoller poller;
  std::vector<std::unique_ptr<Controller>> controllers = {};
  bool active = false;  // caches are in, not yet stopped
  std::size_t queued = 0;
  std::size_t working = 0;
  // Held weakly by callbacks that others keep: loops and caches.
  std::shared_ptr<bool> alive = std::make_shared<bool>(true);
};

}  // namespace manta::kube
