#include "operator/flags.h"
#include "operator/options.h"

#include <fmt/format.h>

#include <charconv>

namespace manta::operator_ {
namespace {

Result<void> one_of(std::string_view text, std::initializer_list<std::string_view> allowed) {
  for (auto value : allowed)
    if (text == value) return {};
  return failed(ErrorCode::Invalid, fmt::format("must be one of {}", fmt::join(allowed, ", ")));
}

Result<int> parse_log_level(std::string_view text) {
  if (text == "debug") return 1;
  if (text == "info") return 0;
  if (text == "error") return -1;
  if (text == "panic") return -2;
  int level = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), level);
  if (error != std::errc{} || end != text.data() + text.size() || level <= 0)
    return failed(ErrorCode::Invalid, fmt::format("invalid log level \"{}\"", text));
  return level;
}

}  // namespace

CommandLine parse_command_line(const std::vector<std::string>& arguments) {
  Options o;
  std::optional<int> log_level;
  FlagSet flags("/manager");
  flags.add("metrics-addr", &o.metrics_addr, "The address the metric endpoint binds to.");
  flags.add("health-probe-bind-address", &o.probe_addr, "The address the probe endpoint binds to.");
  flags.add("enable-leader-election", &o.leader_election,
            "Elect a leader, so that one operator of several is active.");
  flags.add("leader-election-namespace", &o.leader_election_namespace,
            "Namespace of the leader election Lease; by default the Pod's own.");
  flags.add(
      "reconcile-concurrency", &o.reconcile_concurrency,
      "Accepted and shown in the metrics, 0 or less as 1; objects never wait for each other.");
  flags.add("watch-namespace", &o.watch_namespace,
            "Namespaces to watch, separated by commas; all when empty.");
  flags.add("forced-cluster-upgrade", &o.forced_cluster_upgrade, "Deprecated, without effect.");
  flags.add("log-file-path", &o.log_file,
            "Also write logs to this file; folders that are missing are made.");
  flags.add("log-file-encoder", &o.log_file_encoder, "Format of the log file: json or console.");
  flags.add("log-stdout-encoder", &o.log_stdout_encoder, "Format of the log: json or console.");
  flags.add("enable-batch-scheduler", &o.enable_batch_scheduler,
            "Deprecated: --batch-scheduler=volcano.");
  flags.add("batch-scheduler", &o.batch_scheduler,
            "volcano, yunikorn, kai-scheduler or scheduler-plugins.");
  flags.add("config", &o.config_path, "Configuration file; most other flags are then ignored.");
  flags.add("use-kubernetes-proxy", &o.use_kubernetes_proxy,
            "Reach Ray's dashboards through the API server's proxy.");
  flags.add("feature-gates", &o.feature_gates, "Feature gates, as Name=bool separated by commas.");
  flags.add("enable-metrics", &o.enable_metrics, "Emit KubeRay's own metrics.");
  flags.add(
      "qps", &o.qps,
      "Requests a second that the API client may make of each kind; 0 is 5, less is no limit.");
  flags.add("burst", &o.burst,
            "Requests that the API client may make at once of each kind; 0 is 10.");
  flags.add("kubeconfig", &o.kubeconfig, "Path of a kubeconfig, for runs outside of a cluster.");
  flags.add("zap-devel", &o.zap_devel, "Development logs: debug level, every line.");
  flags.add_checked("zap-encoder", "Accepted, without effect: json or console.",
                    [](std::string_view text) { return one_of(text, {"json", "console"}); });
  flags.add_checked("zap-log-level", "debug, info, error, panic or a positive number.",
                    [&log_level](std::string_view text) -> Result<void> {
                      auto level = parse_log_level(text);
                      if (!level) return std::unexpected(level.error());
                      log_level = *level;
                      return {};
                    });
  flags.add_checked("zap-stacktrace-level", "Accepted, without effect: info, error or panic.",
                    [](std::string_view text) { return one_of(text, {"info", "error", "panic"}); });
  flags.add_checked("zap-time-encoding", "Accepted, without effect.", [](std::string_view text) {
    return one_of(text, {"epoch", "millis", "nano", "nanos", "iso8601", "rfc3339", "rfc3339nano"});
  });

  std::vector<std::string> ignored;
  const auto end = flags.parse(arguments, &ignored);
  if (!end)
    return {.text = fmt::format("{}\n{}", end.error().message, flags.usage()), .exit_code = 2};
  if (*end == FlagSet::End::HelpWanted) return {.text = flags.usage()};
  o.log_verbosity = log_level.value_or(o.zap_devel ? 1 : 0);
  return {.options = std::move(o), .ignored = std::move(ignored)};
}

std::vector<std::string> Options::namespaces() const {
  std::vector<std::string> out;
  std::string_view rest = watch_namespace;
  for (;;) {
    const auto comma = rest.find(',');
    out.emplace_back(rest.substr(0, comma));
    if (comma == std::string_view::npos) break;
    rest = rest.substr(comma + 1);
  }
  // An empty element among several means all of them.
  for (const auto& name : out)
    if (name.empty()) return {std::string()};
  return out;
}

}  // namespace manta::operator_
