// Worlds for the tests of RayJob's planner, and drafts for those of its parts.
#pragma once

#include "controllers/raycluster/testing.h"
#include "controllers/rayjob/draft.h"
#include "controllers/rayjob/plan.h"
#include "ray/labels.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

namespace manta::controllers::rayjob::testing {

using kube::WriteKind;
using raycluster::testing::kNow;

// A RayJob's world that carries out what the plans want, except for what others do: tests say that.
struct World {
  ray::RayJob job = {};
  std::shared_ptr<ray::RayCluster> cluster = {};
  std::shared_ptr<kube::JobView> submitter = {};
  std::shared_ptr<kube::ServiceView> service = {};
  raycluster::Pods heads = {raycluster::testing::head()};
  raycluster::Pods workers = {};
  raycluster::Pods submitter_pods = {};
  std::shared_ptr<const ray::RayJob> last_valid = {};
  kube::Facts facts = {};
  kube::Failures failures = {};
  Settings settings = {};
  Time now = kNow;
  std::vector<std::string> log = {};  // what was written

  explicit World(std::string_view mode = "K8sJobMode") {
    job.meta = {.key = {"ns", "j"}, .uid = "j-uid", .resource_version = 1, .generation = 1};
    job.spec.entrypoint = "python a.py";
    job.spec.submissionMode = mode;
    job.spec.shutdownAfterJobFinishes = true;
    job.spec.rayClusterSpec = raycluster::testing::cluster().spec;
  }

  RayJobSeen seen() const {
    RayJobSeen out{.job = std::make_shared<const ray::RayJob>(job),
                   .cluster = cluster,
                   .service = service,
                   .submitter = submitter,
                   .submitter_pods = submitter_pods,
                   .pods = heads,
                   .heads = heads,
                   .last_valid = last_valid};
    out.pods.insert(out.pods.end(), workers.begin(), workers.end());
    if (cluster) {
      auto head_service = *raycluster::testing::head_service();
      head_service.meta.key.name = cluster->meta.key.name + "-head-svc";
      out.cluster_service = std::make_shared<const kube::ServiceView>(head_service);
    }
    return out;
  }
  kube::Plan look() const {
    return plan(seen(), settings, {.now = now, .facts = facts, .failures = failures});
  }

  void make(const kube::Write& write) {
    const auto verb = write.kind == WriteKind::Create     ? "create"
                      : write.kind == WriteKind::Delete   ? "delete"
                      : write.kind == WriteKind::External ? "call"
                                                          : "patch";
    const auto what = write.kind == WriteKind::External ? std::string(string_at(write.body, {"op"}))
                                                        : write.resource.plural;
    log.push_back(fmt::format("{} {}", verb, what));
    if (what == "rayclusters" && write.kind == WriteKind::Create) {
      cluster = std::make_shared<ray::RayCluster>(*ray::parse_ray_cluster(write.body));
      cluster->meta.uid = cluster->meta.key.name + "-uid";
    }
    if (what == "rayclusters" && write.kind == WriteKind::Delete) cluster.reset();
    if (what == "jobs" && write.kind == WriteKind::Create)
      submitter = std::make_shared<kube::JobView>();
    if (what == "jobs" && write.kind == WriteKind::Delete) submitter.reset();
    if (what == "services") {
      service = std::make_shared<kube::ServiceView>();
      service->meta.owners = {{"ray.io/v1", "RayJob", "j", "j-uid", true, true}};
      service->selector = {{"ray.io/cluster", cluster->meta.key.name}};
    }
    if (what == "rayjobs" && write.kind == WriteKind::Patch) {
      job.meta.finalizers.clear();
      for (const auto& name : array_at(write.body, {"metadata", "finalizers"}))
        job.meta.finalizers.emplace_back(name.get_string());
    }
    if (what == "submit-job") facts.clear();
  }

  // Until the plan wants nothing more.
  World& settle() {
    for (int pass = 0; pass < 50; ++pass) {
      const auto wanted = look();
      bool any = false;
      for (const auto& stage : wanted.stages)
        for (const auto& write : stage) {
          if (failures.contains(write.lane)) continue;
          make(write);
          any = true;
        }
      if (any) continue;
      if (!wanted.status) return *this;
      job.status =
          ray::parse_part<ray::RayJobStatus>(wanted.status->body.at("status"), "status").value();
    }
    ADD_FAILURE() << "does not settle";
    return *this;
  }
  World& ready() {
    settle();
    cluster->status.state = "ready";
    return settle();
  }
  World& ray_says(std::string_view status, std::string_view rest = "") {
    facts["job-info"] = {
        .answer = parse_json(fmt::format(R"({{"status":"{}"{}}})", status, rest)).value(),
        .at = now};
    return settle();
  }
  World& ray_fails(ErrorCode code) {
    facts["job-info"] = {.answer = failed(code, "no"), .at = now};
    return settle();
  }
  World& submitter_ends(std::string_view how = "Complete") {
    submitter->conditions = {{.type = std::string(how),
                              .status = "True",
                              .reason = "R",
                              .message = "M",
                              .lastTransitionTime = now}};
    return settle();
  }
  World& pass_time(std::chrono::seconds span) {
    now += span;
    return settle();
  }
  std::string state() const {
    return fmt::format("{}/{}/{}", job.status.jobDeploymentStatus, job.status.jobStatus,
                       job.status.reason);
  }
  std::string notices() const {
    std::vector<std::string> types;
    for (const auto& condition : job.status.conditions) types.push_back(condition.type);
    return fmt::format("{}", fmt::join(types, ", "));
  }
  std::string written() {
    auto text = fmt::format("{}", fmt::join(log, ", "));
    log.clear();
    return text;
  }
};

/// A Pod in whose way something stands.
inline raycluster::PodPtr troubled(raycluster::PodPtr pod, std::string words) {
  auto copy = *pod;
  copy.trouble = std::make_shared<const std::string>(std::move(words));
  return raycluster::testing::share(std::move(copy));
}

/// What one part of the planner makes of a world.
struct Desk {
  explicit Desk(const World& world)
      : seen(world.seen()),
        settings(world.settings),
        facts(world.facts),
        failures(world.failures),
        context{.now = world.now, .facts = facts, .failures = failures},
        draft{.seen = seen, .settings = settings, .context = context, .status = seen.job->status} {}
  Desk(const Desk&) = delete;

  RayJobSeen seen;
  Settings settings;
  kube::Facts facts;
  kube::Failures failures;
  kube::PlanContext context;
  Draft draft;
};

}  // namespace manta::controllers::rayjob::testing
