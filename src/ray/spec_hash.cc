#include "ray/spec_hash.h"

#include "base/hash.h"

#include <charconv>

namespace manta::ray {
namespace {

void drop_scheduling(Json& pod_template) {
  const Json* spec = find(pod_template, {"spec"});
  if (spec == nullptr || !spec->is_object()) return;  // of a wrong type: hashed as it is
  auto& members = ensure(pod_template, {"spec"}).get_object();
  members.erase("tolerations");
  members.erase("schedulingGates");
}

}  // namespace

RayClusterSpec without_mutable_fields(RayClusterSpec spec) {
  spec.upgradeStrategy.reset();
  drop_scheduling(spec.headGroupSpec.template_);
  for (auto& group : spec.workerGroupSpecs) {
    drop_scheduling(group.template_);
    group.replicas.reset();
    group.minReplicas.reset();
    group.maxReplicas.reset();
    group.scaleStrategy.workersToDelete.clear();
  }
  return spec;
}

std::string spec_hash(const RayClusterSpec& spec) {
  return sha1_base32hex(canonical_text(without_mutable_fields(spec)));
}

std::string recreate_hash(RayClusterSpec spec) {
  if (!spec.headGroupSpec.rayStartParams) spec.headGroupSpec.rayStartParams.emplace();
  for (auto& group : spec.workerGroupSpecs)
    if (!group.rayStartParams) group.rayStartParams.emplace();
  return spec_hash(spec);
}

std::string service_hash(RayClusterSpec spec) {
  spec.suspend.reset();
  return spec_hash(spec);
}

bool only_adds_worker_groups(std::string_view stored_hash, std::string_view num_worker_groups,
                             RayClusterSpec goal) {
  std::size_t count = 0;
  const auto* end = num_worker_groups.data() + num_worker_groups.size();
  const auto [rest, code] = std::from_chars(num_worker_groups.data(), end, count);
  if (code != std::errc{} || rest != end) return true;
  if (goal.workerGroupSpecs.size() < count) return false;
  goal.workerGroupSpecs.resize(count);
  return service_hash(std::move(goal)) == stored_hash;
}

}  // namespace manta::ray
