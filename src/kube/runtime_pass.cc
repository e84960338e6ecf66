// One object: plan it, make the plan's writes, write its status, until nothing is left to do.
#include "base/log.h"
#include "kube/runtime_impl.h"

#include <algorithm>

namespace manta::kube {
namespace {

constexpr const char* kStatusLane = "status";
// A planner whose look_again has come to nothing by rounding must not spin.
constexpr Duration kSoonest = std::chrono::milliseconds{10};
constexpr Duration kCostly = std::chrono::milliseconds{1};
constexpr Duration kLongestRest = std::chrono::seconds{1};
// So long an object may be written to again and again without a word in its status.
constexpr Duration kSilence = std::chrono::seconds{10};
constexpr Duration kBreath = std::chrono::milliseconds{5};
// A server that is slow to take a status is not sent each step on the way to the next: a status
// follows the one before after this many times what that one took.
constexpr int kStatusApart = 10;
constexpr Duration kStatusApartAtMost = std::chrono::seconds{2};

void replace_all(std::string& text, std::string_view what, std::string_view with) {
  for (auto at = text.find(what); at != std::string::npos; at = text.find(what, at + with.size()))
    text.replace(at, what.size(), with);
}

EventNote fill_in(EventNote event, const std::string& name, const Result<Json>& answer) {
  replace_all(event.note, "{name}", name);
  replace_all(event.note, "{error}", answer ? std::string_view() : answer.error().message);
  return event;
}

std::uint64_t fingerprint_of(const Stage& stage) {
  std::uint64_t fingerprint = stage.size();
  for (const auto& write : stage) fingerprint = kube::fingerprint_of(write, fingerprint);
  return fingerprint;
}

bool deletes(const Write& write) {
  return write.kind == WriteKind::Delete || write.kind == WriteKind::DeleteCollection;
}

std::string describe(const Write& write) {
  std::string text(to_string(write.kind));
  for (const auto& part :
       {write.target, write.resource.plural, write.subresource, write.key.to_string(), write.why})
    if (!part.empty()) text += " " + part;
  return text;
}

// As controller-runtime's loggers name the object that is worked on.
Json named(const ObjectKey& key) {
  return JsonObject{{"name", std::string_view(key.name)},
                    {"namespace", std::string_view(key.namespace_)}};
}

void report_unsettled(const ControllerSpec& spec, const ObjectKey& key, const std::string& write) {
  log::error("a plan does not settle, slowing it down",
             {{"logger", spec.logger}, {spec.primary.kind, named(key)}, {"write", write}});
}

}  // namespace

Task<void> Runtime::Impl::work(ObjectPtr object) {
  const std::string& name = object->controller->spec.name;
  bool again = false;
  while (active && object->dirty) {
    if (object->rest_until > loop.steady()) {
      wake_at(object, object->rest_until);
      break;
    }
    co_await gate.room();
    if (!active) {
      gate.planned();
      break;
    }
    object->dirty = false;
    if (observer && std::exchange(again, true)) observer->queued(name, object->key);
    if (observer) observer->began(name, object->key);
    const auto end = co_await pass(object);
    if (observer) observer->ended(name, object->key, end.value_or(PassEnd::Success));
    if (!end) {
      drop(object);
      break;
    }
  }
  object->working = false;
  --working;
}

std::optional<Plan> Runtime::Impl::plan(Object& object) {
  const ControllerSpec& spec = object.controller->spec;
  const auto meta = caches.meta(spec.primary, object.key);
  object.there = meta != nullptr;
  if (meta) {
    object.self = {spec.primary, object.key, meta->uid, std::to_string(meta->resource_version)};
    // The user changed what they want: what failed before may well succeed now.
    if (meta->generation != object.generation) {
      object.lanes.hurry();
      object.guard = {};
    }
    object.generation = meta->generation;
    object.going = meta->deleting.has_value();
    object.revision = meta->resource_version;
  }
  const Steady began = loop.steady();
  auto planned =
      spec.plan(object.key, {loop.now(), object.facts->values, object.lanes.failures(began)});
  const Duration took = loop.steady() - began;
  if (observer) observer->planned(spec.name, object.key, took);
  // An object of thousands of Pods hears of each of them; planning it takes a tenth of the time.
  if (took >= kCostly) object.rest_until = loop.steady() + std::min(9 * took, kLongestRest);
  return planned;
}

bool Runtime::Impl::is_outdated(const Object& object) const {
  const auto meta = caches.meta(object.controller->spec.primary, object.key);
  if (!meta || !object.there) return object.there != (meta != nullptr);
  return meta->uid != object.self.uid || meta->generation != object.generation ||
         meta->deleting.has_value() != object.going;
}

// A watch may be behind, and what was deleted for a state that is past does not come back. So a
// stage that deletes begins with a read.
Task<Result<bool>> Runtime::Impl::is_still_so(ObjectPtr object) {
  const Resource& primary = object->controller->spec.primary;
  const auto found = co_await writer.read(primary, object->key);
  if (!found && found.error().code != ErrorCode::NotFound) co_return std::unexpected(found.error());
  const auto meta = caches.meta(primary, object->key);
  co_return !is_outdated(*object) && (!meta || meta->resource_version == object->revision);
}

Task<std::optional<PassEnd>> Runtime::Impl::pass(ObjectPtr object) {
  const Steady began = loop.steady();
  auto planned = plan(*object);
  gate.planned();
  if (!planned) co_return std::nullopt;
  object->failed_now.clear();
  record(*object, planned->events);
  poller.want(object->facts, planned->facts);

  bool settled = !planned->status;
  for (const auto& stage : planned->stages) settled &= stage.empty();
  if (settled) object->guard.rest(loop.steady());

  // Where there is always one more write to make, the status tells at times of the state before:
  // ahead of the writes, as its times are those of the plan.
  Pass made = {};
  const bool silent = object->silent_since && began - *object->silent_since >= kSilence;
  if (silent) {
    object->silent_since.reset();
    if (planned->status && co_await write_status(object, *std::move(planned->status), made))
      object->dirty = true;
    planned->status.reset();
  }
  co_await run_stages(object, std::move(planned->stages), made);
  if (!made.attempted)
    object->silent_since.reset();
  else if (!object->silent_since)
    object->silent_since = began;
  if (made.attempted) object->dirty = true;
  if (planned->status && !made.attempted &&
      co_await write_status(object, std::move(*planned->status), made))
    object->dirty = true;
  if (planned->look_again) made.retry(loop.steady() + std::max(*planned->look_again, kSoonest));
  wake_at(object, made.retry_at);
  // Nothing to do: the news that come one by one now are looked at together.
  if (!object->dirty) object->rest_until = std::max(object->rest_until, loop.steady() + kBreath);
  if (!object->failed_now.empty()) co_return PassEnd::Error;
  co_return made.retry_at ? PassEnd::RequeueAfter : PassEnd::Success;
}

Task<void> Runtime::Impl::run_stages(ObjectPtr object, std::vector<Stage> stages, Pass& pass) {
  for (auto& stage : stages) {
    Stage due;
    bool withheld = false;
    for (auto& write : stage) {
      if (object->lanes.is_withheld(write.lane, loop.steady())) {
        withheld = true;
        pass.retry(object->lanes.retry_at(write.lane));
      } else {
        due.push_back(std::move(write));
      }
    }
    if (due.empty() && withheld) break;
    if (due.empty()) continue;
    const auto fingerprint = fingerprint_of(due);
    if (const auto until = object->guard.hold(fingerprint, loop.steady())) {
      pass.retry(*until);
      break;
    }
    pass.attempted = true;
    const std::string first = describe(due.front());
    if (!co_await run_stage(object, std::move(due))) break;
    if (object->guard.made(fingerprint, loop.steady(), random))
      report_unsettled(object->controller->spec, object->key, first);
    if (withheld) break;
  }
}

Task<bool> Runtime::Impl::run_stage(ObjectPtr object, Stage stage) {
  object->failed_now.clear();
  if (std::ranges::any_of(stage, deletes)) {
    const auto still = co_await is_still_so(object);
    if (!still) refuse(*object, stage, still.error());
    if (!still || !*still) co_return false;
  }
  std::vector<Task<WriteOutcome>> tasks;
  tasks.reserve(stage.size());
  for (const auto& write : stage) tasks.push_back(make(object, write));
  const auto outcomes = co_await when_all(loop, std::move(tasks));
  settle_lanes(*object, stage, outcomes);
  for (std::size_t i = 0; i < stage.size(); ++i)
    if (stage[i].kind == WriteKind::External && outcomes[i].kind == WriteOutcome::Kind::Done)
      poller.refresh(object->facts);
  for (const auto& outcome : outcomes)
    if (outcome.kind != WriteOutcome::Kind::Done) co_return false;
  co_return true;
}

Task<WriteOutcome> Runtime::Impl::make(ObjectPtr object, const Write& write) {
  const bool external = write.kind == WriteKind::External;
  FairGate& door = external ? outside_gate : gate;
  FairGate::Queue& queue = external ? object->outside : object->writes;
  co_await door.enter(queue);
  WriteOutcome outcome = {.kind = WriteOutcome::Kind::Stopped,
                          .answer = failed(ErrorCode::Cancelled, "stopped")};
  // Thousands of Pods may be on their way that nobody wants any more; the next plan knows.
  const bool outdated =
      (write.kind == WriteKind::Create || write.kind == WriteKind::Delete) && is_outdated(*object);
  // The lane backs off as a whole: after one refusal (a quota's, say) the rest is not sent.
  if (active && !outdated && !object->failed_now.contains(write.lane))
    outcome = co_await writer.run(write, object->unsettled);
  if (outcome.kind == WriteOutcome::Kind::Failed) object->failed_now.insert(write.lane);
  door.leave(queue);
  report(*object, write, outcome);
  co_return outcome;
}

// None of the stage is made.
void Runtime::Impl::refuse(Object& object, const Stage& stage, Error error) {
  const bool stops = error.code == ErrorCode::Cancelled;
  error.message = object.controller->spec.primary.kind + " " + object.key.to_string() +
                  " could not be read anew: " + error.message;
  std::vector<WriteOutcome> outcomes;
  for (const auto& write : stage) {
    outcomes.push_back({stops ? WriteOutcome::Kind::Stopped : WriteOutcome::Kind::Failed,
                        std::unexpected(error), write.key.name});
    if (!stops) object.failed_now.insert(write.lane);
    report(object, write, outcomes.back());
  }
  settle_lanes(object, stage, outcomes);
}

void Runtime::Impl::settle_lanes(Object& object, const Stage& stage,
                                 const std::vector<WriteOutcome>& outcomes) {
  // Of each lane its worst outcome counts, once.
  std::map<std::string_view, std::size_t> worst;
  for (std::size_t i = 0; i < stage.size(); ++i) {
    const auto [entry, first] = worst.try_emplace(stage[i].lane, i);
    if (!first && outcomes[i].kind > outcomes[entry->second].kind) entry->second = i;
  }
  for (const auto& [lane, i] : worst) {
    const Write& write = stage[i];
    switch (outcomes[i].kind) {
      case WriteOutcome::Kind::Done:
        object.lanes.succeeded(write.lane);
        break;
      case WriteOutcome::Kind::Stale:
        // A fixed name that is somebody else's stays so: the user has to hear of it.
        if (!object.lanes.stale(write.lane, write.marker, outcomes[i].answer.error(), loop.steady(),
                                random))
          break;
        object.failed_now.insert(write.lane);
        tell(object, write, outcomes[i], &log::error, "cannot write");
        if (write.failed_event)
          record(object, fill_in(*write.failed_event, outcomes[i].name, outcomes[i].answer));
        break;
      case WriteOutcome::Kind::Failed:
        object.lanes.failed(write.lane, write.marker, outcomes[i].answer.error(), loop.steady(),
                            random);
        break;
      case WriteOutcome::Kind::Stopped:
        break;  // whoever starts next reads what there is
    }
  }
}

Task<bool> Runtime::Impl::write_status(ObjectPtr object, Write status, Pass& pass) {
  if (status.lane.empty()) status.lane = kStatusLane;
  if (object->lanes.is_withheld(status.lane, loop.steady())) {
    pass.retry(object->lanes.retry_at(status.lane));
    co_return false;
  }
  if (object->next_status > loop.steady()) {
    pass.retry(object->next_status);
    co_return false;
  }
  Stage stage;
  stage.push_back(std::move(status));
  const auto fingerprint = fingerprint_of(stage);
  if (const auto until = object->guard.hold(fingerprint, loop.steady())) {
    pass.retry(*until);
    co_return false;
  }
  const std::string written = describe(stage.front());
  const auto revision = [this, &object] {
    const auto meta = caches.meta(object->controller->spec.primary, object->key);
    return meta ? meta->resource_version : 0;
  };
  const auto before = revision();
  const Steady began = loop.steady();
  const bool written_well = co_await run_stage(object, std::move(stage));
  object->next_status =
      loop.steady() + std::min(kStatusApart * (loop.steady() - began), kStatusApartAtMost);
  if (!written_well) co_return true;
  // A status that changed nothing needs no second look.
  if (revision() == before) co_return false;
  if (object->guard.made(fingerprint, loop.steady(), random))
    report_unsettled(object->controller->spec, object->key, written);
  co_return true;
}

void Runtime::Impl::report(Object& object, const Write& write, const WriteOutcome& outcome) {
  using Kind = WriteOutcome::Kind;
  const ControllerSpec& spec = object.controller->spec;
  if (outcome.kind == Kind::Stopped) return;
  if (observer) observer->wrote(spec.name, write, outcome.answer);
  // A status that says why is another state; the rest are counts and times.
  const bool tells = write.subresource.empty() || !write.why.empty();
  switch (outcome.kind) {
    case Kind::Done:
      tell(object, write, outcome, tells ? &log::info : &log::debug, "wrote");
      break;
    case Kind::Stale:
      tell(object, write, outcome, &log::debug, "a write met a newer world");
      break;
    case Kind::Failed:  // what works at the second attempt is no reason to look for a reason
      tell(object, write, outcome, object.lanes.has_failed(write.lane) ? &log::error : &log::info,
           "cannot write");
      break;
    case Kind::Stopped:
      break;
  }
  if (outcome.kind == Kind::Done && write.done_event)
    record(object, fill_in(*write.done_event, outcome.name, outcome.answer));
  if (outcome.kind == Kind::Failed && write.failed_event)
    record(object, fill_in(*write.failed_event, outcome.name, outcome.answer));
}

void Runtime::Impl::tell(const Object& object, const Write& write, const WriteOutcome& outcome,
                         log::Line* level, std::string_view message) {
  const ControllerSpec& spec = object.controller->spec;
  const std::string what = write.kind == WriteKind::External ? write.target : write.resource.plural;
  const std::string error = outcome.answer ? std::string() : outcome.answer.error().message;
  const ObjectKey target{write.key.namespace_, outcome.name};
  level(message, {{"logger", spec.logger},
                  {spec.primary.kind, named(object.key)},
                  {"verb", to_string(write.kind)},
                  {"resource", what},
                  {"subresource", write.subresource},
                  {"target", target.to_string()},
                  {"why", write.why},
                  {"error", error}});
}

// An event of the plan is recorded once, until a plan lacks it or the object's spec changes.
void Runtime::Impl::record(Object& object, const std::vector<EventNote>& noted) {
  std::set<std::string> current;
  for (const auto& event : noted) {
    std::string identity = std::to_string(object.generation);
    identity += event.type == EventType::Warning ? "\nWarning\n" : "\nNormal\n";
    identity += event.reason + "\n" + event.action + "\n" + event.note;
    if (current.insert(identity).second && !object.events.contains(identity)) record(object, event);
  }
  object.events = std::move(current);
}

void Runtime::Impl::record(Object& object, const EventNote& event) {
  events.record(object.controller->spec.reporting_controller, object.self, event);
}

}  // namespace manta::kube
