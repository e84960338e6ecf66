#include "sim/script.h"

#include "sim/dice.h"
#include "sim/script_objects.h"

#include <fmt/format.h>

#include <algorithm>
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
    case AddGroup:
      return "add a group to";
    case DropCluster:
      return "delete a cluster of";
    case SubmitByHand:
      return "submit by hand what is waited for by";
    case ServeForget:
      return "Ray Serve forgets what runs on a head";
    case ServeSick:
      return "applications fail, for seconds:";
    case ProxySick:
      return "the Serve proxy on a head fails, for seconds:";
    case GatewayDown:
      return "Gateways are not programmed, for seconds:";
  }
  return "?";
}

/// Draws and numbers all steps, and then takes out those of other mischiefs: so leaving one out
/// changes nothing else.
class Writer {
 public:
  Writer(std::uint64_t seed, const Mischiefs& mischiefs)
      : dice_(seed * 2), late_dice_(~seed), mischiefs_(mischiefs) {}

  Script write() {
    const int clusters = dice_.between(0, 2);
    const int jobs = clusters == 0 ? dice_.between(1, 3) : dice_.between(0, 2);
    for (int i = 0; i < clusters; ++i) cluster(fmt::format("c{}", i));
    for (int i = 0; i < jobs; ++i) {
      const auto name = fmt::format("j{}", i);
      const int what = dice_.between(0, 9);
      if (what == 0)
        interactive_job(name);
      else if (what == 1 && clusters > 0)
        job(name, job_on_cluster_spec(dice_, "c0"));
      else
        job(name, queueable(job_spec(dice_)));
    }
    if (dice_.chance(0.15)) cron_job("t0");
    if (dice_.chance(0.9)) service("s0");
    nodes();
    servers();
    ray();
    proxies();
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

  // Some as Kueue has them: suspended at birth.
  Json queueable(Json spec) {
    const bool queued = dice_.chance(0.2);
    if (!queued || string_at(spec, {"submissionMode"}) == "SidecarMode") return spec;
    spec.as_object()["suspend"] = true;
    spec.as_object()["shutdownAfterJobFinishes"] = true;  // or it may not be suspended
    spec.as_object().erase("deletionStrategy");
    return spec;
  }

  void job(const std::string& name, const Json& spec) {
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

  void interactive_job(const std::string& name) {
    job(name, interactive_job_spec(dice_));
    for (int times = dice_.between(1, 3); times > 0; --times)
      add({.at = any_time(), .kind = SubmitByHand, .object_kind = "RayJob", .name = name});
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
    auto spec = service_spec(dice_);
    if (!is_incremental(spec) && late_dice_.chance(0.3))
      spec.as_object()["serveService"] = JsonObject{{"metadata", JsonObject{{"name", "shop"}}}};
    auto at = dice_.millis(0, 60'000);
    const Step made{.at = at,
                    .kind = Create,
                    .object_kind = "RayService",
                    .body = object("RayService", name, spec)};
    add(made);
    std::uint64_t image = 0;
    while ((at += dice_.millis(500, 90'000)) < kLength) {
      Step step{.at = at, .object_kind = "RayService", .name = name, .pick = dice_.roll()};
      const int what = dice_.between(0, 19);
      if (what < 9) {
        upgrade(step, image);
      } else if (what < 13) {
        step.kind = Reconfigure;
        add(step);
      } else if (what < 15) {
        step.kind = AddGroup;
        add(step);
      } else if (what < 17) {
        suspend(step, dice_.chance(0.8));
      } else if (what < 19) {
        step.kind = DropCluster;
        add(step, Mischief::Meddling);
      } else {
        step.kind = Delete;
        add(step);
        if (dice_.chance(0.5)) return;
        auto next = made;  // its successor, perhaps while it still goes
        next.at = at + dice_.millis(50, 20'000);
        add(next);
      }
    }
  }

  // To another image, and often back again: before anything has come of it, in
  // mid-upgrade, or afterwards.
  void upgrade(Step step, std::uint64_t& image) {
    step.kind = Edit;
    add(step);
    const auto back = std::exchange(image, step.pick);
    if (!dice_.chance(0.45)) return;
    step.at += dice_.millis(100, 90'000);
    step.pick = image = back;
    add(step);
  }

  void suspend(Step step, bool resumes) {
    step.kind = Suspend;
    add(step);
    if (!resumes) return;
    step.at += dice_.millis(100, 60'000);
    step.kind = Resume;
    add(step);
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
    for (int times = dice_.between(1, 2); times > 0; --times)
      add({.at = any_time(), .kind = ServeForget, .pick = dice_.roll()}, Mischief::RayForgets);
    for (int times = dice_.between(1, 3); times > 0; --times)
      add({.at = any_time(),
           .kind = ServeSick,
           .amount = dice_.between(1, 60),
           .pick = dice_.roll()},
          Mischief::ServeSick);
    for (int times = dice_.between(1, 2); times > 0; --times)
      add({.at = any_time(), .kind = GatewayDown, .amount = dice_.between(1, 60)},
          Mischief::GatewayFails);
  }

  void proxies() {
    for (int times = late_dice_.between(1, 3); times > 0; --times)
      add({.at = late_dice_.millis(0, 300'000),
           .kind = ProxySick,
           .amount = late_dice_.between(1, 60),
           .pick = late_dice_.roll()},
          Mischief::ServeSick);
  }

  Dice dice_;
  Dice late_dice_;  // of what came later: seeds that were known before still do what they did
  const Mischiefs& mischiefs_;
  Script script_ = {};
};

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
    case ServeSick:
    case ProxySick:
    case GatewayDown:
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

}  // namespace manta::sim
