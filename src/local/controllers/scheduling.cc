#include "local/controllers/scheduling.h"

#include "base/log.h"

#include <fmt/format.h>

#include <utility>

namespace manta::local {
namespace {

constexpr Duration kRetry = std::chrono::seconds{1};

}  // namespace

Scheduling::Scheduling(Loop& loop, kube::Api& api, kube::Cache<PodView>& pods,
                       kube::Cache<NodeView>& nodes, kube::EventRecorder& events,
                       SchedulerOptions options)
    : loop_(loop),
      api_(api),
      pods_(pods),
      nodes_(nodes),
      events_(events),
      options_(options),
      wake_(loop) {
  auto listener = [this](const auto*, const auto*) {
    changed_ = true;
    wake_.set(true);
  };
  pods_.listen(listener);
  nodes_.listen(listener);
}

Task<void> Scheduling::run(std::stop_token stop) {
  std::stop_callback wake(stop, [&] { wake_.set(true); });
  while (!stop.stop_requested()) {
    if (!changed_ || !pods_.synced() || !nodes_.synced()) {
      working_ = false;
      wake_ = OneShot<bool>(loop_);
      // A cache tells of its objects, not of being complete; an empty cluster has nothing to say.
      const auto look = loop_.after(kRetry, [wake = wake_] { wake.set(true); });
      if (!stop.stop_requested()) co_await wake_;
      loop_.cancel(look);
      continue;
    }
    working_ = true;
    changed_ = false;
    bool all_done = true;
    for (auto& placement : decide_placements({pods_.list(""), nodes_.list("")}, options_))
      all_done = co_await act(std::move(placement)) && all_done;
    if (!all_done && co_await sleep(loop_, kRetry, stop)) changed_ = true;
  }
}

Task<bool> Scheduling::act(Placement placement) {
  const auto& pod = *placement.pod;
  if (placement.node.empty() && pod.scheduled_reason == placement.reason &&
      pod.scheduled_message == placement.message)
    co_return true;  // said already
  auto answer = placement.node.empty() ? co_await explain(placement) : co_await bind(placement);
  if (answer) co_return true;
  const auto code = answer.error().code;
  if (code == ErrorCode::NotFound || code == ErrorCode::Conflict) co_return true;  // it changed
  log::warn("scheduling a Pod failed, will retry",
            {{"pod", pod.meta.key.to_string()}, {"error", answer.error().message}});
  co_return false;
}

Task<Result<Json>> Scheduling::bind(const Placement& placement) {
  const auto& pod = *placement.pod;
  kube::Request request{.verb = kube::Verb::Create,
                        .resource = kube::kPods,
                        .namespace_ = pod.meta.key.namespace_,
                        .name = pod.meta.key.name,
                        .subresource = "binding"};
  request.body = JsonObject{
      {"apiVersion", "v1"},
      {"kind", "Binding"},
      {"metadata", JsonObject{{"name", pod.meta.key.name},
                              {"namespace", pod.meta.key.namespace_},
                              {"uid", pod.meta.uid}}},
      {"target", JsonObject{{"apiVersion", "v1"}, {"kind", "Node"}, {"name", placement.node}}}};
  auto answer = co_await api_.call(std::move(request));
  if (!answer) co_return failed(answer.error());
  record(pod, kube::EventType::Normal, "Scheduled",
         fmt::format("Successfully assigned {} to {}", pod.meta.key.to_string(), placement.node));
  if (!placement.warning.empty())
    record(pod, kube::EventType::Warning, "Oversubscribed", placement.warning);
  // The answer is a Status; the next decision must already know where this Pod is.
  auto live = co_await api_.get(kube::kPods, pod.meta.key);
  if (live) pods_.observe(*live);
  co_return Json(nullptr);
}

Task<Result<Json>> Scheduling::explain(const Placement& placement) {
  const auto& pod = *placement.pod;
  auto live = co_await api_.get(kube::kPods, pod.meta.key);
  if (!live) co_return failed(live.error());
  const JsonObject condition{
      {"type", "PodScheduled"},     {"status", "False"},
      {"lastProbeTime", nullptr},   {"lastTransitionTime", format_rfc3339(loop_.now())},
      {"reason", placement.reason}, {"message", placement.message}};
  JsonArray conditions;
  bool replaced = false;
  for (const auto& each : array_at(*live, {"status", "conditions"})) {
    const bool same = string_at(each, {"type"}) == "PodScheduled";
    conditions.emplace_back(same ? Json(condition) : each);
    replaced = replaced || same;
  }
  if (!replaced) conditions.emplace_back(condition);
  JsonObject body{
      {"metadata",
       JsonObject{{"uid", pod.meta.uid},
                  {"resourceVersion", string_at(*live, {"metadata", "resourceVersion"})}}},
      {"status", JsonObject{{"phase", "Pending"}, {"conditions", std::move(conditions)}}}};
  auto answer = co_await api_.patch(kube::kPods, pod.meta.key, kube::PatchType::Merge,
                                    std::move(body), "status");
  if (!answer) co_return answer;
  pods_.observe(*answer);
  if (placement.reason == "Unschedulable")
    record(pod, kube::EventType::Warning, "FailedScheduling", placement.message);
  co_return answer;
}

void Scheduling::record(const PodView& pod, kube::EventType type, std::string reason,
                        std::string note) {
  events_.record("default-scheduler",
                 {.resource = kube::kPods,
                  .key = pod.meta.key,
                  .uid = pod.meta.uid,
                  .resource_version = std::to_string(pod.meta.resource_version)},
                 {type, std::move(reason),
                  type == kube::EventType::Normal ? "Binding" : "Scheduling", std::move(note)});
}

}  // namespace manta::local
