#include "cli/clean_up.h"

#include "base/async.h"
#include "base/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace manta::cli {
namespace {

constexpr Duration kFinalizerPatience = std::chrono::seconds{3};
constexpr Duration kCleanupPatience = std::chrono::seconds{20};
constexpr Duration kCleanupInterval = std::chrono::milliseconds{50};

const kube::Resource kRayClusters{"ray.io", "v1", "rayclusters", "RayCluster", true};

Task<bool> wait_gone(Loop& loop, kube::Api& api, AppliedObject object, Duration patience) {
  for (Duration waited{}; waited < patience; waited += kCleanupInterval) {
    const auto left = co_await api.get(object.resource, object.key);
    if (!left && left.error().code == ErrorCode::NotFound) co_return true;
    if (left && string_at(*left, {"metadata", "uid"}) != object.uid) co_return true;
    co_await sleep(loop, kCleanupInterval);
  }
  co_return false;
}

bool is_gone(const Error& error) {
  return error.code == ErrorCode::NotFound || error.code == ErrorCode::Conflict;
}

/// The job's Pods, at once: nobody waits for their grace period. How many there still are.
Task<Result<std::size_t>> remove_pods(kube::Api& api, kube::ObjectKey job, std::string cluster) {
  auto list = co_await api.list(kube::kPods, job.namespace_);
  if (!list) co_return failed(list.error());
  std::size_t left = 0;
  for (const auto& pod : array_at(*list, {"items"})) {
    const auto of_cluster = string_at(pod, {"metadata", "labels", "ray.io/cluster"});
    const bool ours = string_at(pod, {"metadata", "labels", "job-name"}) == job.name ||
                      (!cluster.empty() && of_cluster == cluster);
    if (!ours) continue;
    ++left;
    kube::Request request{.verb = kube::Verb::Delete,
                          .resource = kube::kPods,
                          .namespace_ = job.namespace_,
                          .name = std::string(string_at(pod, {"metadata", "name"})),
                          .grace_period_seconds = 0};
    request.precondition_uid = string_at(pod, {"metadata", "uid"});
    const auto removed = co_await api.call(std::move(request));
    if (!removed && !is_gone(removed.error())) co_return failed(removed.error());
  }
  co_return left;
}

}  // namespace

const AppliedObject* find_job(const std::vector<AppliedObject>& applied) {
  const auto found = std::ranges::find_if(
      applied, [](const AppliedObject& object) { return is_ray_job(object.object); });
  return found == applied.end() ? nullptr : &*found;
}

Task<Result<void>> take_out(Loop& loop, kube::Api& api, std::vector<AppliedObject> applied,
                            std::string cluster) {
  const auto* job = find_job(applied);
  for (auto object = applied.rbegin(); object != applied.rend(); ++object) {
    if (!object->created) continue;
    auto removed = co_await api.remove(object->resource, object->key, object->uid);
    if (!removed && !is_gone(removed.error()))
      co_return failed(removed.error().in(
          fmt::format("deleting {} {}", object->resource.kind, object->key.to_string())));
  }
  if (job == nullptr) co_return Result<void>{};
  // The operator tells Ray first; a Ray that does not answer is not waited for.
  co_await wait_gone(loop, api, *job, kFinalizerPatience);
  if (!cluster.empty()) (void)co_await api.remove(kRayClusters, {job->key.namespace_, cluster});
  (void)co_await api.remove(kube::kJobs, job->key);
  for (Duration waited{}; waited < kCleanupPatience; waited += kCleanupInterval) {
    const auto left = co_await remove_pods(api, job->key, cluster);
    if (!left) co_return failed(left.error().in("deleting the job's Pods"));
    if (*left == 0) co_return Result<void>{};
    co_await sleep(loop, kCleanupInterval);
  }
  co_return failed(ErrorCode::Timeout, "some Pods of the job do not go away");
}

std::string deleted_again(const std::vector<AppliedObject>& applied) {
  std::string names;
  for (const auto& object : applied) {
    if (!object.created) continue;
    const auto kind = lower_case(object.resource.kind);
    names += fmt::format("{}{}/{}{}", names.empty() ? "" : ", ", kind, object.key.name,
                         kind == "rayjob" ? " with its cluster and Pods" : "");
  }
  if (names.empty()) return {};
  return fmt::format("deleted again: {} (--keep leaves everything)", names);
}

}  // namespace manta::cli
