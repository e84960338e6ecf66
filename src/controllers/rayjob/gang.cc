#include "controllers/rayjob/gang.h"

#include <fmt/format.h>

namespace manta::controllers::rayjob {
namespace {

void take_over(Draft& draft, batchscheduler::GangDecision gang) {
  for (auto& stage : gang.stages) draft.plan.stages.push_back(std::move(stage));
  for (auto& event : gang.events) draft.plan.events.push_back(std::move(event));
}

// Upstream leaves it to an event, if it says anything. BS-05, SEEN-24, SEEN-25
std::string why_not_ready(const Draft& draft, const batchscheduler::GangDecision& gang) {
  if (!gang.blocked.empty()) return gang.blocked;
  const auto* failure = draft.failure_of(batchscheduler::kGangLane);
  if (!failure || gang.stages.empty()) return {};
  const auto& write = gang.stages.front().front();
  return fmt::format("{} the {}: {}",
                     write.kind == kube::WriteKind::Create ? "creating" : "updating",
                     write.resource.kind, failure->error.message);
}

}  // namespace

bool gang_ready(Draft& draft) {
  auto gang = batchscheduler::decide_gang(draft.job(), draft.seen.gang, draft.settings.build);
  const bool ready = gang.blocked.empty();
  draft.status.message = why_not_ready(draft, gang);
  take_over(draft, std::move(gang));
  return ready;
}

bool gang_released(Draft& draft) {
  auto gang = batchscheduler::release_gang(draft.job(), draft.seen.cluster.get(), draft.seen.gang,
                                           draft.settings.build);
  const bool released = gang.stages.empty();
  take_over(draft, std::move(gang));
  return released;
}

}  // namespace manta::controllers::rayjob
