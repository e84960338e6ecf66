#include "cli/apply.h"

#include "cli/job_check.h"
#include "local/controllers/discovery.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace manta::cli {
namespace {

constexpr std::string_view kManager = "manta-run";
constexpr Duration kGonePatience = std::chrono::seconds{30};
constexpr Duration kGoneInterval = std::chrono::milliseconds{100};

struct Target {
  kube::Resource resource = {};
  kube::ObjectKey key = {};
  Json object = {};
  bool exists = false;  // and is to be changed, not made; never a RayJob
};

Result<Target> find_target(const std::vector<kube::Resource>& served, const Json& document) {
  const std::string version(string_at(document, {"apiVersion"}));
  const auto slash = version.find('/');
  const auto group = slash == std::string::npos ? "" : version.substr(0, slash);
  const auto kind = string_at(document, {"kind"});
  const auto found = std::ranges::find_if(served, [&](const kube::Resource& resource) {
    return resource.group == group && resource.kind == kind;
  });
  if (found == served.end())
    return failed(ErrorCode::NotFound,
                  fmt::format("no matches for kind \"{}\" in version \"{}\"", kind, version));
  Target target{.resource = *found, .object = document};
  target.resource.version = slash == std::string::npos ? version : version.substr(slash + 1);
  target.key.name = string_at(document, {"metadata", "name"});
  if (target.resource.namespaced)
    target.key.namespace_ = string_at(document, {"metadata", "namespace"}, "default");
  return target;
}

kube::Request write_request(const Target& target, bool dry_run) {
  kube::Request request{.verb = kube::Verb::Create,
                        .resource = target.resource,
                        .namespace_ = target.key.namespace_,
                        .body = target.object,
                        .field_manager = std::string(kManager),
                        .field_validation = "Strict",
                        .dry_run = dry_run};
  if (!target.exists) return request;
  request.verb = kube::Verb::Patch;
  request.name = target.key.name;
  request.patch_type = kube::PatchType::Apply;
  request.force = true;
  return request;
}

bool is_over(const Json& ray_job) {
  const auto status = string_at(ray_job, {"status", "jobDeploymentStatus"});
  return status == "Complete" || status == "Failed" || status == "ValidationFailed";
}

/// A finished RayJob of this name goes; one that still runs is somebody's work. True: one was
/// there.
Task<Result<bool>> make_room(Loop& loop, kube::Api& api, Target target) {
  auto old = co_await api.get(target.resource, target.key);
  if (!old && old.error().code == ErrorCode::NotFound) co_return false;
  if (!old) co_return failed(old.error());
  if (!is_over(*old))
    co_return failed(
        ErrorCode::AlreadyExists,
        fmt::format("rayjob \"{0}\" is there and has not ended (state \"{1}\"); delete "
                    "it first: kubectl -n {2} delete rayjob {0}",
                    target.key.name, string_at(*old, {"status", "jobDeploymentStatus"}),
                    target.key.namespace_));
  auto removed = co_await api.remove(target.resource, target.key,
                                     std::string(string_at(*old, {"metadata", "uid"})));
  if (!removed && removed.error().code != ErrorCode::NotFound) co_return failed(removed.error());
  for (Duration waited{}; waited < kGonePatience; waited += kGoneInterval) {
    auto left = co_await api.get(target.resource, target.key);
    if (!left && left.error().code == ErrorCode::NotFound) co_return true;
    co_await sleep(loop, kGoneInterval);
  }
  co_return failed(ErrorCode::Timeout,
                   fmt::format("the earlier rayjob \"{}\" does not go away", target.key.name));
}

Task<Result<AppliedObject>> apply_one(Loop& loop, kube::Api& api, Target target) {
  bool replaced = false;
  if (is_ray_job(target.object) && !target.key.name.empty()) {
    auto was_there = co_await make_room(loop, api, target);
    if (!was_there) co_return failed(was_there.error());
    replaced = *was_there;
  }
  auto answer = co_await api.call(write_request(target, false));
  // Another run has made it since we looked: both files have it, and it is shared.
  if (!answer && answer.error().code == ErrorCode::AlreadyExists && !is_ray_job(target.object)) {
    target.exists = true;
    answer = co_await api.call(write_request(target, false));
  }
  if (!answer) co_return failed(answer.error());
  target.key.name = string_at(answer->body, {"metadata", "name"});
  co_return AppliedObject{.resource = target.resource,
                          .key = target.key,
                          .uid = std::string(string_at(answer->body, {"metadata", "uid"})),
                          .created = !target.exists,
                          .replaced = replaced,
                          .object = std::move(answer->body)};
}

Error placed(const Manifest& manifest, std::size_t document, Error error) {
  error.message = explain_rejection(manifest, document, error);
  return error;
}

/// Every document's, after the server has looked at it.
Task<Result<std::vector<Target>>> find_checked_targets(kube::Api& api, const Manifest& manifest) {
  auto served = co_await local::discover(api);
  if (!served) co_return failed(served.error());
  std::vector<Target> targets;
  for (std::size_t i = 0; i < manifest.documents.size(); ++i) {
    auto target = find_target(*served, manifest.documents[i]);
    if (!target) co_return failed(placed(manifest, i, target.error()));
    if (!is_ray_job(target->object) && !target->key.name.empty())
      target->exists = (co_await api.get(target->resource, target->key)).has_value();
    auto checked = co_await api.call(write_request(*target, true));
    // The server checks the whole object before it looks whether the name is taken, and a namespace
    // of this very file is not there yet.
    if (!checked && checked.error().code != ErrorCode::AlreadyExists &&
        checked.error().code != ErrorCode::NotFound)
      co_return failed(placed(manifest, i, checked.error()));
    if (is_ray_job(target->object))
      if (auto ok = check_entrypoint(target->object); !ok)
        co_return failed(placed(manifest, i, ok.error()));
    targets.push_back(std::move(*target));
  }
  co_return targets;
}

}  // namespace

bool is_ray_job(const Json& document) {
  return string_at(document, {"kind"}) == "RayJob" &&
         string_at(document, {"apiVersion"}).starts_with("ray.io/");
}

Task<Result<void>> apply_manifest(Loop& loop, kube::Api& api, Manifest manifest,
                                  std::vector<AppliedObject>& applied) {
  auto checked = co_await find_checked_targets(api, manifest);
  if (!checked) co_return failed(checked.error());
  auto& targets = *checked;
  // The job last: what it needs is then there, and its Pods need not try twice.
  std::vector<std::size_t> order;
  for (const bool jobs : {false, true})
    for (std::size_t i = 0; i < targets.size(); ++i)
      if (is_ray_job(targets[i].object) == jobs) order.push_back(i);
  for (const auto i : order) {
    auto done = co_await apply_one(loop, api, std::move(targets[i]));
    if (!done) co_return failed(placed(manifest, i, done.error()));
    applied.push_back(std::move(*done));
  }
  co_return Result<void>{};
}

Task<Result<void>> check_manifest(kube::Api& api, Manifest manifest) {
  const auto checked = co_await find_checked_targets(api, manifest);
  if (!checked) co_return failed(checked.error());
  co_return Result<void>{};
}

}  // namespace manta::cli
