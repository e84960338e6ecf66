#include "controllers/rayjob/obstacles.h"

#include "controllers/raycluster/pod_health.h"
#include "controllers/rayjob/notices.h"

#include <fmt/format.h>

namespace manta::controllers::rayjob {

std::string find_obstacle(const Draft& draft) {
  if (const auto* failure = draft.failure_of("cluster"))
    return "creating the RayCluster: " + failure->error.message;
  if (const auto* failure = draft.failure_of("submitter"))
    return fmt::format("creating the submitter Job {}: {}", draft.seen.key().name,
                       failure->error.message);
  if (const auto* pod = raycluster::troubled_pod(draft.seen.pods))
    return fmt::format("Pod {}: {}", pod->meta.key.name, *pod->trouble);
  if (!draft.seen.cluster) return {};
  const auto* refused =
      ray::find_condition(draft.seen.cluster->status.conditions, "ReplicaFailure");
  if (!refused || refused->status != "True") return {};
  return fmt::format("RayCluster {}: {}", draft.seen.cluster->meta.key.name, refused->message);
}

void note_submitter_trouble(Draft& draft) {
  const auto* pod = draft.status.jobStatus.empty()
                        ? raycluster::troubled_pod(draft.seen.submitter_pods)
                        : nullptr;
  if (pod)
    give_notice(draft, kSubmitterTrouble,
                fmt::format("Pod {}: {}", pod->meta.key.name, *pod->trouble));
  else
    take_notice_back(draft, kSubmitterTrouble);
}

void note_name_conflict(Draft& draft) {
  const auto* failure = draft.failure_of("submitter");
  if (failure && failure->error.code == ErrorCode::AlreadyExists)
    give_notice(draft, kNameConflict,
                fmt::format("a Job {} exists that is not this RayJob's; it is left alone, and the "
                            "RayJob waits for the name",
                            draft.seen.key().to_string()));
  else if (!failure)
    take_notice_back(draft, kNameConflict);
}

}  // namespace manta::controllers::rayjob
