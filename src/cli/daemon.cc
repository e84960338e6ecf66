#include "cli/daemon.h"

#include "base/asio_loop.h"
#include "base/async.h"
#include "base/log.h"
#include "base/random.h"
#include "cli/clean_up.h"
#include "cli/console.h"
#include "cli/credentials.h"
#include "cli/daemon_parts.h"
#include "cli/gate_notice.h"
#include "cli/instance.h"
#include "cli/pip_config.h"
#include "cli/run_journal.h"
#include "cli/run_ticket.h"
#include "cli/service_dial.h"
#include "cli/signals.h"
#include "local/apiserver/api_server.h"
#include "local/apiserver/http_server.h"
#include "local/controllers/local_controllers.h"
#include "local/images/image_index.h"
#include "local/images/prepared_images.h"
#include "local/node/host_setup.h"
#include "local/node/node.h"
#include "operator/gates.h"
#include "operator/log_sink.h"
#include "operator/operator.h"
#include "operator/options.h"
#include "operator/ray_dashboard.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <system_error>
#include <utility>

namespace manta::cli {
namespace {

/// Node, controllers and operator end within this, or the process does.
constexpr Duration kStopPatience = std::chrono::seconds{30};
/// Each one means that somebody else was quicker.
constexpr int kPortTries = 20;
constexpr Duration kRunsInterval = std::chrono::seconds{1};

class Daemon {
 public:
  Daemon(const Paths& paths, const DaemonOptions& options, int ready_fd,
         std::optional<DaemonState> last)
      : paths_(paths), options_(options), ready_fd_(ready_fd), last_(std::move(last)) {}

  int run() {
    auto ended = run_to_end(loop_, live());
    if (ended) return 0;
    auto& message = ended.error().message;
    if (message.contains("malformed") || message.contains("not a database"))
      message +=
          fmt::format("; restore {} from a copy, or start with an empty one: {} down --purge",
                      paths_.store().string(), paths_.command);
    // Somebody waits for our first word; afterwards the log has it.
    report_failure(std::exchange(ready_fd_, -1), ended.error().message);
    log::error("manta ends", {{"error", ended.error().message}});
    print_error(ended.error().message);
    return 1;
  }

 private:
  Task<Result<void>> live() {
    StopSignals signals(loop_, [this](int) { stop_.request_stop(); });
    auto started = co_await start();
    if (started) co_await until_stopped();
    co_await shut_down();
    co_return started;
  }

  Task<Result<void>> start() {
    if (auto ok = open(); !ok) co_return ok;
    if (auto ok = co_await install_crds(*api_); !ok) co_return ok;
    if (!options_.control_plane_only)
      if (auto ok = co_await start_node(); !ok) co_return ok;
    start_controllers();
    if (options_.with_operator)
      if (auto ok = start_operator(); !ok) co_return ok;
    co_return publish();
  }

  /// Store, API server and its HTTPS front.
  Result<void> open() {
    const auto services = choose_service_network(paths_, !options_.control_plane_only);
    if (!services) return failed(services.error());
    auto credentials =
        load_or_make_credentials(paths_, first_service_ip(*services), loop_.now(), random_);
    if (!credentials) return failed(credentials.error());
    credentials_ = std::move(*credentials);
    auto store = local::Store::open({.path = paths_.store().string()});
    if (!store) return failed(store.error().in("opening " + paths_.store().string()));
    store_ = std::move(*store);
    for (int tries = 1;; ++tries) {
      auto listening = listen(*services);
      // Between our look and our listening, another manta may have taken the port.
      const bool taken = !listening && listening.error().code == ErrorCode::Unavailable;
      if (!taken || options_.port || tries == kPortTries) return listening;
    }
  }

  Result<void> listen(const std::string& services) {
    const auto port = choose_port(options_.port, last_ ? std::optional(last_->port) : std::nullopt);
    if (!port) return failed(port.error());
    front_.reset();  // of an earlier try; it knows the API server
    local::ApiServerOptions server{.service_cidr = services,
                                   .advertise_port = *port,
                                   .mount_service_accounts = !options_.control_plane_only};
    if (options_.with_operator && !looks_after_cron_jobs())
      server.warnings.emplace("raycronjobs.ray.io", cron_job_gate_off(paths_.command));
    api_ = std::make_unique<local::ApiServer>(loop_, random_, *store_, std::move(server));
    front_ = make_front(*port);
    return front_->start();
  }

  /// What is wrong with the gates is said when the operator is started.
  bool looks_after_cron_jobs() const {
    const auto gates = operator_::parse_gates(options_.feature_gates);
    return !gates || gates->at("RayCronJob");
  }

  Task<Result<void>> start_node() {
    local::NodeOptions node{
        .state_folder = paths_.node().string(),
        .outbound = options_.outbound,
        .version = local::ApiServerOptions{}.version + "+manta"};  // as /version says
    if (local::needs_rootless())
      if (auto ok = leave_for_own_namespaces(node); !ok) co_return ok;
    node.pip_config = (paths_.home / "pip.conf").string();
    if (auto ok = local::write_file_whole(node.pip_config, machine_pip_config()); !ok) co_return ok;
    node_ = std::make_unique<local::Node>(loop_, *api_, images_, random_, std::move(node));
    auto started = co_await node_->start();
    if (!started) co_return failed(started.error().in("starting the node"));
    for (const auto& warning : node_->warnings()) log::warn(warning);
    api_->set_pod_backend(&node_->backend());
    node_scope_.spawn("node", node_->run(node_scope_.stop_token()));
    co_return Result<void>{};
  }

  /// Without root: the listener stays in the host's network, everything opened from here on is in
  /// the Pods'. There the API server gets a second front, for what runs in Pods.
  Result<void> leave_for_own_namespaces(local::NodeOptions& node) {
    std::optional<local::UserNetwork> way;
    if (node.outbound) way = local::UserNetwork::prepare();
    if (auto ok = local::enter_rootless(); !ok) return ok;
    if (way) {
      if (auto ok = way->connect(); !ok) {
        log::warn("Pods cannot reach the internet", {{"why", ok.error().message}});
        node.outbound = false;
      }
      node.name_servers = {local::UserNetwork::kNameServer};
    }
    if (auto ok = local::own_hosts_file((paths_.home / "hosts").string()); !ok) return ok;
    inner_front_ = make_front(front_->port());
    return inner_front_->start();
  }

  std::unique_ptr<local::HttpServer> make_front(std::uint16_t port) {
    return std::make_unique<local::HttpServer>(
        loop_, *api_,
        local::HttpServerOptions{.port = port,
                                 .certificate_pem = credentials_.certificate_pem,
                                 .private_key_pem = credentials_.private_key_pem,
                                 .token = credentials_.token});
  }

  void start_controllers() {
    const bool all = !options_.control_plane_only;
    controllers_ = std::make_unique<local::LocalControllers>(
        loop_, *api_, random_,
        local::LocalControllersOptions{.ca_pem = credentials_.certificate_pem,
                                       .jobs = all,
                                       .scheduling = all,
                                       .endpoints = all,
                                       .service_accounts = all});
    scope_.spawn("local controllers", controllers_->run(scope_.stop_token()));
  }

  Result<void> start_operator() {
    auto settings = operator_::make_settings({.feature_gates = options_.feature_gates},
                                             operator_::process_environment);
    if (!settings) return failed(settings.error());
    if (!looks_after_cron_jobs())
      operator_scope_.spawn("gate notice",
                            tell_of_the_cron_job_gate(loop_, *api_, random_, paths_.command,
                                                      operator_scope_.stop_token()));
    for (int i = 0; i < 4; ++i) settings->seed += fmt::format("{:016x}", random_.next());
    dashboard_ = std::make_unique<operator_::RayDashboard>(
        make_service_fetch(loop_, *api_), *api_,
        [this](const kube::ObjectKey& secret) { return op_->token_of(secret); }, false);
    op_ = std::make_unique<operator_::Operator>(
        loop_, *api_, *dashboard_, random_,
        operator_::OperatorOptions{.settings = std::move(*settings)});
    operator_scope_.spawn("operator", op_->run(operator_scope_.stop_token()));
    return {};
  }

  /// From here on others find us.
  Result<void> publish() {
    const auto port = front_->port();
    if (auto ok = write_kubeconfig(paths_, credentials_, port); !ok) return ok;
    const DaemonState state{.pid = ::getpid(),
                            .port = port,
                            .server = fmt::format("https://127.0.0.1:{}", port),
                            .started = format_rfc3339(loop_.now()),
                            .version = std::string(operator_::operator_version()),
                            .control_plane_only = options_.control_plane_only,
                            .outbound = options_.outbound,
                            .with_operator = options_.with_operator,
                            .feature_gates = options_.feature_gates,
                            .for_runs = options_.for_runs};
    if (auto ok = write_state(paths_, state); !ok) return ok;
    log::info("manta is up", {{"server", state.server}, {"data", paths_.home.string()}});
    if (ready_fd_ < 0) fmt::print(stderr, "export KUBECONFIG={}\n", paths_.kubeconfig().string());
    report_ready(std::exchange(ready_fd_, -1));
    return {};
  }

  Task<void> until_stopped() {
    if (options_.for_runs) scope_.spawn("runs", watch_runs(scope_.stop_token()));
    OneShot<bool> stopped(loop_);
    std::stop_callback wake(stop_.get_token(), [&] { stopped.set(true); });
    co_await stopped;
  }

  /// A run that is killed can neither stop us nor take its objects along.
  Task<void> watch_runs(std::stop_token stop) {
    while (co_await sleep(loop_, kRunsInterval, stop)) {
      if (!is_for_runs()) continue;
      auto none_left = RunTicket::take_if_no_run(paths_);
      if (!none_left) continue;
      log::info("no manta run is left: what they made is deleted");
      for (auto& journal : read_journals(paths_)) co_await take_out_one(std::move(journal));
      erase_journals(paths_);
      if (!is_for_runs()) continue;  // somebody asked for us to stay
      orphaned_ = std::make_unique<RunTicket>(std::move(*none_left));
      stop_.request_stop();
      co_return;
    }
  }

  /// `manta up` may change it.
  bool is_for_runs() const {
    const auto now = read_state(paths_);
    return now && now->for_runs;
  }

  Task<void> take_out_one(std::vector<AppliedObject> applied) {
    std::string cluster;
    if (const auto* job = find_job(applied))
      if (auto live = co_await api_->get(job->resource, job->key))
        cluster = string_at(*live, {"status", "rayClusterName"});
    const auto done = co_await take_out(loop_, *api_, std::move(applied), std::move(cluster));
    if (!done) log::warn("some of it stays", {{"error", done.error().message}});
  }

  /// Who decides first, then who acts, then what they stand on.
  Task<void> shut_down() {
    log::info("manta stops");
    // First: who comes now waits for the end, and does not join in.
    std::error_code ignored;
    std::filesystem::remove(paths_.state(), ignored);
    std::filesystem::remove(paths_.home / "manta.pid", ignored);
    const auto limit = loop_.after(kStopPatience, [] {
      log::error("not everything has ended in time, ending all the same");
      std::_Exit(1);
    });
    operator_scope_.request_stop();
    co_await operator_scope_.join();
    scope_.request_stop();
    co_await scope_.join();
    node_scope_.request_stop();
    co_await node_scope_.join();
    if (api_) api_->set_pod_backend(nullptr);
    if (inner_front_) inner_front_->stop();
    if (front_) front_->stop();
    loop_.cancel(limit);
    log::info("manta has stopped");
  }

  const Paths& paths_;
  DaemonOptions options_;
  int ready_fd_;
  std::optional<DaemonState> last_;  // an earlier life that was killed
  AsioLoop loop_ = {};
  SystemRandom random_ = {};
  std::stop_source stop_ = {};
  Credentials credentials_ = {};
  local::PreparedImages images_{local::ImageIndex(paths_.images, paths_.command)};
  std::unique_ptr<local::Store> store_ = {};
  std::unique_ptr<local::ApiServer> api_ = {};
  std::unique_ptr<local::HttpServer> front_ = {};
  std::unique_ptr<local::HttpServer> inner_front_ = {};  // without root only
  std::unique_ptr<local::Node> node_ = {};
  std::unique_ptr<local::LocalControllers> controllers_ = {};
  std::unique_ptr<operator_::RayDashboard> dashboard_ = {};
  std::unique_ptr<operator_::Operator> op_ = {};
  std::unique_ptr<RunTicket> orphaned_ = {};  // new runs wait for our end
  Scope scope_{loop_};
  Scope node_scope_{loop_};
  Scope operator_scope_{loop_};
};

}  // namespace

int run_daemon(const Paths& paths, const DaemonOptions& options, int ready_fd) {
  auto fail = [ready_fd](const Error& error) {
    report_failure(ready_fd, error.message);
    if (ready_fd < 0) print_error(error.message);
    return 1;
  };
  if (auto home = make_home(paths); !home) return fail(home.error());
  if (auto lock = take_lock(paths); !lock) return fail(lock.error());
  // At once: with the lock taken, others would believe it, and its pid may be somebody else's by
  // now.
  auto last = read_state(paths);
  std::error_code ignored;
  std::filesystem::remove(paths.state(), ignored);
  auto sink = operator_::make_log_sink({.console = operator_::LogFormat::Console}, [] {
    return std::chrono::time_point_cast<Duration>(std::chrono::system_clock::now());
  });
  if (sink) log::set_sink(std::move(*sink));
  Daemon daemon(paths, options, ready_fd, std::move(last));
  return daemon.run();
}

}  // namespace manta::cli
