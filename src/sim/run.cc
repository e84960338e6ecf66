#include "sim/run.h"

#include "sim/actors.h"
#include "sim/end_judge.h"
#include "sim/job_judge.h"
#include "sim/lying_ray.h"
#include "sim/pod_judge.h"
#include "sim/script.h"
#include "sim/script_objects.h"
#include "sim/service_judge.h"
#include "sim/tracer.h"
#include "sim/wire_faults.h"
#include "sim/world.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>

namespace manta::sim {
namespace {

using namespace std::chrono_literals;

// The operator backs off for 1000 s at most; jobs, their retries and what keeps their clusters take
// less.
constexpr Duration kLongestBackoff = 18min;
constexpr Duration kStep = 15s;
// Without a change: longer than what the operator cannot tell us of. Nodes and watches try again
// after 30 s, and a cluster that is no longer needed stays for a minute.
constexpr Duration kQuiet = 75s;
// How long nothing may be written any more.
constexpr Duration kRest = 2min;
constexpr Duration kLongRest = 10min;
// How old the operator's news may be: a watch that breaks again and again is tried again after 30 s
// at most, and the server may be away for 25 s.
constexpr Duration kSlack = 3min;

/// Two things between the operator and Kubernetes, one after the other.
class Both final : public Relay {
 public:
  Both(std::unique_ptr<kube::Api> far, std::unique_ptr<kube::Api> near)
      : Relay(*near), far_(std::move(far)), near_(std::move(near)) {}

 private:
  std::unique_ptr<kube::Api> far_;
  std::unique_ptr<kube::Api> near_;
};

Mischiefs mischiefs_of(const RunOptions& options) {
  auto chosen = choose_mischiefs(options.seed);
  for (const auto mischief : options.without) chosen.erase(mischief);
  return chosen;
}

class Run {
 public:
  Run(const RunOptions& options, Mischiefs mischiefs)
      : options_(options),
        mischiefs_(std::move(mischiefs)),
        script_(write_script(options.seed, mischiefs_)),
        tracer_(options.trace),
        faults_({.seed = options.seed * 3,
                 .mischiefs = mischiefs_,
                 .most = options.most_faults,
                 .trace = tracer_.say()}),
        slow_(options.seed * 5),
        world_(world_options()),
        pods_(world_, disturbed() ? kSlack : 5s, broken_),
        jobs_(world_, broken_),
        services_(world_, *serve_, disturbed() ? kSlack : 5s, broken_) {
    serve_->attach(world_.loop());
    serve_->head_of = world_.ray().head_of;
    tracer_.follow(world_);
    world_.before_write = [this](const std::string& sender, const kube::Request& request) {
      hear(sender, request);
    };
    world_.kubelet().on_restarted = [this](const Json& pod) { forget_all_on(uid_of(pod)); };
    world_.ray().on_submit = [this](const std::string& id) { begin_job(id); };
    if (mischiefs_.contains(Mischief::PodsSlow))
      world_.kubelet().start_takes = [this](const Json&) { return slow_.millis(0, 45'000); };
  }

  ~Run() { world_.finish(); }  // before those that listen to it

  Outcome live() {
    faults_.begin(world_);
    for (const auto& step : script_.steps) {
      if (options_.skipped.contains(step.number)) continue;
      if (step.at > passed_) pass(step.at - passed_);
      if (step.kind == StepKind::Create) wait_for_name(step);
      if (!broken().empty()) return outcome();
      const auto what_came = carry_out(world_, *serve_, step);
      if (options_.trace) tracer_.tell(step.to_string() + ": " + what_came);
    }
    if (script_.length > passed_) pass(script_.length - passed_);
    if (broken().empty()) come_to_rest();
    return outcome();
  }

  /// What is left, as far as it depends on nothing but the script.
  std::vector<std::string> picture() const { return picture_of_clusters(world_); }

 private:
  WorldOptions world_options() {
    WorldOptions out{.seed = options_.seed,
                     .feature_gates = "RayCronJob=true,RayServiceIncrementalUpgrade=true",
                     .processes = mischiefs_.contains(Mischief::Rivals) ? 2 : 1,
                     .events_may_be_lost = disturbed()};
    out.tamper = [this](kube::Api& wire) -> std::unique_ptr<kube::Api> {
      auto stale = faults_.stale_lists(wire);
      auto planted = plant(options_.plant, stale ? *stale : wire);
      if (!stale || !planted) return stale ? std::move(stale) : std::move(planted);
      return std::make_unique<Both>(std::move(stale), std::move(planted));
    };
    out.tamper_ray = [this](kube::Outside& ray) -> std::unique_ptr<kube::Outside> {
      serve_ = std::make_unique<ServeDouble>(ray);
      auto between = std::make_unique<LyingRay>(*serve_, options_.seed * 7);
      if (mischiefs_.contains(Mischief::RayLies)) between->lies = [this] { return !over_; };
      between->lied_of_serve = [this] { services_.hear_lie(); };
      between->is_down = [this] { return world_.ray().mood != RayDashboardDouble::Mood::Answers; };
      return between;
    };
    for (const auto& step : script_.steps) {
      if (string_at(step.body, {"kind"}) != "RayService") continue;
      out.endpoints = true;
      out.gateway_api |= is_incremental(*find(step.body, {"spec"}));
    }
    return out;
  }

  bool disturbed() const {
    return std::ranges::any_of(wire_mischiefs(),
                               [&](auto mischief) { return mischiefs_.contains(mischief); });
  }

  /// Nothing but the script decides how jobs end.
  bool fates_hold() const {
    return std::ranges::all_of(mischiefs_, [](auto mischief) {
      return wire_mischiefs().contains(mischief) || mischief == Mischief::PodsSlow;
    });
  }

  void hear(const std::string& sender, const kube::Request& request) {
    const bool fires = request.resource.plural != "events";
    if (fires && options_.trace) {
      auto words = to_write_call(request, {});
      words.done = true;
      tracer_.tell("operator: " + words.to_string());
    }
    const auto leader = world_.identity_of_leader();
    if (sender != leader && world_.processes() > 1)
      broken_.push_back(fmt::format("{} writes, and the leader is {}", sender, leader));
    pods_.hear(request);
    jobs_.hear(request);
    services_.hear(request);
  }

  void begin_job(const std::string& id) {
    tracer_.tell("Ray takes job " + id);
    JobFate fate{.ends = "SUCCEEDED", .takes = 10s};
    for (const auto* job : world_.mirror().list("RayJob"))
      if (string_at(*job, {"status", "jobId"}) == id || id.starts_with(name_of(*job) + "-by-hand-"))
        fate = fate_of(string_at(*job, {"spec", "entrypoint"}));
    world_.loop().after(fate.takes, [this, id, fate] {
      if (world_.ray_has(id))
        world_.end_submitted(id, fate.ends);
      else
        world_.lose_submitted(id);
    });
  }

  // Ray on a head has started anew.
  void forget_all_on(const std::string& head) {
    const auto jobs = world_.ray().submissions();
    for (const auto& id : jobs)
      if (world_.ray().head_with(id) == head) world_.ray().forget(id);
    serve_->forget(head);
  }

  // Its predecessor may still be going. Later steps wait, too: all runs of a seed make the same
  // changes to the same objects, in the same order.
  void wait_for_name(const Step& step) {
    const auto began = world_.loop().now();
    world_.run(
        [&] {
          return !broken().empty() ||
                 !world_.mirror().find(string_at(step.body, {"kind"}),
                                       string_at(step.body, {"metadata", "name"}));
        },
        1h);
    passed_ += world_.loop().now() - began;
  }

  void pass(Duration span) {
    // A broken law stops the run: what follows is of no use.
    const Time end = world_.loop().now() + span;
    world_.run([this] { return !broken().empty(); }, span);
    if (broken().empty() && world_.loop().now() < end) world_.pass(end - world_.loop().now());
    passed_ += span;
  }

  /// Until nothing is due, or what is due would have come.
  void wait_for_rest() {
    const auto due = [&] {
      return world_.operator_waits() || !jobs_.rest() ||
             world_.loop().now() - world_.mirror().last_change() < kQuiet;
    };
    pass(kQuiet);
    for (Duration waited = kQuiet; due() && waited < kLongestBackoff && broken().empty();
         waited += kStep)
      pass(kStep);
  }

  void come_to_rest() {
    tracer_.tell("from now on nothing goes wrong any more");
    faults_.end(world_);
    over_ = true;
    come_to_an_end(world_, *serve_);
    wait_for_rest();
    bool content = false;
    for (int round = 0; round < 6 && !content && broken().empty(); ++round) {
      if (!world_.settle()) {
        broken_.push_back("the world does not come to rest");
        return;
      }
      const bool users_are = users_are_content(world_);
      if (!users_are) wait_for_rest();
      content = autoscaler_is_content(world_) && users_are;
    }
    if (!broken().empty()) return;
    const auto before = world_.writes().size();
    pass(options_.seed % 8 == 0 ? kLongRest : kRest);
    for (auto at = before; at < world_.writes().size(); ++at)
      broken_.push_back("a write at rest: " + world_.writes()[at].to_string());
    judge_clusters_at_the_end(world_, broken_);
    jobs_.judge_end(fates_hold());
    services_.judge_end();
  }

  const std::vector<std::string>& broken() {
    for (const auto& law : world_.laws().take_broken()) broken_.push_back(law);
    return broken_;
  }

  Outcome outcome() {
    return {.broken = broken(),
            .mischiefs = mischiefs_,
            .steps = script_.numbered,
            .faults = faults_.injected(),
            .writes = world_.writes().size()};
  }

  const RunOptions& options_;
  Mischiefs mischiefs_;
  Script script_;
  Tracer tracer_;
  WireFaults faults_;
  Dice slow_;
  bool over_ = false;
  Duration passed_ = {};
  std::vector<std::string> broken_ = {};
  std::unique_ptr<ServeDouble> serve_ = {};
  World world_;
  PodJudge pods_;
  JobJudge jobs_;
  ServiceJudge services_;
};

}  // namespace

Outcome run_seed(const RunOptions& options) {
  const auto mischiefs = mischiefs_of(options);
  Run run(options, mischiefs);
  auto outcome = run.live();
  if (!outcome.broken.empty()) return outcome;
  auto calm = mischiefs;
  for (const auto mischief : wire_mischiefs()) calm.erase(mischief);
  if (calm == mischiefs) return outcome;
  const auto found = run.picture();
  RunOptions undisturbed = options;
  undisturbed.plant = Plant::None;
  undisturbed.trace = {};
  Run other(undisturbed, calm);
  const auto lived = other.live();
  for (const auto& law : lived.broken)
    outcome.broken.push_back("without faults on the wire: " + law);
  if (!outcome.broken.empty()) return outcome;
  if (auto differs = difference(other.picture(), found); !differs.empty())
    outcome.broken.push_back("without faults on the wire it ends otherwise:\n" + differs);
  return outcome;
}

std::string replay_command(const RunOptions& options) {
  std::string text = fmt::format("build/bin/manta-sim --replay {}", options.seed);
  if (options.plant != Plant::None) text += fmt::format(" --plant {}", to_string(options.plant));
  if (!options.without.empty()) text += fmt::format(" --without {}", to_string(options.without));
  if (!options.skipped.empty()) text += fmt::format(" --skip {}", fmt::join(options.skipped, ","));
  if (options.most_faults != SIZE_MAX) text += fmt::format(" --faults {}", options.most_faults);
  return text;
}

}  // namespace manta::sim
