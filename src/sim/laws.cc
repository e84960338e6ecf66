#include "sim/laws.h"

#include "ray/labels.h"

#include <fmt/format.h>

#include <algorithm>

namespace manta::sim {

Laws::Laws(Mirror& mirror, const WriteLog& writes) : mirror_(mirror), writes_(writes) {
  mirror.listen([this](const Change& change) { at_commit(change); });
}

void Laws::at_commit(const Change& change) {
  one_live_head(change);
  generation_never_goes_back(change);
  status_is_of_this_spec(change);
  note_going(change);
}

void Laws::note_going(const Change& change) {
  if (string_at(change.newest(), {"kind"}) != "RayCluster") return;
  auto& times = going_[name_of(change.newest())];
  const bool going = change.after.is_null() || is_deleting(change.after);
  if (times.empty() || times.rbegin()->second != going) times[change.at] = going;
}

bool Laws::was_going(std::string_view cluster, Time at) const {
  const auto found = going_.find(cluster);
  if (found == going_.end()) return true;
  const auto after = found->second.upper_bound(at);
  return after == found->second.begin() || std::prev(after)->second;
}

void Laws::one_live_head(const Change& change) {
  if (change.after.is_null() || string_at(change.after, {"kind"}) != "Pod") return;
  if (label_of(change.after, ray::kLabelNodeType) != ray::kNodeTypeHead) return;
  const auto* owner = controller_of(change.after);
  if (!owner) return;  // somebody's own
  std::string live;
  int count = 0;
  for (const auto* pod : mirror_.list("Pod", {{std::string(ray::kLabelNodeType), "head"}})) {
    const auto* other = controller_of(*pod);
    if (!other || string_at(*other, {"uid"}) != string_at(*owner, {"uid"}) || !is_live(*pod))
      continue;
    ++count;
    live += " " + name_of(*pod);
  }
  if (count > 1)
    broken_.push_back(
        fmt::format("RayCluster {} has live heads:{}", string_at(*owner, {"name"}), live));
}

void Laws::generation_never_goes_back(const Change& change) {
  const auto before = int_at(change.before, {"status", "observedGeneration"});
  const auto after = int_at(change.after, {"status", "observedGeneration"}, before);
  if (!change.after.is_null() && after < before)
    broken_.push_back(fmt::format("{} {}: observedGeneration went from {} to {}",
                                  string_at(change.after, {"kind"}), name_of(change.after), before,
                                  after));
}

// A status is planned from one version and written onto that version, or not at all.
void Laws::status_is_of_this_spec(const Change& change) {
  if (change.before.is_null() || change.after.is_null()) return;
  const auto* before = find(change.before, {"status"});
  const auto* after = find(change.after, {"status"});
  if (!after || !find(*after, {"observedGeneration"}) || (before && *before == *after)) return;
  // A RayService that is suspended takes no notice of its spec. Source: spec/05 §7.
  for (const auto* sleep : {"Suspending", "Suspended"})
    if (string_at(change.after, {"kind"}) == "RayService" &&
        condition_of(change.before, sleep).starts_with("True"))
      return;
  const auto generation = int_at(change.after, {"metadata", "generation"});
  const auto observed = int_at(*after, {"observedGeneration"});
  if (observed != generation)
    broken_.push_back(fmt::format("{} {}: a status of generation {} was written onto generation {}",
                                  string_at(change.after, {"kind"}), name_of(change.after),
                                  observed, generation));
}

void Laws::check_settled(bool events_may_be_lost) {
  owners_live();
  if (!events_may_be_lost) deletions_are_explained();
}

void Laws::owners_live() {
  for (const auto* object : mirror_.all())
    for (const auto& owner : array_at(*object, {"metadata", "ownerReferences"}))
      if (!mirror_.by_uid(string_at(owner, {"uid"})))
        broken_.push_back(fmt::format("{} {} outlives its owner {} {}",
                                      string_at(*object, {"kind"}), name_of(*object),
                                      string_at(owner, {"kind"}), string_at(owner, {"name"})));
}

// By name, or all of an object's Pods at once.
void Laws::deletions_are_explained() {
  std::vector<std::string> notes;
  for (const auto* event : mirror_.list("Event"))
    if (string_at(*event, {"reason"}).starts_with("Deleted"))
      notes.emplace_back(string_at(*event, {"message"}, string_at(*event, {"note"})));
  for (const auto& write : writes_) {
    if (!write.done) continue;
    std::string named;
    if (write.verb == kube::Verb::Delete) {
      if (write.kind == "RayJob") continue;  // one that its own rules delete
      named = write.key.to_string();
    } else if (write.verb == kube::Verb::DeleteCollection) {
      const auto from = write.selector.find('=') + 1;
      const auto cluster = write.selector.substr(from, write.selector.find(',') - from);
      // A cluster that goes takes its Pods along.
      if (was_going(cluster, write.at)) continue;
      named = write.key.namespace_ + "/" + cluster;
    } else {
      continue;
    }
    if (std::ranges::none_of(
            notes, [&](const auto& note) { return note.find(named) != std::string::npos; }))
      broken_.push_back("no event tells of: " + write.to_string());
  }
}

}  // namespace manta::sim
