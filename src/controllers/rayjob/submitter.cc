#include "controllers/rayjob/submitter.h"

#include "ray/labels.h"

#include <fmt/format.h>

namespace manta::controllers::rayjob {
namespace {

// How often a submitter container may restart under gate SidecarSubmitterRestart.
constexpr std::int32_t kDefaultRestarts = 2;

SubmitterState look_at_job(const RayJobSeen& seen) {
  SubmitterState out;
  if (!seen.submitter) {
    out.gone = fmt::format("its submitter Job {} is not there any more", seen.key().to_string());
    return out;
  }
  if (const auto* failure = seen.submitter->true_condition("Failed"))
    out.failure = fmt::format("Job submission has failed. Reason: {}. Message: {}", failure->reason,
                              failure->message);
  for (const auto& condition : seen.submitter->conditions) {
    if (condition.status != "True") continue;
    if (condition.type != "Complete" && condition.type != "Failed") continue;
    out.finished = condition.lastTransitionTime;
    break;
  }
  return out;
}

void judge_restarts(SubmitterState& out, const kube::ContainerStatusView& container,
                    std::int32_t limit) {
  const bool clean_exit = container.terminated && container.terminated->exitCode == 0;
  if (container.last_terminated && !clean_exit && container.restartCount >= limit)
    out.failure = fmt::format(
        "Ray head pod submitter container {} terminated after exceeding the maximum restart count",
        ray::kContainerSubmitter);
}

SubmitterState look_at_sidecar(const RayJobSeen& seen, const Settings& settings) {
  SubmitterState out;
  if (seen.heads.size() > 1) {
    out.unknown = fmt::format("{} head Pods", seen.heads.size());
    return out;
  }
  if (seen.heads.empty()) {
    out.head_lost = true;
    return out;
  }
  const auto* container = seen.heads.front()->container(ray::kContainerSubmitter);
  if (!container) {
    if (has_ready_head(seen))
      out.gone = fmt::format("head Pod {} runs without a container {}",
                             seen.heads.front()->meta.key.name, ray::kContainerSubmitter);
    return out;
  }
  if (container->terminated)
    if (auto time = parse_rfc3339(container->terminated->finishedAt)) out.finished = *time;
  if (settings.build.sidecar_submitter_restart) {
    const auto& config = seen.job->spec.submitterConfig;
    judge_restarts(out, *container,
                   config && config->backoffLimit ? *config->backoffLimit : kDefaultRestarts);
  } else if (container->terminated && container->terminated->exitCode != 0) {
    out.failure = fmt::format("Ray head pod container {} terminated with exit code {}: {}",
                              ray::kContainerSubmitter, container->terminated->exitCode,
                              container->terminated->reason);
  }
  return out;
}

}  // namespace

SubmitterState look_at_submitter(const RayJobSeen& seen, const Settings& settings) {
  switch (submission_mode(seen.job->spec)) {
    case Mode::K8sJob:
      return look_at_job(seen);
    case Mode::Sidecar:
      return look_at_sidecar(seen, settings);
    case Mode::Http:
    case Mode::Interactive:
    case Mode::Other:
      break;
  }
  return {};
}

}  // namespace manta::controllers::rayjob
