#include "sim/script.h"

#include "base/text.h"
#include "sim/dice.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

namespace manta::sim {
namespace {

using namespace std::chrono_literals;
using enum StepKind;

std::string_view words_for(StepKind kind) {
  switch (kind) {
    case Create:
      return "create";
    case Scale:
      return "scale";
    case Autoscale:
      return "autoscale";
    case Suspend:
      return "suspend";
    case Resume:
      return "resume";
    case SuspendGroup:
      return "suspend or resume a group of";
    case Edit:
      return "edit";
    case Reconfigure:
      return "configure anew";
    case Delete:
      return "delete";
    case DeletePod:
      return "delete a Pod";
    case FailPod:
      return "a Pod fails";
    case EvictPod:
      return "a Pod is evicted";
    case EndContainer:
      return "a Pod's Ray container ends";
    case UnreadyPod:
      return "a Pod is not ready";
    case HangPod:
      return "a Pod's deletion will hang";
    case Outage:
      return "the API server restarts, for seconds:";
    case Crash:
      return "the operator crashes";
    case LoseLeader:
      return "the Lease cannot be renewed, for seconds:";
    case RayMood:
      return "Ray (0 answers, 1 fails, 2 hangs):";
    case RayForget:
      return "Ray forgets a job";
  }
  return "?";
}

Json pod_template(const char* container, int gpus) {
  JsonObject limits{{"cpu", "1"}, {"memory", "2Gi"}};
  if (gpus > 0) limits["nvidia.com/gpu"] = std::to_string(gpus);
  return JsonObject{
      {"spec", JsonObject{{"containers",
                           JsonArray{JsonObject{{"name", container},
                                                {"image", "ray:1"},
                                                {"resources", JsonObject{{"limits", limits}}}}}}}}};
}

Json worker_group(Dice& dice, const char* name) {
  JsonObject group{{"groupName", name},
                   {"replicas", dice.between(0, 3)},
                   {"minReplicas", 0},
                   {"maxReplicas", 10},
                   {"rayStartParams", JsonObject{}},
                   {"template", pod_template("w", dice.chance(0.3) ? 1 : 0)}};
  if (dice.chance(0.15)) group["numOfHosts"] = 2;
  return group;
}

Json cluster_spec(Dice& dice) {
  JsonArray groups{worker_group(dice, "g")};
  if (dice.chance(0.3)) groups.push_back(worker_group(dice, "h"));
  return JsonObject{{"rayVersion", "2.54.0"},
                    {"headGroupSpec", JsonObject{{"rayStartParams", JsonObject{}},
                                                 {"template", pod_template("ray-head", 0)}}},
                    {"workerGroupSpecs", std::move(groups)}};
}

Json object(std::string_view kind, const std::string& name, Json spec) {
  return JsonObject{{"apiVersion", "ray.io/v1"},
                    {"kind", kind},
                    {"metadata", JsonObject{{"name", name}}},
                    {"spec", std::move(spec)}};
}

Json deletion_rules(Dice& dice) {
  JsonArray rules;
  for (const auto* status : {"SUCCEEDED", "FAILED"})
    rules.push_back(JsonObject{
        {"policy",
         dice.pick(std::vector<std::string>{"DeleteWorkers", "DeleteCluster", "DeleteSelf"})},
        {"condition", JsonObject{{"jobStatus", status}, {"ttlSeconds", dice.between(0, 30)}}}});
  return JsonObject{{"deletionRules", std::move(rules)}};
}

Json job_spec(Dice& dice) {
  const bool succeeds = dice.chance(0.7);
  JsonObject spec{
      {"entrypoint", fmt::format("python job.py --takes={} --ends={}", dice.between(1, 60),
                                 succeeds ? "SUCCEEDED" : "FAILED")},
      {"submissionMode",
       dice.pick(std::vector<std::string>{"K8sJobMode", "K8sJobMode", "HTTPMode", "SidecarMode"})},
      {"rayClusterSpec", cluster_spec(dice)}};
  if (dice.chance(0.6)) {
    spec["shutdownAfterJobFinishes"] = true;
    if (dice.chance(0.5)) spec["ttlSecondsAfterFinished"] = dice.between(1, 60);
  } else if (dice.chance(0.5)) {
    spec["deletionStrategy"] = deletion_rules(dice);
  }
  if (spec["submissionMode"] != "SidecarMode" && dice.chance(0.4))
    spec["backoffLimit"] = dice.between(1, 2);
  return spec;
}

/// Draws and numbers all steps, and then takes out those of other mischiefs: so leaving one out
/// changes nothing else.
class Writer {
 public:
  Writer(std::uint64_t seed, const Mischiefs& mischiefs) : dice_(seed * 2), mischiefs_(mischiefs) {}

  Script write() {
    const int clusters = dice_.between(0, 2);
    const int jobs = clusters == 0 ? dice_.between(1, 3) : dice_.between(0, 2);
    for (int i = 0; i < clusters; ++i) cluster(fmt::format("c{}", i));
    for (int i = 0; i < jobs; ++i) job(fmt::format("j{}", i));
    if (dice_.chance(0.12)) cron_job("t0");
    if (dice_.chance(0.25)) service("s0");
    nodes();
    servers();
    ray();
    std::ranges::sort(script_.steps, {}, [](const Step& step) {
      return std::pair(step.at, step.number);  // as drawn, when at once
    });
    for (std::size_t i = 0; i < script_.steps.size(); ++i)
      script_.steps[i].number = static_cast<int>(i);
    script_.numbered = script_.steps.size();
    std::erase_if(script_.steps, [&](const Step& step) {
      return step.because && !mischiefs_.contains(*step.because);
    });
    script_.length = kLength;
    return std::move(script_);
  }

 private:
  static constexpr Duration kLength = 5min;

  Duration any_time() { return dice_.millis(0, 300'000); }

  void add(Step step, std::optional<Mischief> because = {}) {
    step.because = because;
    step.number = static_cast<int>(script_.steps.size());
    script_.steps.push_back(std::move(step));
  }

  void cluster(const std::string& name) {
    auto spec = cluster_spec(dice_);
    const bool autoscaled = dice_.chance(0.3);
    if (autoscaled) spec.as_object()["enableInTreeAutoscaling"] = true;
    if (dice_.chance(0.2)) spec.as_object()["upgradeStrategy"] = JsonObject{{"type", "Recreate"}};
    if (dice_.chance(0.12))
      spec.as_object()["gcsFaultToleranceOptions"] = JsonObject{{"redisAddress", "redis:6379"}};
    const auto groups = array_at(spec, {"workerGroupSpecs"}).size();
    const auto made_at = dice_.millis(0, 60'000);
    add({.at = made_at,
         .kind = Create,
         .object_kind = "RayCluster",
         .body = object("RayCluster", name, spec)});
    bool may_delete = dice_.chance(0.3);
    for (auto at = made_at; (at += dice_.millis(500, 90'000)) < kLength;) {
      Step step{.at = at, .object_kind = "RayCluster", .name = name, .pick = dice_.roll() % groups};
      step.amount = dice_.between(0, 5);
      const int what = dice_.between(0, 9);
      if (what <= 4) {
        step.kind = autoscaled ? Autoscale : Scale;
      } else if (what == 5) {
        step.kind = Suspend;
        add(step);
        step.at = at + dice_.millis(100, 60'000);
        step.kind = Resume;
      } else if (what == 6) {
        step.kind = SuspendGroup;
        step.amount = dice_.between(0, 1);
        if (autoscaled) continue;  // is refused
      } else if (what == 7) {
        step.kind = Edit;
      } else if (what == 8) {
        step.kind = DeletePod;
      } else if (may_delete) {
        step.kind = Delete;
        may_delete = false;
        add(step);
        if (dice_.chance(0.5)) continue;
        step.kind = Create;  // its successor, perhaps while it still goes
        step.at = at + dice_.millis(50, 20'000);
        step.body = object("RayCluster", name, spec);
      } else {
        continue;
      }
      add(std::move(step));
    }
  }

  void job(const std::string& name) {
    auto spec = job_spec(dice_);
    const bool queued = dice_.chance(0.2);  // as Kueue does it: suspended at birth
    if (queued && string_at(spec, {"submissionMode"}) != "SidecarMode") {
      spec.as_object()["suspend"] = true;
      spec.as_object()["shutdownAfterJobFinishes"] = true;  // or it may not be suspended
      spec.as_object().erase("deletionStrategy");
    }
    const bool suspended = bool_at(spec, {"suspend"});
    const auto made_at = dice_.millis(0, 120'000);
    add({.at = made_at,
         .kind = Create,
         .object_kind = "RayJob",
         .body = object("RayJob", name, spec)});
    Step step{.object_kind = "RayJob", .name = name};
    auto at = made_at + dice_.millis(10, 60'000);
    if (suspended) {
      step.at = at;
      step.kind = Resume;
      add(step);
    }
    for (int times = dice_.between(0, 2); times > 0; --times) {
      step.at = at += dice_.millis(100, 60'000);
      step.kind = dice_.chance(0.25) ? Delete : Suspend;
      add(step, Mischief::Meddling);
      if (step.kind == Delete) break;
      step.at = at += dice_.millis(100, 40'000);
      step.kind = Resume;
      add(step, Mischief::Meddling);
    }
  }

  void cron_job(const std::string& name) {
    auto job = job_spec(dice_);
    add({.at = dice_.millis(0, 60'000),
         .kind = Create,
         .object_kind = "RayCronJob",
         .body = object("RayCronJob", name,
                        JsonObject{{"schedule", "*/2 * * * *"}, {"jobTemplate", std::move(job)}})});
  }

  void service(const std::string& name) {
    const auto made_at = dice_.millis(0, 60'000);
    add({.at = made_at,
         .kind = Create,
         .object_kind = "RayService",
         .body = object("RayService", name,
                        JsonObject{{"serveConfigV2", serve_config(1)},
                                   {"rayClusterDeletionDelaySeconds", dice_.between(1, 60)},
                                   {"rayClusterConfig", cluster_spec(dice_)}})});
    for (auto at = made_at; (at += dice_.millis(500, 120'000)) < kLength;) {
      Step step{.at = at, .object_kind = "RayService", .name = name, .pick = dice_.roll()};
      const int what = dice_.between(0, 9);
      step.kind = what < 5 ? Edit : what < 9 ? Reconfigure : Delete;
      add(step);
      if (step.kind == Delete) return;
    }
  }

  void nodes() {
    for (int times = dice_.between(1, 6); times > 0; --times)
      add({.at = any_time(),
           .kind = dice_.pick(std::vector<StepKind>{FailPod, EvictPod, EndContainer, UnreadyPod}),
           .pick = dice_.roll()},
          Mischief::PodsFail);
    for (int times = dice_.between(1, 4); times > 0; --times)
      add({.at = any_time(), .kind = HangPod, .pick = dice_.roll()}, Mischief::PodsHang);
  }

  void servers() {
    for (int times = dice_.between(1, 3); times > 0; --times)
      add({.at = any_time(), .kind = Outage, .amount = dice_.between(1, 25)}, Mischief::Outages);
    for (int times = dice_.between(1, 3); times > 0; --times)
      add({.at = any_time(), .kind = Crash}, Mischief::Crashes);
    for (int times = dice_.between(1, 3); times > 0; --times)
      add({.at = any_time(),
           .kind = dice_.chance(0.5) ? Crash : LoseLeader,
           .amount = dice_.between(3, 30)},
          Mischief::Rivals);
  }

  void ray() {
    for (int times = dice_.between(1, 3); times > 0; --times) {
      const auto at = any_time();
      add({.at = at, .kind = RayMood, .amount = dice_.between(1, 2)}, Mischief::RayHangs);
      add({.at = at + dice_.millis(100, 60'000), .kind = RayMood}, Mischief::RayHangs);
    }
    for (int times = dice_.between(1, 2); times > 0; --times)
      add({.at = any_time(), .kind = RayForget, .pick = dice_.roll()}, Mischief::RayForgets);
  }

  Dice dice_;
  const Mischiefs& mischiefs_;
  Script script_ = {};
};

std::string_view between(std::string_view text, std::string_view from, std::string_view to) {
  const auto begin = text.find(from);
  if (begin == std::string_view::npos) return {};
  text.remove_prefix(begin + from.size());
  return text.substr(0, text.find(to));
}

}  // namespace

std::string Step::to_string() const {
  const auto who = name.empty() ? std::string(string_at(body, {"metadata", "name"})) : name;
  std::string text = fmt::format("step {}: {} {}{}{}", number, words_for(kind), object_kind,
                                 object_kind.empty() ? "" : " ", who);
  switch (kind) {
    case Scale:
    case Autoscale:
    case SuspendGroup:
      return fmt::format("{}, group {}, to {}", text, pick, amount);
    case Outage:
    case LoseLeader:
    case RayMood:
      return fmt::format("{}{}", text, amount);
    case Create:
      return fmt::format("{} {}", text, dump_json(object_at(body, {"spec"})));
    default:
      return text;
  }
}

Script write_script(std::uint64_t seed, const Mischiefs& mischiefs) {
  return Writer(seed, mischiefs).write();
}

std::string serve_config(std::uint64_t version) {
  return fmt::format(
      "applications: [{{name: a, import_path: 'm:a', route_prefix: /, args: {{version: {}}}}}]",
      version);
}

JobFate fate_of(std::string_view entrypoint) {
  int seconds = 0;
  const auto takes = between(entrypoint, "--takes=", " ");
  std::from_chars(takes.data(), takes.data() + takes.size(), seconds);
  return {.ends = std::string(between(entrypoint, "--ends=", " ")),
          .takes = std::chrono::seconds{seconds}};
}

}  // namespace manta::sim
