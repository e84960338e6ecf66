#include "base/yaml.h"
#include "operator/options.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace manta::operator_ {
namespace {

// The text Go's decoder makes of a wrong type; upstream's users and tests know it.
std::unexpected<Error> wrong_type(std::string_view key, const Json& value, std::string_view type) {
  std::string what = "object";
  if (value.is_string())
    what = "string";
  else if (value.is_bool())
    what = "bool";
  else if (value.is_array())
    what = "array";
  else if (value.is_number())
    what = value.is_double() ? "number " + dump_json(value) : "number";
  return failed(
      ErrorCode::Invalid,
      fmt::format("json: cannot unmarshal {} into Go struct field Configuration.{} of type {}",
                  what, key, type));
}

class Reader {
 public:
  explicit Reader(const JsonObject& document) : document_(document) {}

  void text(std::string_view key, std::string& target) {
    if (const auto* value = get(key)) {
      if (!value->is_string()) return fail(wrong_type(key, *value, "string"));
      target = std::string(value->get_string());
    }
  }
  void flag(std::string_view key, bool& target) {
    if (const auto* value = get(key)) {
      if (!value->is_bool()) return fail(wrong_type(key, *value, "bool"));
      target = value->get_bool();
    }
  }
  void whole(std::string_view key, int& target) {
    if (const auto* value = get(key)) {
      const bool whole_double =
          value->is_double() && std::trunc(value->get_double()) == value->get_double();
      if (!value->is_int64() && !whole_double) return fail(wrong_type(key, *value, "int"));
      // What is larger is as good as the largest.
      constexpr std::int64_t kLeast = std::numeric_limits<int>::min(),
                             kMost = std::numeric_limits<int>::max();
      target =
          static_cast<int>(whole_double ? std::clamp(value->get_double(), 0.0 + kLeast, 0.0 + kMost)
                                        : std::clamp(value->get_int64(), kLeast, kMost));
    }
  }
  void number(std::string_view key, double& target) {
    if (const auto* value = get(key)) {
      if (!value->is_number()) return fail(wrong_type(key, *value, "float64"));
      target = value->is_double() ? value->get_double()
                                  : static_cast<double>(value->to_number<std::int64_t>());
    }
  }
  void list(std::string_view key, JsonArray& target, std::string_view type) {
    if (const auto* value = get(key)) {
      if (!value->is_array()) return fail(wrong_type(key, *value, type));
      target = value->get_array();
      for (const auto& element : target)
        if (!element.is_object()) return fail(wrong_type(key, element, type.substr(2)));
    }
  }
  void strings(std::string_view key, kube::StringMap& target) {
    const auto* value = get(key);
    if (!value) return;
    if (!value->is_object()) return fail(wrong_type(key, *value, "map[string]string"));
    for (const auto& entry : value->get_object()) {
      if (!entry.value().is_string()) return fail(wrong_type(key, entry.value(), "string"));
      target.emplace(std::string(entry.key()), std::string(entry.value().get_string()));
    }
  }
  Result<void> result() const { return result_; }

 private:
  const Json* get(std::string_view key) const {
    const auto* value = document_.if_contains(key);
    return value && !value->is_null() ? value : nullptr;
  }
  void fail(std::unexpected<Error> error) {
    if (result_) result_ = std::move(error);
  }
  const JsonObject& document_;
  Result<void> result_ = {};
};

}  // namespace

Result<void> apply_config_file(Options& options, std::string_view text) {
  auto documents = parse_yaml(text);
  if (!documents) return std::unexpected(documents.error().in("reading the configuration file"));
  if (documents->size() > 1)
    return failed(ErrorCode::Invalid, "the configuration file must hold one object");
  // An empty file, or one of comments only, asks for the defaults.
  const Json nothing = JsonObject{};
  const Json* document =
      documents->empty() || documents->front().is_null() ? &nothing : &documents->front();
  if (!document->is_object())
    return failed(ErrorCode::Invalid, "the configuration file must hold one object");
  const auto version = string_at(*document, {"apiVersion"}, "config.ray.io/v1alpha1");
  const auto kind = string_at(*document, {"kind"}, "Configuration");
  if (version != "config.ray.io/v1alpha1" || kind != "Configuration")
    return failed(ErrorCode::Invalid,
                  fmt::format("no kind \"{}\" is registered for version \"{}\"", kind, version));

  // The file's defaults, not the flags', count from here on.
  const Options flags = options;
  options = Options{};
  options.config_path = flags.config_path;
  options.feature_gates = flags.feature_gates;
  options.log_stdout_encoder = flags.log_stdout_encoder;
  options.log_file_encoder = flags.log_file_encoder;
  options.log_verbosity = flags.log_verbosity;
  options.zap_devel = flags.zap_devel;
  options.kubeconfig = flags.kubeconfig;
  options.forced_cluster_upgrade = flags.forced_cluster_upgrade;

  Reader reader(document->get_object());
  reader.text("metricsAddr", options.metrics_addr);
  reader.text("probeAddr", options.probe_addr);
  reader.flag("enableLeaderElection", options.leader_election);
  reader.text("leaderElectionNamespace", options.leader_election_namespace);
  reader.whole("reconcileConcurrency", options.reconcile_concurrency);
  reader.number("qps", options.qps);
  reader.whole("burst", options.burst);
  reader.text("watchNamespace", options.watch_namespace);
  reader.text("logFile", options.log_file);
  // These have no effect, as in the reference, whose flags count; a wrong type is a mistake still.
  std::string no_text;
  bool no_flag = false;
  reader.text("logFileEncoder", no_text);
  reader.text("logStdoutEncoder", no_text);
  reader.flag("deleteRayJobAfterJobFinishes", no_flag);
  reader.text("batchScheduler", options.batch_scheduler);
  reader.flag("enableBatchScheduler", options.enable_batch_scheduler);
  reader.flag("useKubernetesProxy", options.use_kubernetes_proxy);
  reader.flag("enableMetrics", options.enable_metrics);
  reader.list("headSidecarContainers", options.head_sidecar_containers, "[]v1.Container");
  reader.list("workerSidecarContainers", options.worker_sidecar_containers, "[]v1.Container");
  reader.list("defaultContainerEnvs", options.default_container_envs, "[]v1.EnvVar");
  reader.strings("defaultPodAnnotations", options.default_pod_annotations);
  reader.strings("defaultPodLabels", options.default_pod_labels);
  if (options.metrics_addr.empty()) options.metrics_addr = ":8080";
  if (options.probe_addr.empty()) options.probe_addr = ":8082";
  if (options.reconcile_concurrency == 0) options.reconcile_concurrency = 1;
  return reader.result();
}

}  // namespace manta::operator_
