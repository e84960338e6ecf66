#include "controllers/raycluster/lost_head.h"

#include "controllers/writes.h"
#include "ray/labels.h"

#include <fmt/format.h>

namespace manta::controllers::raycluster {
namespace {

constexpr std::string_view kFact = "head-node";
constexpr std::chrono::seconds kAsk{10};

kube::Write end_by_force(const kube::PodView& head) {
  auto write = remove(kube::kPods, head.meta, "lost-head");
  write.grace_period_seconds = 0;
  write.marker = "FailedDeleteHeadPod";
  write.why = fmt::format("its Node {} is gone, so nobody ends it", head.nodeName);
  const auto key = head.meta.key.to_string();
  write.done_event =
      normal("DeletedHeadPod", "Delete",
             fmt::format("Deleted head Pod {} by force: its Node {} is gone", key, head.nodeName));
  write.failed_event =
      warning("FailedToDeleteHeadPod", "Delete",
              fmt::format("Failed deleting head Pod {} of the lost Node {}, {{error}}", key,
                          head.nodeName));
  return write;
}

}  // namespace

const kube::PodView* going_head(const RayClusterSeen& seen) {
  for (const auto& pod : seen.pods)
    if (is_deleting(*pod) && pod->meta.label(ray::kLabelNodeType) == ray::kNodeTypeHead)
      return pod.get();
  return nullptr;
}

void plan_lost_head(const RayClusterSeen& seen, const Settings& settings,
                    const kube::PlanContext& context, kube::Plan& plan) {
  if (!settings.cluster_gates.replace_lost_head) return;
  const auto* head = going_head(seen);
  if (!head || head->nodeName.empty()) return;
  const auto due = *head->meta.deleting + settings.lost_head_wait;
  if (context.now < due) {
    look_again_within(plan, due - context.now);
    return;
  }
  plan.facts.push_back({.name = std::string(kFact),
                        .target = std::string(kNodeTarget),
                        .circuit = std::string(kNodeTarget),
                        .query = {{"name", head->nodeName}},
                        .interval = kAsk});
  const auto fact = context.facts.find(kFact);
  if (fact == context.facts.end() || !fact->second.answer) return;
  if (bool_at(*fact->second.answer, {"exists"}, true)) return;
  // Before everything else, which may be held up by what is not there.
  plan.stages.insert(plan.stages.begin(), kube::Stage{end_by_force(*head)});
}

std::string why_node_is_unknown(const kube::PlanContext& context) {
  const auto fact = context.facts.find(kFact);
  if (fact == context.facts.end() || fact->second.answer) return {};
  return fact->second.answer.error().message;
}

}  // namespace manta::controllers::raycluster
