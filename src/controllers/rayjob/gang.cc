#include "controllers/rayjob/gang.h"

namespace manta::controllers::rayjob {
namespace {

void take_over(Draft& draft, batchscheduler::GangDecision gang) {
  for (auto& stage : gang.stages) draft.plan.stages.push_back(std::move(stage));
  for (auto& event : gang.events) draft.plan.events.push_back(std::move(event));
}

}  // namespace

bool gang_ready(Draft& draft) {
  auto gang = batchscheduler::decide_gang(draft.job(), draft.seen.gang, draft.settings.build);
  const bool ready = gang.blocked.empty();
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
