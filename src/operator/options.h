// Everything the operator process is told: flags, the configuration file, the environment.
//
//   auto command = parse_command_line({argv + 1, argv + argc});
//   if (!command.options) { print command.text; return command.exit_code; }
//
// Source: spec/07 §3 to §6, §8.
#pragma once

#include "base/json.h"
#include "base/result.h"
#include "controllers/settings.h"

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace manta::operator_ {

using Environment = std::function<std::optional<std::string>(std::string_view name)>;
/// The process's own.
std::optional<std::string> process_environment(std::string_view name);

struct Options {
  std::string metrics_addr = ":8080";  // "0": none
  std::string probe_addr = ":8082";    // "0" or empty: none
  bool leader_election = true;
  std::string leader_election_namespace = {};  // empty: the Pod's own
  int reconcile_concurrency = 1;        // kept for compatibility: plans never wait for another
  std::string watch_namespace = {};     // comma list; empty: all
  bool forced_cluster_upgrade = false;  // deprecated, no effect
  std::string log_file = {};
  std::string log_file_encoder = "json";
  std::string log_stdout_encoder = "json";
  int log_verbosity = 0;  // 0 info, -1 errors only, -2 nothing, n enables V(n)
  bool zap_devel = false;
  bool enable_batch_scheduler = false;
  std::string batch_scheduler = {};
  std::string config_path = {};
  bool use_kubernetes_proxy = false;
  std::string feature_gates = {};
  bool enable_metrics = false;
  double qps = -1;  // no limit: the API server's own fairness does that job
  int burst = 200;
  std::string kubeconfig = {};

  // The configuration file only.
  JsonArray head_sidecar_containers = {};
  JsonArray worker_sidecar_containers = {};
  JsonArray default_container_envs = {};
  kube::StringMap default_pod_annotations = {};
  kube::StringMap default_pod_labels = {};

  /// The namespaces to watch; one empty element is all of them. Source: spec/07 §12.
  std::vector<std::string> namespaces() const;
};

struct CommandLine {
  std::optional<Options> options = {};
  std::vector<std::string> ignored = {};  // from the first argument on that is no flag
  std::string text = {};                  // for stderr, when there are no options
  int exit_code = 0;                      // 0 help, 2 a bad flag
};
/// Flags only; the configuration file is read by read_config_file().
CommandLine parse_command_line(const std::vector<std::string>& arguments);

/// Replaces what the file's keys decide, with the file's own defaults; `text` is its content.
Result<void> apply_config_file(Options& options, std::string_view text);

/// What no operator could work with, where the reference would fail later and less clearly. Names
/// the option, its value and what is allowed.
Result<void> check_options(const Options& options);

/// What planners need of it all. Fails on unknown gates, schedulers and encoders.
Result<controllers::Settings> make_settings(const Options& options, const Environment& environment);

/// The user agent and the version stamped on objects.
std::string_view operator_version();

}  // namespace manta::operator_
