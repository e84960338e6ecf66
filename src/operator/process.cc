#include "operator/process.h"

#include "base/asio_loop.h"
#include "base/log.h"
#include "kube/http_api.h"
#include "operator/log_sink.h"
#include "operator/serve.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace manta::operator_ {
namespace {

// client-go's own limits, which a 0 asks for.
constexpr double kDefaultQps = 5;
constexpr int kDefaultBurst = 10;

Result<std::string> read_file(const std::string& path) {
  std::error_code unknown;
  if (std::filesystem::is_directory(path, unknown))
    return failed(ErrorCode::Invalid, fmt::format("cannot read {}: it is a directory", path));
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  std::string text(std::istreambuf_iterator<char>(file), {});  // an empty file is one, too
  if (!file)
    return failed(ErrorCode::NotFound,
                  fmt::format("cannot read {}: {}", path,
                              errno != 0 ? std::strerror(errno) : "it cannot be opened"));
  return text;
}

int fail(const StartFailure& failure, std::string_view logger = "setup") {
  log::error(failure.what, {{"logger", logger}, {"error", failure.error.message}});
  return 1;
}

LogFormat format_of(const std::string& encoder) {
  return encoder == "console" ? LogFormat::Console : LogFormat::Json;
}

Started<> check_encoders(const Options& options) {
  const std::pair<const char*, const std::string&> streams[] = {
      {"stdout", options.log_stdout_encoder}, {"file", options.log_file_encoder}};
  for (const auto& [stream, encoder] : streams) {
    if (encoder == "json" || encoder == "console") continue;
    if (options.log_file.empty() && std::string_view(stream) == "file") continue;
    return not_started(
        fmt::format("failed to create log encoder for {}", stream),
        {.code = ErrorCode::Invalid,
         .message = fmt::format("invalid encoder \"{}\" (must be 'json' or 'console')", encoder)});
  }
  return {};
}

Started<> set_up_logs(const Options& options) {
  LogOptions logs{.console = format_of(options.log_stdout_encoder),
                  .sampled = options.log_verbosity < 2 && !options.zap_devel,
                  .file = {.path = options.log_file},
                  .file_format = format_of(options.log_file_encoder)};
  if (options.log_verbosity > 0)
    logs.console_level = log::Level::Debug;
  else if (options.log_verbosity == -1)
    logs.console_level = log::Level::Error;
  else if (options.log_verbosity < -1)
    logs.console_level = std::nullopt;
  auto sink = make_log_sink(logs, [] {
    return std::chrono::time_point_cast<Duration>(std::chrono::system_clock::now());
  });
  if (!sink) return not_started("cannot write logs", sink.error());
  log::set_sink(std::move(*sink));
  log::set_level(lowest_level(logs));
  return {};
}

Started<> read_config(Options& options) {
  if (options.config_path.empty()) return {};
  auto text = read_file(options.config_path);
  if (!text) return not_started("failed to read config file", text.error());
  if (auto ok = apply_config_file(options, *text); !ok)
    return not_started("failed to decode config file", ok.error());
  return {};
}

Started<> prepare(Options& options) {
  // Until everything is known, so that mistakes in it are told in the usual shape.
  Options console = options;
  console.log_file.clear();
  if (auto ok = set_up_logs(console); !ok) return ok;
  if (auto ok = read_config(options); !ok) return ok;
  if (auto ok = check_encoders(options); !ok) return ok;
  return set_up_logs(options);
}

int run(AsioLoop& loop, Assignment assignment) {
  const auto source = kube::ConfigSource::of_process(assignment.options.kubeconfig);
  log::info("Setup manager", {{"logger", "setup"}});
  log::info("This is Manta", {{"logger", "setup"}, {"version", std::string(operator_version())}});
  auto config = kube::load_client_config(source);
  if (!config)
    return fail({"unable to get kubeconfig", config.error()}, "controller-runtime.client.config");
  if (assignment.options.leader_election) {
    auto namespace_ = election_namespace(assignment.options, source);
    if (!namespace_) return fail(namespace_.error());
    assignment.election_namespace = std::move(*namespace_);
  }
  RestMetrics requests(host_of(config->server));
  const auto& options = assignment.options;
  auto api = kube::make_http_api(
      loop, {.config = std::move(*config),
             .user_agent = fmt::format("kuberay-operator/{}", operator_version()),
             .qps = options.qps == 0 ? kDefaultQps : options.qps,
             .burst = options.burst == 0 ? kDefaultBurst : options.burst,
             .observer = &requests});
  if (!api) return fail({"unable to start manager", api.error()});
  auto ended = run_to_end(loop, serve(loop, **api, requests, std::move(assignment)));
  return ended ? 0 : fail(ended.error());
}

}  // namespace

int run_manager(const std::vector<std::string>& arguments) {
  auto command = parse_command_line(arguments);
  if (!command.options) {
    std::fputs(command.text.c_str(), stderr);
    return command.exit_code;
  }
  auto options = std::move(*command.options);
  if (auto ok = prepare(options); !ok) return fail(ok.error());
  if (!command.ignored.empty())
    log::info(
        "arguments are ignored from the first that is no flag on; a boolean takes =value",
        {{"logger", "setup"}, {"ignored", fmt::format("{}", fmt::join(command.ignored, " "))}});
  if (options.forced_cluster_upgrade)
    log::info("Deprecated feature flag forced-cluster-upgrade is set, which has no effect.",
              {{"logger", "setup"}});
  auto settings = settle_options(options, process_environment);
  if (!settings) return fail(settings.error());
  AsioLoop loop;
  return run(loop, {.options = std::move(options),
                    .settings = std::move(*settings),
                    .environment = process_environment});
}

}  // namespace manta::operator_
