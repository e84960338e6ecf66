#include "sim/kubelet.h"

#include <fmt/format.h>

#include <algorithm>

namespace manta::sim {
namespace {

using namespace std::chrono_literals;
constexpr Duration kTakes = 1s;

Json terminated(const Json& container, int exit_code, std::string_view reason, Time now) {
  return JsonObject{
      {"name", string_at(container, {"name"})},
      {"image", string_at(container, {"image"})},
      {"imageID", ""},
      {"ready", false},
      {"restartCount", 0},
      {"state", JsonObject{{"terminated", JsonObject{{"exitCode", exit_code},
                                                     {"reason", reason},
                                                     {"finishedAt", format_rfc3339(now)}}}}}};
}

}  // namespace

Kubelet::Kubelet(Loop& loop, kube::Api& api, Mirror& mirror)
    : loop_(loop), api_(api), mirror_(mirror), scope_(loop) {
  mirror.listen([this](const Change& change) { see(change); });
}

void Kubelet::see(const Change& change) {
  const auto& pod = change.after;
  if (pod.is_null() || string_at(pod, {"kind"}) != "Pod") return;
  if (change.before.is_null() && !is_held(pod))
    scope_.spawn("start", start(pod));
  else if (is_deleting(pod) && (change.before.is_null() || !is_deleting(change.before)))
    scope_.spawn("terminate", terminate(pod));
}

bool Kubelet::is_held(const Json& pod) const {
  return std::ranges::any_of(held_, [&](const auto& labels) {
    return std::ranges::all_of(
        labels, [&](const auto& label) { return label_of(pod, label.first) == label.second; });
  });
}

void Kubelet::hold(kube::StringMap labels) { held_.push_back(std::move(labels)); }

void Kubelet::release() {
  held_.clear();
  for (const auto* pod : mirror_.list("Pod"))
    if (string_at(*pod, {"spec", "nodeName"}).empty()) scope_.spawn("start", start(*pod));
}

Json Kubelet::running_status(const Json& pod) {
  JsonArray containers;
  for (const auto& container : array_at(pod, {"spec", "containers"}))
    containers.push_back(JsonObject{
        {"name", string_at(container, {"name"})},
        {"image", string_at(container, {"image"})},
        {"imageID", ""},
        {"ready", true},
        {"started", true},
        {"restartCount", 0},
        {"state",
         JsonObject{{"running", JsonObject{{"startedAt", format_rfc3339(loop_.now())}}}}}});
  const int number = next_address_++;
  return JsonObject{
      {"phase", "Running"},
      {"podIP", fmt::format("10.1.{}.{}", number / 256, number % 256)},
      {"startTime", format_rfc3339(loop_.now())},
      {"conditions", JsonArray{JsonObject{{"type", "Ready"},
                                          {"status", "True"},
                                          {"lastTransitionTime", format_rfc3339(loop_.now())}}}},
      {"containerStatuses", std::move(containers)}};
}

Task<void> Kubelet::start(Json pod) {
  const auto takes = start_takes ? start_takes(pod) : kTakes;
  if (!co_await sleep(loop_, takes, scope_.stop_token())) co_return;
  kube::Request bind{.verb = kube::Verb::Create,
                     .resource = kube::kPods,
                     .namespace_ = std::string(string_at(pod, {"metadata", "namespace"})),
                     .name = name_of(pod),
                     .subresource = "binding"};
  bind.body =
      JsonObject{{"apiVersion", "v1"},
                 {"kind", "Binding"},
                 {"metadata", JsonObject{{"name", name_of(pod)}, {"uid", uid_of(pod)}}},
                 {"target", JsonObject{{"apiVersion", "v1"}, {"kind", "Node"}, {"name", "node"}}}};
  if (!co_await api_.call(std::move(bind))) co_return;  // deleted meanwhile
  co_await set_status(name_of(pod), uid_of(pod), running_status(pod));
  if (on_running)
    if (const auto* running = mirror_.by_uid(uid_of(pod))) on_running(*running);
}

Task<void> Kubelet::terminate(Json pod) {
  if (!co_await sleep(loop_, kTakes, scope_.stop_token())) co_return;
  if (hung_.contains(name_of(pod))) co_return;
  kube::Request gone{.verb = kube::Verb::Delete,
                     .resource = kube::kPods,
                     .namespace_ = std::string(string_at(pod, {"metadata", "namespace"})),
                     .name = name_of(pod),
                     .precondition_uid = uid_of(pod),
                     .grace_period_seconds = 0};
  // Its containers have ended: what else waits for the Pod (a Job's finalizer) should see that.
  JsonArray containers;
  for (const auto& container : array_at(pod, {"spec", "containers"}))
    containers.push_back(terminated(container, 143, "Error", loop_.now()));
  if (const auto phase = phase_of(pod); phase != "Succeeded" && phase != "Failed")
    co_await set_status(
        name_of(pod), uid_of(pod),
        JsonObject{{"phase", "Failed"}, {"containerStatuses", std::move(containers)}});
  (void)co_await api_.call(std::move(gone));  // a force-deleted one is gone already
}

Task<void> Kubelet::set_status(std::string pod, std::string uid, Json status) {
  const Json patch =
      JsonObject{{"metadata", JsonObject{{"uid", uid}}}, {"status", std::move(status)}};
  (void)co_await api_.patch(kube::kPods, {"default", pod}, kube::PatchType::Merge, patch, "status");
}

void Kubelet::fail(const std::string& pod, std::string reason) {
  const auto* found = mirror_.find("Pod", pod);
  MANTA_CHECK(found != nullptr);
  JsonArray containers;
  for (const auto& container : array_at(*found, {"spec", "containers"}))
    containers.push_back(
        terminated(container, 137, reason.empty() ? "Error" : reason, loop_.now()));
  scope_.spawn("fail", set_status(pod, uid_of(*found),
                                  JsonObject{{"phase", "Failed"},
                                             {"reason", reason},
                                             {"containerStatuses", std::move(containers)}}));
}

void Kubelet::finish(const std::string& pod, int exit_code) {
  const auto* found = mirror_.find("Pod", pod);
  MANTA_CHECK(found != nullptr);
  JsonArray containers;
  for (const auto& container : array_at(*found, {"spec", "containers"}))
    containers.push_back(
        terminated(container, exit_code, exit_code == 0 ? "Completed" : "Error", loop_.now()));
  scope_.spawn("finish", set_status(pod, uid_of(*found),
                                    JsonObject{{"phase", exit_code == 0 ? "Succeeded" : "Failed"},
                                               {"containerStatuses", std::move(containers)}}));
}

void Kubelet::set_ready(const std::string& pod, bool ready) {
  const auto* found = mirror_.find("Pod", pod);
  MANTA_CHECK(found != nullptr);
  JsonObject condition{{"type", "Ready"}, {"status", ready ? "True" : "False"}};
  if (!ready) condition["reason"] = "ContainersNotReady";
  scope_.spawn("set ready",
               set_status(pod, uid_of(*found), JsonObject{{"conditions", JsonArray{condition}}}));
}

void Kubelet::end_container(const std::string& pod, const std::string& container,
                            std::string reason, int exit_code) {
  const auto* found = mirror_.find("Pod", pod);
  MANTA_CHECK(found != nullptr);
  JsonArray statuses = array_at(*found, {"status", "containerStatuses"});
  for (auto& status : statuses)
    if (string_at(status, {"name"}) == container)
      status = terminated(status, exit_code, reason, loop_.now());
  scope_.spawn("end container", set_status(pod, uid_of(*found),
                                           JsonObject{{"containerStatuses", std::move(statuses)}}));
}

void Kubelet::restart_container(const std::string& pod, const std::string& container,
                                std::string reason, Duration takes) {
  const auto* found = mirror_.find("Pod", pod);
  MANTA_CHECK(found != nullptr);
  scope_.spawn("restart", restart(pod, uid_of(*found), container, std::move(reason), takes));
}

Task<void> Kubelet::restart(std::string pod, std::string uid, std::string container,
                            std::string reason, Duration takes) {
  const auto change = [&](const std::function<Json(const Json&)>& to, bool ready) {
    const auto* found = mirror_.by_uid(uid);
    JsonArray statuses = array_at(*found, {"status", "containerStatuses"});
    for (auto& status : statuses)
      if (string_at(status, {"name"}) == container) status = to(status);
    JsonObject condition{{"type", "Ready"}, {"status", ready ? "True" : "False"}};
    if (!ready) condition["reason"] = "ContainersNotReady";
    return set_status(pod, uid,
                      JsonObject{{"containerStatuses", std::move(statuses)},
                                 {"conditions", JsonArray{std::move(condition)}}});
  };
  const auto now = loop_.now();
  co_await change(
      [&](const Json& status) {
        auto ended = terminated(status, 137, reason, now);
        ended.as_object()["restartCount"] = int_at(status, {"restartCount"});
        return ended;
      },
      false);
  if (!co_await sleep(loop_, takes, scope_.stop_token())) co_return;
  if (const auto* found = mirror_.by_uid(uid); !found || !is_live(*found)) co_return;
  const auto started = format_rfc3339(loop_.now());
  co_await change(
      [&](const Json& status) {
        JsonObject running = status.as_object();
        running["lastState"] = object_at(status, {"state"});
        running["state"] = JsonObject{{"running", JsonObject{{"startedAt", started}}}};
        running["restartCount"] = int_at(status, {"restartCount"}) + 1;
        running["ready"] = running["started"] = true;
        return Json(std::move(running));
      },
      true);
  if (const auto* found = mirror_.by_uid(uid); found && on_restarted) on_restarted(*found);
}

void Kubelet::unhang_all() {
  for (const auto& pod : std::set(hung_)) unhang(pod);
}

void Kubelet::unhang(const std::string& pod) {
  hung_.erase(pod);
  const auto* found = mirror_.find("Pod", pod);
  if (found && is_deleting(*found)) scope_.spawn("terminate", terminate(*found));
}

}  // namespace manta::sim
