#include "kube/runtime_write.h"

#include <algorithm>

namespace manta::kube {
namespace {

constexpr Duration kFirstAsk = std::chrono::milliseconds{50};
constexpr Duration kLongestAsk = std::chrono::seconds{3};
constexpr int kNamesTried = 8;
constexpr std::size_t kLongestBase = 58;  // + 5 of suffix: a DNS label. Source: apiserver names

bool is_ambiguous(const Error& error) {
  switch (error.code) {
    case ErrorCode::Timeout:
    case ErrorCode::Unavailable:
    case ErrorCode::Internal:
    case ErrorCode::Cancelled:
      return true;
    default:
      return false;
  }
}

bool is_tolerated(const Write& write, const Error& error) {
  return std::ranges::find(write.tolerate, error.code) != write.tolerate.end();
}

WriteOutcome outcome(WriteOutcome::Kind kind, Result<Json> answer, std::string name) {
  return {kind, std::move(answer), std::move(name)};
}

/// Done when the write tolerates this error, else `otherwise`.
WriteOutcome judge(const Write& write, WriteOutcome::Kind otherwise, Error error,
                   std::string name) {
  const auto kind = is_tolerated(write, error) ? WriteOutcome::Kind::Done : otherwise;
  return outcome(kind, std::unexpected(std::move(error)), std::move(name));
}

Request request_for(const Write& write, Verb verb) {
  return {.verb = verb,
          .resource = write.resource,
          .namespace_ = write.key.namespace_,
          .name = write.key.name,
          .subresource = write.subresource};
}

std::string_view controller_uid(const Json& object) {
  for (const auto& owner : array_at(object, {"metadata", "ownerReferences"}))
    if (bool_at(owner, {"controller"})) return string_at(owner, {"uid"});
  return {};
}

/// Whether `found` is what a create of `body` would have made. Asked only when we did send it.
bool is_ours(const Json& body, const Json& found) {
  if (string_at(body, {"metadata", "generateName"}) !=
      string_at(found, {"metadata", "generateName"}))
    return false;
  if (const auto owner = controller_uid(body); !owner.empty())
    return owner == controller_uid(found);
  const auto& labels = object_at(found, {"metadata", "labels"});
  return std::ranges::all_of(object_at(body, {"metadata", "labels"}), [&](const auto& label) {
    const auto* value = labels.if_contains(label.key());
    return value && *value == label.value();
  });
}

/// Whether the object shows what the write asked for. No when that cannot be told.
bool shows(const Write& write, const Json& found) {
  if (write.kind == WriteKind::Patch) {
    if (write.patch_type != PatchType::Merge) return false;
    Json patched = found;
    merge_patch(patched, write.body);
    return patched == found;
  }
  for (const auto& [field, value] : object_at(write.body, {})) {
    if (field == "metadata" || field == "apiVersion" || field == "kind") continue;
    if (!write.subresource.empty() && field != write.subresource) continue;
    if (write.subresource.empty() && field == "status") continue;  // not written by a plain update
    const Json* shown = find(found, {std::string_view(field)});
    if (!shown || *shown != value) return false;
  }
  if (!write.subresource.empty()) return true;
  for (const auto* part : {"labels", "annotations", "finalizers", "ownerReferences"}) {
    const Json* asked = find(write.body, {"metadata", part});
    const Json* shown = find(found, {"metadata", part});
    if (asked && (!shown || *asked != *shown)) return false;
    if (!asked && shown) return false;
  }
  return true;
}

enum class Remains { Gone, Stays, Unsure };
/// What a successful delete's answer says of the object. A server answers a Status or the last
/// state of what is gone, and the object with a deletionTimestamp while its finalizers or its grace
/// period keep it. Forced, it may also answer the last state of one that was already terminating.
Remains read_delete_answer(const Json& answer, bool forced) {
  if (string_at(answer, {"kind"}) == "Status") return Remains::Gone;
  if (string_at(answer, {"metadata", "uid"}).empty()) return Remains::Unsure;
  if (string_at(answer, {"metadata", "deletionTimestamp"}).empty()) return Remains::Gone;
  if (!array_at(answer, {"metadata", "finalizers"}).empty()) return Remains::Stays;
  const bool graceful = int_at(answer, {"metadata", "deletionGracePeriodSeconds"}) > 0;
  return graceful && !forced ? Remains::Stays : Remains::Unsure;
}

}  // namespace

std::string_view to_string(WriteKind kind) {
  switch (kind) {
    case WriteKind::Create:
      return "create";
    case WriteKind::Update:
      return "update";
    case WriteKind::Patch:
      return "patch";
    case WriteKind::Delete:
      return "delete";
    case WriteKind::DeleteCollection:
      return "deletecollection";
    case WriteKind::External:
      return "call";
  }
  std::unreachable();
}

std::uint64_t fingerprint_of(const Write& write, std::uint64_t seed) {
  std::string text = std::to_string(seed);
  const auto put = [&text](std::string_view part) { text.append(part).push_back('\0'); };
  put(std::to_string(static_cast<int>(write.kind)));
  put(write.resource.group);
  put(write.resource.plural);
  put(write.key.to_string());
  put(write.subresource);
  put(write.precondition_uid);
  put(write.label_selector);
  put(write.target);
  if (!write.body.is_object()) {
    put(dump_json(write.body));
    return std::hash<std::string>{}(text);
  }
  for (const auto& [field, value] : write.body.get_object()) {
    put(field);
    if (field != "metadata" || !value.is_object()) {
      put(dump_json(value));
      continue;
    }
    for (const auto& [part, content] : value.get_object())
      if (part != "resourceVersion") put(part), put(dump_json(content));
  }
  return std::hash<std::string>{}(text);
}

std::uint64_t fingerprint_of(const Write& write) { return fingerprint_of(write, 0); }

Task<WriteOutcome> Writer::run(const Write& write, UnsettledNames& unsettled) {
  switch (write.kind) {
    case WriteKind::Create:
      return create(write, unsettled);
    case WriteKind::Update:
    case WriteKind::Patch:
      return change(write);
    case WriteKind::Delete:
      return remove(write);
    case WriteKind::DeleteCollection:
      return remove_collection(write);
    case WriteKind::External:
      return call_outside(write);
  }
  std::unreachable();
}

Task<WriteOutcome> Writer::call_outside(const Write& write) {
  auto answer = co_await outside_.call(write.target, write.body);
  if (answer) co_return outcome(Kind::Done, std::move(answer), write.key.name);
  co_return judge(write, Kind::Failed, answer.error(), write.key.name);
}

Task<WriteOutcome> Writer::create(const Write& write, UnsettledNames& unsettled) {
  std::string base(string_at(write.body, {"metadata", "generateName"}));
  std::string name(string_at(write.body, {"metadata", "name"}));
  const bool generated = name.empty() && !base.empty();
  bool maybe_ours = false;
  if (generated) {
    base.resize(std::min(base.size(), kLongestBase));
    name = base + random_suffix(random_);
    if (!unsettled.empty()) {
      if (auto earlier = unsettled.extract(fingerprint_of(write))) {
        name = std::move(earlier.mapped());
        maybe_ours = true;
      }
    }
  }
  for (int tried = 1;; ++tried) {
    Request request = request_for(write, Verb::Create);
    request.name.clear();
    request.body = write.body;
    if (generated) ensure(request.body, {"metadata", "name"}) = name;
    auto answer = co_await call(std::move(request));
    if (answer) {
      observe(write.resource, *answer);
      co_return outcome(Kind::Done, std::move(answer), name);
    }
    const bool lost = is_ambiguous(answer.error());
    const bool taken = answer.error().code == ErrorCode::AlreadyExists;
    maybe_ours |= lost;
    WriteOutcome result = judge(write, Kind::Failed, answer.error(), name);
    bool foreign = generated && taken && !maybe_ours;
    if (lost || (taken && !foreign)) {
      result = co_await settle_create(write, name, answer.error(), maybe_ours);
      foreign = generated && result.kind == Kind::Stale;
    }
    if (foreign && tried < kNamesTried) {
      name = base + random_suffix(random_);
      maybe_ours = false;
      continue;
    }
    // Not even read: whose it is shows next time, under the same name.
    if (generated && maybe_ours && !foreign && result.kind != Kind::Done)
      unsettled.emplace(fingerprint_of(write), name);
    if (foreign) result.kind = Kind::Failed;
    co_return result;
  }
}

/// After a create whose reply was lost, or whose name exists. Stale: the name is somebody else's,
/// or was until now.
Task<WriteOutcome> Writer::settle_create(const Write& write, std::string name, Error error,
                                         bool maybe_ours) {
  const std::string namespace_ = write.key.namespace_.empty()
                                     ? std::string(string_at(write.body, {"metadata", "namespace"}))
                                     : write.key.namespace_;
  auto found = co_await read(write.resource, {namespace_, name});
  if (found && maybe_ours && is_ours(write.body, *found))
    co_return outcome(Kind::Done, std::move(found), name);
  if (found) {
    if (error.code != ErrorCode::AlreadyExists)
      error = failed(ErrorCode::AlreadyExists, "the name belongs to another object").error();
    co_return judge(write, Kind::Stale, std::move(error), name);
  }
  if (found.error().code == ErrorCode::Cancelled)
    co_return outcome(Kind::Stopped, std::move(found), name);
  const bool went =
      error.code == ErrorCode::AlreadyExists && found.error().code == ErrorCode::NotFound;
  co_return judge(write, went ? Kind::Stale : Kind::Failed, std::move(error), name);
}

Task<WriteOutcome> Writer::change(const Write& write) {
  Request request =
      request_for(write, write.kind == WriteKind::Update ? Verb::Update : Verb::Patch);
  request.body = write.body;
  request.patch_type = write.patch_type;
  request.force = write.patch_type == PatchType::Apply && write.kind == WriteKind::Patch;
  const ObjectKey key = write.key.name.empty() ? key_of(write.body) : write.key;
  request.name = key.name;
  request.namespace_ = key.namespace_;
  auto answer = co_await call(std::move(request));
  if (answer) {
    observe(write.resource, *answer);
    co_return outcome(Kind::Done, std::move(answer), key.name);
  }
  const auto code = answer.error().code;
  if (is_ambiguous(answer.error()) || code == ErrorCode::Conflict || code == ErrorCode::NotFound)
    co_return co_await settle_change(write, key, answer.error());
  co_return judge(write, Kind::Failed, answer.error(), key.name);
}

Task<WriteOutcome> Writer::settle_change(const Write& write, ObjectKey key, Error error) {
  auto found = co_await read(write.resource, key);
  const std::string name = key.name;
  if (!found && found.error().code == ErrorCode::Cancelled)
    co_return outcome(Kind::Stopped, std::move(found), name);
  if (!is_ambiguous(error)) co_return judge(write, Kind::Stale, std::move(error), name);
  if (found && shows(write, *found)) co_return outcome(Kind::Done, std::move(found), name);
  if (!found && found.error().code == ErrorCode::NotFound)
    co_return judge(write, Kind::Stale, found.error(), name);
  co_return judge(write, Kind::Failed, std::move(error), name);
}

Task<WriteOutcome> Writer::remove(const Write& write) {
  Request request = request_for(write, Verb::Delete);
  request.precondition_uid = write.precondition_uid;
  request.propagation = write.propagation;
  request.grace_period_seconds = write.grace_period_seconds;
  // Held before the call: an object made meanwhile under this name is another one.
  const std::string uid = uid_held(write);
  auto answer = co_await call(std::move(request));
  const std::string name = write.key.name;
  if (!answer) {
    const auto code = answer.error().code;
    if (code == ErrorCode::NotFound) {
      if (!uid.empty()) caches_.observe_gone(write.resource, write.key, uid);
      co_return judge(write, Kind::Stale, answer.error(), name);
    }
    if (is_ambiguous(answer.error()) || code == ErrorCode::Conflict)
      co_return co_await settle_remove(write, uid, answer.error());
    co_return judge(write, Kind::Failed, answer.error(), name);
  }
  std::string gone_uid(string_at(*answer, {"metadata", "uid"}));
  if (gone_uid.empty()) gone_uid = string_at(*answer, {"details", "uid"}, uid);
  switch (read_delete_answer(*answer, write.grace_period_seconds == 0)) {
    case Remains::Stays:
      observe(write.resource, *answer);
      break;
    case Remains::Gone:
      if (!gone_uid.empty()) caches_.observe_gone(write.resource, write.key, gone_uid);
      break;
    case Remains::Unsure:
      co_await read(write.resource, write.key);
      break;
  }
  co_return outcome(Kind::Done, std::move(answer), name);
}

Task<WriteOutcome> Writer::settle_remove(const Write& write, std::string uid, Error error) {
  auto found = co_await read(write.resource, write.key);
  const std::string name = write.key.name;
  if (!found && found.error().code == ErrorCode::Cancelled)
    co_return outcome(Kind::Stopped, std::move(found), name);
  if (!found && found.error().code == ErrorCode::NotFound)
    co_return outcome(Kind::Done, Json(), name);
  if (found) {
    const bool successor = !uid.empty() && string_at(*found, {"metadata", "uid"}) != uid;
    const bool going = !string_at(*found, {"metadata", "deletionTimestamp"}).empty();
    if (successor || going) co_return outcome(Kind::Done, std::move(found), name);
  }
  const auto kind = is_ambiguous(error) ? Kind::Failed : Kind::Stale;
  co_return judge(write, kind, std::move(error), name);
}

// A collection's delete answers what was there before, so it is listed to see what remains.
Task<WriteOutcome> Writer::remove_collection(const Write& write) {
  Request request = request_for(write, Verb::DeleteCollection);
  request.label_selector = write.label_selector;
  request.propagation = write.propagation;
  request.grace_period_seconds = write.grace_period_seconds;
  auto answer = co_await call(std::move(request));
  if (!answer && !is_ambiguous(answer.error()))
    co_return judge(write, Kind::Failed, answer.error(), {});
  Request list = request_for(write, Verb::List);
  list.label_selector = write.label_selector;
  auto left = co_await ask(std::move(list));
  if (!left) {
    if (left.error().code == ErrorCode::Cancelled)
      co_return outcome(Kind::Stopped, std::move(left), {});
    co_return judge(write, Kind::Failed, answer ? left.error() : answer.error(), {});
  }
  auto selector = LabelSelector::parse(write.label_selector);
  if (selector) caches_.observe_list(write.resource, write.key.namespace_, *selector, *left);
  const bool all_going = std::ranges::all_of(array_at(*left, {"items"}), [](const Json& item) {
    return !string_at(item, {"metadata", "deletionTimestamp"}).empty();
  });
  if (!answer && !all_going) co_return judge(write, Kind::Failed, answer.error(), {});
  co_return outcome(Kind::Done, std::move(left), {});
}

Task<Result<Json>> Writer::call(Request request) {
  request.field_manager = field_manager_;
  auto response = co_await api_.call(std::move(request));
  if (!response) co_return std::unexpected(response.error());
  co_return std::move(response->body);
}

Task<Result<Json>> Writer::ask(Request request) {
  Duration delay = kFirstAsk;
  while (true) {
    if (stop_.stop_requested()) co_return failed(ErrorCode::Cancelled, "stopped");
    auto answer = co_await api_.call(request);
    if (answer) co_return std::move(answer->body);
    const Error& error = answer.error();
    if (!is_ambiguous(error) && error.code != ErrorCode::TooManyRequests)
      co_return std::unexpected(error);
    const Duration wait = error.retry_after ? Duration{*error.retry_after} : delay;
    if (!co_await sleep(loop_, wait, stop_)) co_return failed(ErrorCode::Cancelled, "stopped");
    delay = std::min(delay * 2, kLongestAsk);
  }
}

Task<Result<Json>> Writer::read(Resource resource, ObjectKey key) {
  const auto held = caches_.meta(resource, key);
  const std::string uid = held ? held->uid : std::string();
  auto found = co_await ask(
      {.verb = Verb::Get, .resource = resource, .namespace_ = key.namespace_, .name = key.name});
  if (found) observe(resource, *found);
  if (!found && found.error().code == ErrorCode::NotFound && !uid.empty())
    caches_.observe_gone(resource, key, uid);
  co_return found;
}

// Subresources answer objects of other kinds (Scale); those are no news of this resource.
void Writer::observe(const Resource& resource, const Json& answer) const {
  const auto kind = string_at(answer, {"kind"}, resource.kind);
  if (kind == resource.kind) caches_.observe(resource, answer);
}

std::string Writer::uid_held(const Write& write) const {
  if (!write.precondition_uid.empty()) return write.precondition_uid;
  const auto held = caches_.meta(write.resource, write.key);
  return held ? held->uid : std::string();
}

}  // namespace manta::kube
