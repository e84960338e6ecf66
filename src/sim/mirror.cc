#include "sim/mirror.h"

#include <fmt/format.h>

#include <algorithm>

namespace manta::sim {
namespace {

std::string key_for(const Json& object) {
  return fmt::format("{}/{}/{}", string_at(object, {"kind"}),
                     string_at(object, {"metadata", "namespace"}),
                     string_at(object, {"metadata", "name"}));
}

bool has_labels(const Json& object, const kube::StringMap& labels) {
  return std::ranges::all_of(labels, [&](const auto& label) {
    return string_at(object, {"metadata", "labels", label.first}) == label.second;
  });
}

}  // namespace

Mirror::Mirror(Loop& loop, local::Store& store) : loop_(loop) {
  subscription_ = store.subscribe([this](const local::StoreChange& change) { take(change); });
}

void Mirror::take(const local::StoreChange& change) {
  // Nobody asks for them, and they are large.
  if (change.key.find("/customresourcedefinitions/") != std::string::npos) return;
  Change seen{.at = loop_.now()};
  if (change.after) seen.after = *parse_json(*change.after);
  // A deleted object's last state is not quite the one from before: it has the deletion's version.
  if (change.before && !change.after) seen.before = *parse_json(*change.before);
  const auto key = key_for(seen.newest());
  if (const auto known = objects_.find(key); known != objects_.end() && change.after)
    seen.before = std::move(known->second);
  if (seen.after.is_null()) {
    uids_.erase(uid_of(seen.before));
    objects_.erase(key);
  } else {
    objects_[key] = seen.after;
    uids_[uid_of(seen.after)] = key;
  }
  const auto kind = string_at(seen.newest(), {"kind"});
  if (seen.before.is_null()) ++created_[std::string(kind)];
  if (const auto base = string_at(seen.newest(), {"metadata", "generateName"}); !base.empty())
    generated_[name_of(seen.newest())] = base;
  if (kind != "Event" && kind != "Lease") {
    ++changes_;
    last_change_ = loop_.now();
  }
  for (const auto& listener : listeners_) listener(seen);
}

const Json* Mirror::find(std::string_view kind, std::string_view name) const {
  for (const auto* namespace_ : {"default", ""}) {
    const auto found = objects_.find(fmt::format("{}/{}/{}", kind, namespace_, name));
    if (found != objects_.end()) return &found->second;
  }
  return nullptr;
}

Mirror::Objects Mirror::list(std::string_view kind, const kube::StringMap& labels) const {
  Objects found;
  const auto prefix = fmt::format("{}/", kind);
  for (auto at = objects_.lower_bound(prefix); at != objects_.end(); ++at) {
    if (!at->first.starts_with(prefix)) break;
    if (has_labels(at->second, labels)) found.push_back(&at->second);
  }
  return found;
}

Mirror::Objects Mirror::all() const {
  Objects found;
  for (const auto& [key, object] : objects_) found.push_back(&object);
  return found;
}

const Json* Mirror::by_uid(std::string_view uid) const {
  const auto found = uids_.find(std::string(uid));
  return found == uids_.end() ? nullptr : &objects_.at(found->second);
}

int Mirror::created(std::string_view kind) const {
  const auto found = created_.find(kind);
  return found == created_.end() ? 0 : found->second;
}

std::string name_of(const Json& object) {
  return std::string(string_at(object, {"metadata", "name"}));
}
std::string uid_of(const Json& object) {
  return std::string(string_at(object, {"metadata", "uid"}));
}
std::string label_of(const Json& object, std::string_view label) {
  return std::string(string_at(object, {"metadata", "labels", label}));
}
bool is_deleting(const Json& object) {
  return !string_at(object, {"metadata", "deletionTimestamp"}).empty();
}
std::string phase_of(const Json& pod) { return std::string(string_at(pod, {"status", "phase"})); }

std::string condition_of(const Json& object, std::string_view type) {
  for (const auto& each : array_at(object, {"status", "conditions"}))
    if (string_at(each, {"type"}) == type)
      return fmt::format("{} {}", string_at(each, {"status"}), string_at(each, {"reason"}));
  return {};
}

bool is_live(const Json& pod) {
  const auto phase = phase_of(pod);
  return !is_deleting(pod) && phase != "Failed" && phase != "Succeeded";
}

const Json* controller_of(const Json& object) {
  for (const auto& owner : array_at(object, {"metadata", "ownerReferences"}))
    if (bool_at(owner, {"controller"})) return &owner;
  return nullptr;
}

}  // namespace manta::sim
