// What a controller wants done about one object, as data. A planner is pure: it gets a snapshot and
// the time and answers a Plan; the runtime (runtime.h) does the rest.
#pragma once

#include "base/json.h"
#include "base/result.h"
#include "base/time.h"
#include "kube/api.h"
#include "kube/object.h"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace manta::kube {

enum class EventType { Normal, Warning };

/// An Event to record about the planned object. In a Write's event, "{name}" in the note becomes
/// the written object's name and "{error}" the error's message.
struct EventNote {
  EventType type = EventType::Normal;
  std::string reason = {};
  std::string action = {};
  std::string note = {};
};

enum class WriteKind { Create, Update, Patch, Delete, DeleteCollection, External };
std::string_view to_string(WriteKind kind);  // as the verb; External is "call"

/// One write. An object to create may have metadata.generateName: the runtime adds the suffix
/// itself (keeping generateName), so that a lost reply is settled by reading that name, never by
/// creating a second one.
struct Write {
  WriteKind kind = WriteKind::Create;
  Resource resource = {};
  ObjectKey key = {};  // Create: only the namespace is read, the name comes from the body
  std::string subresource = {};
  Json body = {};
  PatchType patch_type = PatchType::Merge;
  std::string precondition_uid = {};  // Delete: this object, not its successor
  Propagation propagation = Propagation::Default;
  std::optional<std::int64_t> grace_period_seconds = {};
  std::string label_selector = {};  // DeleteCollection
  std::string target = {};          // External: which Outside system, e.g. "ray-dashboard"

  /// Writes of one lane back off together after a failure; other lanes go on. "" is a lane.
  std::string lane = {};
  /// Comes back to the planner in Failure::marker.
  std::string marker = {};
  /// Answers that count as success: NotFound on a delete, AlreadyExists on a create.
  std::vector<ErrorCode> tolerate = {};
  std::optional<EventNote> done_event = {};
  std::optional<EventNote> failed_event = {};
  std::string why = {};  // for the log
};

using Stage = std::vector<Write>;  // side by side; the next stage starts when all succeeded

/// Something outside Kubernetes that this object's plan wants to know, asked again at an interval.
struct FactRequest {
  std::string name = {};    // the planner's name for it: "job-info"
  std::string target = {};  // which Outside system answers: "ray-dashboard"
  /// Requests of one circuit share a breaker: a dead cluster is asked rarely, by nobody twice.
  std::string circuit = {};
  Json query = {};  // what to ask; a changed query is a new fact
  Duration interval = std::chrono::seconds{3};
};

struct Fact {
  Result<Json> answer = {};                // the newest
  Time at = {};                            // when it came
  std::optional<Time> failing_since = {};  // first of the failures in a row
};
/// By FactRequest::name; absent until a first answer, and again after an External write of ours.
using Facts = std::map<std::string, Fact, std::less<>>;

/// The last failed write of a lane, until one of that lane's stages succeeds.
struct Failure {
  std::string marker = {};
  Error error = {};
  int attempts = 0;
  Steady retry_at = {};   // until then the runtime withholds the lane's writes
  bool withheld = false;  // which it still does as the plan is made
};
using Failures = std::map<std::string, Failure, std::less<>>;  // by lane

struct Plan {
  std::vector<Stage> stages = {};
  /// Written when no write of the stages is to be made now (none planned, or all withheld); so a
  /// status is about the state after the plan's own writes. Only when there have been more writes
  /// to make for ten seconds on end, it comes before them and is about the state before. An Update
  /// of subresource "status" with the resourceVersion that was seen.
  std::optional<Write> status = {};
  std::vector<EventNote> events = {};   // recorded when the plan is first acted on, aggregated
  std::vector<FactRequest> facts = {};  // those not named again are no longer polled
  std::optional<Duration> look_again = {};

  Stage& stage() { return stages.emplace_back(); }
};

struct PlanContext {
  Time now = {};
  const Facts& facts;
  const Failures& failures;
};

}  // namespace manta::kube
