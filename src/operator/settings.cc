#include "base/text.h"
#include "operator/gates.h"
#include "operator/options.h"
#include "operator/time_zones.h"
#include "ray/labels.h"
#include "ray/name_rules.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <memory>

namespace manta::operator_ {
namespace {

std::optional<long> whole_number(const std::optional<std::string>& text) {
  if (!text || text->empty()) return std::nullopt;
  long value = 0;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), value);
  if (error != std::errc{} || end != text->data() + text->size()) return std::nullopt;
  return value;
}

// Source: spec/07 §8.
Result<std::string> choose_scheduler(const Options& options, bool workload_aware) {
  constexpr std::array<std::string_view, 4> kKnown = {"volcano", "yunikorn", "scheduler-plugins",
                                                      "kai-scheduler"};
  if (workload_aware) {
    if (options.enable_batch_scheduler || !options.batch_scheduler.empty())
      return failed(ErrorCode::Invalid,
                    "the KubernetesWAS feature gate cannot be combined with --batch-scheduler or "
                    "--enable-batch-scheduler");
    return std::string();
  }
  if (options.enable_batch_scheduler && !options.batch_scheduler.empty())
    return failed(
        ErrorCode::Invalid,
        "both feature flags enable-batch-scheduler (deprecated) and batch-scheduler are set. "
        "Please use batch-scheduler only");
  if (options.enable_batch_scheduler) return std::string("volcano");
  if (options.batch_scheduler.empty()) return std::string();
  if (std::ranges::find(kKnown, options.batch_scheduler) == kKnown.end())
    return failed(ErrorCode::Invalid,
                  fmt::format("scheduler is not supported, name={}", options.batch_scheduler));
  return options.batch_scheduler;
}

ray::BatchScheduler scheduler_of(std::string_view name, bool workload_aware) {
  using enum ray::BatchScheduler;
  if (workload_aware) return KubernetesWas;
  if (name == "volcano") return Volcano;
  if (name == "yunikorn") return Yunikorn;
  if (name == "kai-scheduler") return Kai;
  if (name == "scheduler-plugins") return SchedulerPlugins;
  return None;
}

// What is longer would not fit a Duration together with the time of day.
std::chrono::seconds at_most_a_century(std::int64_t seconds) {
  constexpr std::int64_t kCentury = 100LL * 365 * 24 * 3600;
  return std::chrono::seconds{std::clamp(seconds, -kCentury, kCentury)};
}

// "DeleteCluster", or "DeleteCluster:3600" for an hour after the job's end. RJ-12
Result<std::optional<controllers::DefaultDeletion>> default_deletion(
    const std::optional<std::string>& text) {
  if (!text || text->empty()) return std::optional<controllers::DefaultDeletion>();
  const auto colon = text->find(':');
  controllers::DefaultDeletion rule{.policy = text->substr(0, colon)};
  bool known = rule.policy == "DeleteCluster" || rule.policy == "DeleteSelf";
  if (colon != std::string::npos) {
    const auto seconds = whole_number(text->substr(colon + 1));
    known = known && seconds && *seconds >= 0;
    if (known) rule.after_end = at_most_a_century(*seconds);
  }
  if (!known)
    return failed(ErrorCode::Invalid,
                  fmt::format("{} is {}: must be DeleteCluster or DeleteSelf, with :<seconds after "
                              "the job's end> if it is to wait",
                              ray::kOperatorEnvJobDefaultDeletion, ray::go_quote(*text)));
  return std::optional(std::move(rule));
}

}  // namespace

std::optional<std::string> process_environment(std::string_view name) {
  const char* value = std::getenv(std::string(name).c_str());
  return value ? std::optional<std::string>(value) : std::nullopt;
}

Result<controllers::Settings> make_settings(const Options& options,
                                            const Environment& environment) {
  controllers::Settings settings;
  const auto gates = parse_gates(options.feature_gates);
  if (!gates)
    return std::unexpected(gates.error().in("Unable to set flag gates for known features"));
  apply_gates(*gates, settings);
  auto scheduler = choose_scheduler(options, settings.workload_aware_scheduling);
  if (!scheduler) return std::unexpected(scheduler.error());
  settings.batch_scheduler = std::move(*scheduler);
  settings.build.scheduler =
      scheduler_of(settings.batch_scheduler, settings.workload_aware_scheduling);
  settings.use_kubernetes_proxy = options.use_kubernetes_proxy;

  ray::read_environment(settings.build, environment);
  settings.build.version = std::string(operator_version());
  settings.build.head_sidecar_containers = options.head_sidecar_containers;
  settings.build.worker_sidecar_containers = options.worker_sidecar_containers;
  settings.build.default_container_envs = options.default_container_envs;
  settings.build.default_pod_annotations = options.default_pod_annotations;
  settings.build.default_pod_labels = options.default_pod_labels;

  const auto is = [&](std::string_view name, std::string_view value) {
    return lower_case(environment(name).value_or("")) == value;
  };
  settings.random_pod_delete = is(ray::kOperatorEnvRandomDelete, "true");
  settings.redis_cleanup = !is(ray::kOperatorEnvRedisCleanup, "false");
  settings.zero_downtime = !is(ray::kOperatorEnvZeroDowntime, "false");
  settings.delete_rayjob_cr = is(ray::kOperatorEnvDeleteRayJob, "true");
  if (auto grace = whole_number(environment(ray::kOperatorEnvJobTransitionGrace))) {
    settings.job_transition_grace = at_most_a_century(*grace);
    settings.job_grace_is_set = true;
  }
  if (auto limit = whole_number(environment(ray::kOperatorEnvJobCheckTimeout)); limit && *limit > 0)
    settings.job_check_timeout = at_most_a_century(*limit);
  auto deletion = default_deletion(environment(ray::kOperatorEnvJobDefaultDeletion));
  if (!deletion) return std::unexpected(deletion.error());
  settings.job_default_deletion = std::move(*deletion);
  if (auto wait = whole_number(environment(ray::kOperatorEnvLostHeadWait)); wait && *wait >= 0)
    settings.lost_head_wait = at_most_a_century(*wait);
  settings.zones = [zones = std::make_shared<TimeZones>(environment)](std::string_view name) {
    return zones->find(name);
  };
  return settings;
}

Result<void> check_options(const Options& options) {
  if (options.burst < 0)
    return failed(
        ErrorCode::Invalid,
        fmt::format("burst is {}: must be at least 0, or no request could be made", options.burst));
  if (!std::isfinite(options.qps))
    return failed(ErrorCode::Invalid, fmt::format("qps is {}: must be a number", options.qps));
  const auto all = options.namespaces();
  if (all.size() == 1 && all.front().empty()) return {};
  for (const auto& name : all)
    if (const auto faults = ray::dns1123_label_faults(name); !faults.empty())
      return failed(ErrorCode::Invalid,
                    fmt::format("watch-namespace has {}, which is no namespace's name: {}",
                                ray::go_quote(name), fmt::join(faults, ", ")));
  return {};
}

std::string_view operator_version() { return "manta-0.1.0"; }

}  // namespace manta::operator_
