#include "sim/job_judge.h"

#include "sim/script_objects.h"

#include <fmt/format.h>

#include <algorithm>

namespace manta::sim {
namespace {

std::string_view deployment_of(const Json& job) {
  return string_at(job, {"status", "jobDeploymentStatus"});
}

bool has_ended(std::string_view deployment) {
  return deployment == "Complete" || deployment == "Failed";
}

bool rests(std::string_view deployment) {
  return has_ended(deployment) || deployment == "Suspended" || deployment == "ValidationFailed";
}

/// What the job has to give back: "DeleteWorkers", "DeleteCluster", "DeleteSelf".
bool owes(const Json& job, std::string_view policy) {
  const auto deployment = deployment_of(job);
  if (policy == "DeleteCluster" && deployment == "Suspended") return true;
  if (!has_ended(deployment)) return false;
  if (policy == "DeleteCluster" && bool_at(job, {"spec", "shutdownAfterJobFinishes"})) return true;
  return std::ranges::any_of(array_at(job, {"spec", "deletionStrategy", "deletionRules"}),
                             [&](const Json& rule) {
                               return string_at(rule, {"policy"}) == policy &&
                                      string_at(rule, {"condition", "jobStatus"}) ==
                                          string_at(job, {"status", "jobStatus"});
                             });
}

}  // namespace

JobJudge::JobJudge(World& world, std::vector<std::string>& broken)
    : world_(world), broken_(broken) {
  world.mirror().listen([this](const Change& change) { at_commit(change); });
}

void JobJudge::at_commit(const Change& change) {
  if (change.before.is_null() || change.after.is_null()) return;
  if (string_at(change.after, {"kind"}) != "RayJob") return;
  const auto was = deployment_of(change.before);
  const auto is = deployment_of(change.after);
  // A spec that has become wrong is told of, whatever was before.
  if (has_ended(was) && was != is && is != "ValidationFailed")
    broken_.push_back(
        fmt::format("RayJob {} was {} and became {}", name_of(change.after), was, is));
  const auto said = string_at(change.after, {"status", "jobStatus"});
  const auto id = std::string(string_at(change.after, {"status", "jobId"}));
  if (said == "SUCCEEDED" && said != string_at(change.before, {"status", "jobStatus"}) &&
      !world_.ray().succeeded().contains(id))
    broken_.push_back(fmt::format("RayJob {} says SUCCEEDED of {}, of which Ray never said it",
                                  name_of(change.after), id));
}

void JobJudge::hear(const kube::Request& request) {
  if (request.verb != kube::Verb::Delete || request.resource.plural != "rayclusters") return;
  const auto* cluster = world_.mirror().find("RayCluster", request.name);
  if (cluster && !is_deleting(*cluster)) judge_deletion_of_cluster(*cluster);
}

void JobJudge::judge_deletion_of_cluster(const Json& cluster) {
  const auto* owner = controller_of(cluster);
  const auto* job = owner ? world_.mirror().by_uid(string_at(*owner, {"uid"})) : nullptr;
  if (job && string_at(*job, {"kind"}) == "RayJob") {
    const auto deployment = deployment_of(*job);
    if (has_ended(deployment) || deployment == "Suspending" || deployment == "Retrying" ||
        is_deleting(*job))
      return;
  }
  if (owner && !job) return;                                     // its owner has gone
  if (job && string_at(*job, {"kind"}) == "RayService") return;  // service_judge.h
  broken_.push_back(
      fmt::format("the operator deletes RayCluster {}, and nobody asked it to", name_of(cluster)));
}

bool JobJudge::rest() const {
  return std::ranges::all_of(world_.mirror().list("RayJob"), [](const Json* job) {
    const auto deployment = deployment_of(*job);
    return !is_deleting(*job) && (rests(deployment) || deployment == "Waiting");
  });
}

void JobJudge::judge_end(bool fates_hold) {
  for (const auto* job : world_.mirror().list("RayJob")) judge_end(*job, fates_hold);
}

void JobJudge::judge_end(const Json& job, bool fates_hold) {
  const auto deployment = deployment_of(job);
  const bool at_rest = rests(deployment);
  if (!at_rest || is_deleting(job))
    broken_.push_back(fmt::format("RayJob {} came to no end: {}{}", name_of(job), deployment,
                                  is_deleting(job) ? ", deleting" : ""));
  for (const auto* cluster : world_.mirror().list("RayCluster")) {
    const auto* owner = controller_of(*cluster);
    if (!owner || string_at(*owner, {"uid"}) != uid_of(job)) continue;
    const bool workers = !world_.workers(name_of(*cluster)).empty();
    if (owes(job, "DeleteCluster") || (workers && owes(job, "DeleteWorkers")))
      broken_.push_back(fmt::format("RayJob {} is {}, and still has RayCluster {}{}", name_of(job),
                                    deployment, name_of(*cluster), workers ? " with workers" : ""));
  }
  if (owes(job, "DeleteSelf"))
    broken_.push_back(
        fmt::format("RayJob {} is {}, and should have gone", name_of(job), deployment));
  const bool by_itself = string_at(job, {"spec", "submissionMode"}) != "InteractiveMode" &&
                         !find(job, {"spec", "activeDeadlineSeconds"});
  if (fates_hold && by_itself && at_rest && !bool_at(job, {"spec", "suspend"})) judge_fate(job);
}

void JobJudge::judge_fate(const Json& job) {
  const auto fate = fate_of(string_at(job, {"spec", "entrypoint"}));
  const bool succeeds = fate.ends == "SUCCEEDED";
  const auto tries = succeeds ? 1 : 1 + int_at(job, {"spec", "backoffLimit"});
  const auto status = string_at(job, {"status", "jobStatus"});
  const auto counted = int_at(job, {"status", "succeeded"}) + int_at(job, {"status", "failed"});
  if (status != fate.ends || counted != tries)
    broken_.push_back(fmt::format("RayJob {} ended {} after {} attempts; its fate was {} after {}",
                                  name_of(job), status, counted, fate.ends, tries));
}

}  // namespace manta::sim
