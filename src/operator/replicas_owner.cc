#include "operator/replicas_owner.h"

#include "controllers/raycluster/notes.h"

#include <fmt/format.h>

#include <algorithm>

namespace manta::operator_ {
namespace {

constexpr std::string_view kLastApplied = "kubectl.kubernetes.io/last-applied-configuration";

enum class Applies { Nothing, Replicas, WholeList };

// Of one manager's fields. A list without a key (as Ray's definitions have it) has one owner.
Applies applies(const Json& fields) {
  const auto* groups = find(fields, {"f:spec", "f:workerGroupSpecs"});
  if (!groups || !groups->is_object()) return Applies::Nothing;
  bool keyed = false;
  for (const auto& entry : groups->get_object()) {
    if (!entry.key().starts_with("k:")) continue;
    keyed = true;
    if (find(entry.value(), {"f:replicas"})) return Applies::Replicas;
  }
  return keyed ? Applies::Nothing : Applies::WholeList;
}

bool has_replicas(const Json& manifest) {
  return std::ranges::any_of(array_at(manifest, {"spec", "workerGroupSpecs"}),
                             [](const auto& group) { return find(group, {"replicas"}); });
}

std::string in_manifest(std::string_view who) {
  return fmt::format(
      "{} applied replicas of a worker group, which the autoscaler sets; leave replicas out of the "
      "manifest",
      who);
}

std::string contested_by(const Json& entry) {
  const auto who = string_at(entry, {"manager"});
  const auto* fields = find(entry, {"fieldsV1"});
  switch (fields ? applies(*fields) : Applies::Nothing) {
    case Applies::Nothing:
      break;
    case Applies::Replicas:
      return in_manifest(who);
    case Applies::WholeList:
      return fmt::format(
          "{} applied workerGroupSpecs as a whole, and with it the replicas that the autoscaler "
          "sets; with the CRD of deploy/kustomize/crd-merged-groups each field has its owner",
          who);
  }
  return {};
}

// What the condition says now.
std::string_view told(const Json& object) {
  for (const auto& condition : array_at(object, {"status", "conditions"}))
    if (string_at(condition, {"type"}) == controllers::raycluster::kReplicasContested)
      return string_at(condition, {"message"});
  return {};
}

}  // namespace

std::string who_applies_replicas(const Json& object) {
  const auto before = told(object);
  for (const auto& entry : array_at(object, {"metadata", "managedFields"})) {
    if (string_at(entry, {"operation"}) != "Apply") continue;
    const auto when = fmt::format(" (at {})", string_at(entry, {"time"}));
    if (auto text = contested_by(entry); !text.empty()) return text + when;
    // The autoscaler's next change takes the field from who applied it: it is still that apply.
    if (before.ends_with(when)) return std::string(before);
  }
  const auto last = parse_json(string_at(object, {"metadata", "annotations", kLastApplied}));
  return last && has_replicas(*last) ? in_manifest("kubectl apply") : std::string();
}

}  // namespace manta::operator_
