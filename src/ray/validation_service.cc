// RayService. spec/01 §6.3
#include "ray/labels.h"
#include "ray/name_rules.h"
#include "ray/validation.h"
#include "ray/validation_pod.h"

#include <fmt/format.h>

#include <charconv>

namespace manta::ray {
namespace {

constexpr std::string_view kIncremental = "NewClusterWithIncrementalUpgrade";

std::optional<std::int64_t> parse_integer(std::string_view text) {
  const bool plus = text.starts_with('+');
  if (plus) text.remove_prefix(1);
  if (text.empty() || (plus && text.front() == '-')) return std::nullopt;
  std::int64_t value = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::string got(const Opt<Int32>& value) {
  return value ? fmt::format(": got {}", *value) : ": it is not set";
}

Fault check_incremental(const RayServiceSpec& spec) {
  if (!autoscaling_enabled(spec.rayClusterConfig))
    return "Ray Autoscaler is required for NewClusterWithIncrementalUpgrade: set "
           "rayClusterConfig.enableInTreeAutoscaling to true";
  if (!spec.upgradeStrategy->clusterUpgradeOptions)
    return "ClusterUpgradeOptions are required for NewClusterWithIncrementalUpgrade";
  const auto& options = *spec.upgradeStrategy->clusterUpgradeOptions;
  const Int32 surge = options.maxSurgePercent.value_or(100);
  if (surge < 0 || surge > 100)
    return "maxSurgePercent must be between 0 and 100" + got(options.maxSurgePercent);
  const Int32 step = options.stepSizePercent.value_or(-1);
  if (step < 0 || step > 100)
    return "stepSizePercent must be between 0 and 100" + got(options.stepSizePercent);
  if (step > surge)
    return fmt::format(
        "stepSizePercent must be less than or equal to maxSurgePercent: got {} and {}", step,
        surge);
  if (options.intervalSeconds.value_or(0) <= 0)
    return "intervalSeconds must be greater than 0" + got(options.intervalSeconds);
  if (options.gatewayClassName.empty())
    return "gatewayClassName is required for NewClusterWithIncrementalUpgrade";
  return {};
}

Fault check_upgrade(const RayServiceSpec& spec, const ValidationGates& gates) {
  if (spec.rayClusterDeletionDelaySeconds.value_or(0) < 0)
    return fmt::format(
        "Spec.RayClusterDeletionDelaySeconds should be a non-negative integer, got {}",
        *spec.rayClusterDeletionDelaySeconds);
  if (gates.incremental_upgrade && spec.upgradeStrategy &&
      spec.upgradeStrategy->type == kIncremental)
    return check_incremental(spec);
  return {};
}

Fault check_spec(const RayServiceSpec& spec, const StringMap& annotations,
                 const ValidationGates& gates) {
  const auto& cluster = spec.rayClusterConfig;
  if (cluster.authOptions && is_true(cluster.authOptions->enableK8sTokenAuth))
    return "K8s token auth mode is currently not supported for RayService: "
           "rayClusterConfig.authOptions.enableK8sTokenAuth is true";
  if (auto ok = validate_cluster_spec(cluster, annotations, gates); !ok) return ok.error().message;
  if (!string_at(cluster.headGroupSpec.headService, {"metadata", "name"}).empty())
    return fmt::format(
        "spec.rayClusterConfig.headGroupSpec.headService.metadata.name should not be set: got {}",
        string_at(cluster.headGroupSpec.headService, {"metadata", "name"}));
  if (spec.upgradeStrategy && spec.upgradeStrategy->type) {
    const auto& type = *spec.upgradeStrategy->type;
    if (type != kIncremental && type != "NewCluster" && type != "None")
      return fmt::format(
          "Spec.UpgradeStrategy.Type value {} is invalid, valid options are "
          "NewClusterWithIncrementalUpgrade, NewCluster, or None",
          type);
  }
  return check_upgrade(spec, gates);
}

}  // namespace

Result<std::optional<Duration>> initializing_timeout(const kube::ObjectMeta& meta) {
  const auto text = meta.annotation(kAnnotationInitializingTimeout);
  if (text.empty()) return std::nullopt;
  const auto invalid = [&](std::string_view what) {
    return failed(ErrorCode::Invalid,
                  fmt::format("annotation {} {}", kAnnotationInitializingTimeout, what));
  };
  if (const auto duration = parse_go_duration(text)) {
    if (*duration <= Duration::zero())
      return invalid(fmt::format("must be a positive duration, got: {}", text));
    return *duration;
  }
  if (const auto seconds = parse_integer(text)) {
    if (*seconds <= 0)
      return invalid(fmt::format("must be a positive integer (seconds), got: {}", text));
    static constexpr std::int64_t kMost = INT64_MAX / 1'000'000;  // Duration counts microseconds
    return std::chrono::seconds(std::min(*seconds, kMost));
  }
  return invalid(
      fmt::format("has invalid format: {}. Expected Go duration format (e.g., '5m', '1h') or "
                  "positive integer seconds",
                  text));
}

Result<void> validate_service_metadata(const kube::ObjectMeta& meta) {
  static constexpr std::string_view kInvalid = "The RayService metadata is invalid: ";
  const auto& name = meta.key.name;
  if (name.size() > kMaxRayServiceName)
    return failed(ErrorCode::Invalid,
                  fmt::format("{}RayService name should be no more than {} characters: got {}",
                              kInvalid, kMaxRayServiceName, name.size()));
  if (const auto faults = dns1035_label_faults(name); !faults.empty())
    return failed(ErrorCode::Invalid,
                  fmt::format("{}RayService name should be a valid DNS1035 label: {}", kInvalid,
                              go_list(faults)));
  if (const auto timeout = initializing_timeout(meta); !timeout)
    return failed(ErrorCode::Invalid, fmt::format("{}RayService annotations is invalid: {}",
                                                  kInvalid, timeout.error().message));
  return {};
}

Result<void> validate_service_spec(const RayServiceSpec& spec, const StringMap& annotations,
                                   const ValidationGates& gates) {
  if (auto fault = check_spec(spec, annotations, gates))
    return failed(ErrorCode::Invalid, "The RayService spec is invalid: " + *fault);
  return {};
}

}  // namespace manta::ray
