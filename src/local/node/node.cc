#include "local/node/node.h"

#include "base/log.h"
#include "kube/cache.h"
#include "kube/events.h"
#include "local/node/dns_message.h"
#include "local/node/files.h"
#include "local/node/host_setup.h"
#include "local/node/leftovers.h"
#include "local/node/name_server.h"
#include "local/node/node_object.h"
#include "local/node/outbound.h"
#include "local/node/pod_worker.h"
#include "local/node/service_proxy.h"

#include <errno.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>

namespace manta::local {

namespace {

struct PodDocument {
  kube::ObjectMeta meta = {};
  std::shared_ptr<const Json> document = {};
};

Result<PodDocument> project_pod(const Json& object) {
  auto meta = kube::parse_meta(object);
  if (!meta) return failed(meta.error());
  return PodDocument{std::move(*meta), std::make_shared<const Json>(object)};
}

template <class V>
std::vector<std::shared_ptr<const V>> all_of(const kube::Cache<V>& cache) {
  return cache.list("");
}

}  // namespace

struct Node::Impl {
  Impl(AsioLoop& l, kube::Api& a, ImageStore& images, Random& r, NodeOptions o)
      : loop(l),
        api(a),
        random(r),
        recorder(l, a, r, "kubelet", o.node_name),
        context{l, a, images, recorder, r, std::move(o), Helpers{l}, {}},
        pods(kube::kPods, project_pod,
             {.field_selector = "spec.nodeName=" + context.options.node_name}),
        services(kube::kServices, project_node_service),
        slices(kube::kEndpointSlices, project_node_slice),
        scope(l),
        workers_scope(l) {}

  const NodeOptions& options() const { return context.options; }

  AsioLoop& loop;
  kube::Api& api;
  Random& random;
  kube::EventRecorder recorder;
  NodeContext context;
  MachineFacts machine = {};
  std::string marker = {};
  Fd lock = {};
  std::string node_uid = {};
  std::vector<std::string> warnings = {};
  kube::Cache<PodDocument> pods;
  kube::Cache<NodeServiceView> services;
  kube::Cache<NodeSliceView> slices;
  std::unique_ptr<ServiceProxy> proxy = {};
  std::unique_ptr<NameServer> name_server = {};
  std::map<std::string, std::unique_ptr<PodWorker>> workers = {};  // by uid
  Scope scope, workers_scope;
  bool names_due = false;
  bool stopping = false;

  Result<void> prepare_host();
  void open_way_out();
  Task<Result<void>> register_node();
  Task<void> keep_alive(std::stop_token stop);
  Task<void> renew_lease();
  void pod_changed(const kube::ObjectMeta* before, const kube::ObjectMeta* after);
  void start_worker(std::shared_ptr<const PodSpec> spec);
  Task<void> run_worker(PodWorker& worker);
  Task<void> report_unusable(kube::ObjectKey key, std::string uid, std::string why);
  void services_changed();
  Task<void> remove_abandoned_files();
  void update_names();
  PodWorker* worker(const ContainerTarget& target);
};

Node::Node(AsioLoop& loop, kube::Api& api, ImageStore& images, Random& random, NodeOptions options)
    : impl_(std::make_unique<Impl>(loop, api, images, random, std::move(options))) {}
Node::~Node() = default;

const std::vector<std::string>& Node::warnings() const { return impl_->warnings; }

std::string Node::pod_network() const {
  if (!impl_->context.network) return {};
  const auto& net = impl_->context.network->net();
  return fmt::format("{}/{}", format_ipv4(net.address), net.prefix);
}

namespace {

/// Empty when no node was here yet.
std::string read_marker(const NodeOptions& options) {
  std::string marker;
  std::ifstream(options.state_folder + "/marker") >> marker;
  return marker.size() == 8 ? marker : "";
}

}  // namespace

std::vector<std::string> Node::find_leftovers(const NodeOptions& options) {
  const auto marker = read_marker(options);
  if (marker.empty()) return {};
  return local::find_leftovers(options, marker);
}

void Node::clean_up_leftovers(const NodeOptions& options) {
  if (const auto marker = read_marker(options); !marker.empty()) remove_leftovers(options, marker);
}

Result<void> Node::Impl::prepare_host() {
  if (has_one_user()) context.options.rootless = true;
  auto found = state_marker(options().state_folder, random);
  if (!found) return failed(found.error());
  marker = *found;
  const auto lock_path = options().state_folder + "/lock";
  lock = Fd(open(lock_path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!lock || flock(lock.get(), LOCK_EX | LOCK_NB) != 0) {
    lock = {};  // not ours: stop() must leave the other node's things alone
    return failed(
        ErrorCode::AlreadyExists,
        fmt::format("another node runs with the state folder {}", options().state_folder));
  }
  if (options().rootless && options().write_host_names &&
      options().host_names_file == "/etc/hosts") {
    if (auto own = own_hosts_file(options().state_folder + "/hosts"); !own) {
      log::warn("this process does not know Service names", {{"error", own.error().message}});
      context.options.write_host_names = false;
    }
  }
  remove_leftovers(options(), marker);

  auto executable = options().executable;
  std::error_code error;
  if (executable.empty())
    executable = std::filesystem::read_symlink("/proc/self/exe", error).string();
  context.helpers.executable = executable;
  context.helpers.marker = marker;
  context.cgroups = Cgroups::detect(marker);
  record_cgroups(options().state_folder, context.cgroups.roots());
  if (!context.cgroups.problem().empty())
    warnings.push_back(fmt::format("CPU and memory limits are {}: {}",
                                   context.cgroups.available() ? "partly advice" : "advice only",
                                   context.cgroups.problem()));
  auto network = PodNetwork::start(marker, options().pod_network);
  if (network)
    context.network.emplace(std::move(*network));
  else
    warnings.push_back(fmt::format("Pods have no network of their own (hostNetwork works): {}",
                                   network.error().message));
  if (context.network && !options().rootless) allow_bridge_traffic(context.network->bridge());
  if (context.network && options().outbound) open_way_out();

  machine = read_machine(options().state_folder);
  if (options().cpu_milli > 0) machine.cpu_milli = options().cpu_milli;
  if (options().memory > 0) machine.memory = options().memory;
  context.facts = {machine.address, machine.cpu_milli, machine.memory};
  for (const auto& warning : warnings) log::warn(warning);
  return {};
}

/// Pods work without it; what is missing is a warning.
void Node::Impl::open_way_out() {
  const auto& network = *context.network;
  const auto opened = open_outbound(marker, network.bridge(), network.net());
  if (!opened) {
    warnings.push_back(fmt::format("Pods cannot reach the internet: {}", opened.error().message));
    return;
  }
  auto upstream = [servers = options().name_servers] {
    return servers.empty() ? parse_name_servers(read_file("/etc/resolv.conf").value_or(""))
                           : servers;
  };
  const auto address = format_ipv4(network.gateway());
  auto server = NameServer::start(loop, {address, options().cluster_domain, std::move(upstream)});
  if (server) {
    name_server = std::move(*server);
    context.name_server = address;
  } else {
    warnings.push_back(
        fmt::format("Pods cannot resolve names of the internet: {}", server.error().message));
  }
}

Task<Result<void>> Node::start() {
  auto& self = *impl_;
  if (auto ready = self.prepare_host(); !ready) co_return failed(ready.error());
  self.context.services = [&self](std::string_view ns) {
    return service_env(all_of(self.services), ns);
  };
  self.context.hosts = [&self](std::string_view ns) {
    return service_hosts(all_of(self.services), all_of(self.slices), ns,
                         self.options().cluster_domain);
  };
  self.proxy = std::make_unique<ServiceProxy>(
      self.loop, self.context.network ? &*self.context.network : nullptr);
  if (auto registered = co_await self.register_node(); !registered)
    co_return failed(registered.error());

  self.scope.spawn("events", self.recorder.run(self.scope.stop_token()));
  self.services.listen([&self](auto*, auto*) { self.services_changed(); });
  self.slices.listen([&self](auto*, auto*) { self.services_changed(); });
  self.pods.listen([&self](auto* before, auto* after) { self.pod_changed(before, after); });
  for (kube::CacheBase* cache :
       std::initializer_list<kube::CacheBase*>{&self.services, &self.slices})
    self.scope.spawn("reflect", kube::reflect(self.loop, self.api, *cache, self.random,
                                              self.scope.stop_token()));
  // Containers are told of Services at their start, so those come first; a control plane that has
  // none to list must not hold Pods up for long.
  const auto patience = self.loop.now() + std::chrono::seconds{5};
  while (!(self.services.synced() && self.slices.synced()) && self.loop.now() < patience)
    co_await sleep(self.loop, std::chrono::milliseconds{5});
  self.scope.spawn("reflect", kube::reflect(self.loop, self.api, self.pods, self.random,
                                            self.scope.stop_token()));
  self.pods.when_synced([&self] { self.scope.spawn("sweep", self.remove_abandoned_files()); });
  self.scope.spawn("heartbeat", self.keep_alive(self.scope.stop_token()));
  co_return Result<void>{};
}

Task<void> Node::stop() {
  auto& self = *impl_;
  self.stopping = true;
  self.workers_scope.request_stop();
  co_await self.workers_scope.join();
  self.scope.request_stop();
  co_await self.scope.join();
  if (self.proxy != nullptr) self.proxy->stop();
  self.name_server.reset();
  if (!self.marker.empty() && self.lock) remove_leftovers(self.options(), self.marker);
  self.workers.clear();
}

Task<void> Node::run(std::stop_token stop) {
  OneShot<bool> stopped(impl_->loop);
  std::stop_callback on_stop(stop, [stopped] { stopped.set(true); });
  co_await stopped;
  co_await this->stop();
}

Task<Result<void>> Node::Impl::register_node() {
  const kube::ObjectKey key{"", options().node_name};
  auto created = co_await api.create(kube::kNodes, build_node(options(), machine));
  if (!created && created.error().code != ErrorCode::AlreadyExists)
    co_return failed(created.error().in(fmt::format("registering node {}", key.name)));
  auto node = created ? std::move(created) : co_await api.get(kube::kNodes, key);
  if (!node) co_return failed(node.error().in(fmt::format("registering node {}", key.name)));
  node_uid = string_at(*node, {"metadata", "uid"});
  static const Json kNone = JsonObject{};
  const Json* previous = find(*node, {"status"});
  Json patch = build_node(options(), machine);
  patch.as_object().erase("spec");
  if (auto labelled = co_await api.patch(kube::kNodes, key, kube::PatchType::Merge, patch);
      !labelled)
    co_return failed(labelled.error().in(fmt::format("labelling node {}", key.name)));
  Json status = JsonObject{
      {"status",
       build_node_status(options(), machine, previous != nullptr ? *previous : kNone, loop.now())}};
  auto written =
      co_await api.patch(kube::kNodes, key, kube::PatchType::Merge, std::move(status), "status");
  if (!written)
    co_return failed(written.error().in(fmt::format("writing the status of node {}", key.name)));
  co_return Result<void>{};
}

Task<void> Node::Impl::renew_lease() {
  auto lease = build_lease(options(), node_uid, loop.now());
  const kube::ObjectKey key{"kube-node-lease", options().node_name};
  Json patch = JsonObject{{"spec", lease.at("spec")}};
  auto renewed = co_await api.patch(kube::kLeases, key, kube::PatchType::Merge, std::move(patch));
  if (!renewed && renewed.error().code == ErrorCode::NotFound)
    renewed = co_await api.create(kube::kLeases, std::move(lease));
  if (!renewed)
    log::debug("the node's lease was not renewed", {{"error", renewed.error().message}});
}

/// A lease each period; the whole status every five minutes, as the kubelet does.
Task<void> Node::Impl::keep_alive(std::stop_token stop) {
  auto last_status = loop.now();
  do {
    co_await renew_lease();
    if (loop.now() - last_status < std::chrono::minutes{5}) continue;
    last_status = loop.now();
    if (auto again = co_await register_node(); !again)
      log::warn("the node's status was not written", {{"error", again.error().message}});
  } while (co_await sleep(loop, options().lease_period, stop));
}

void Node::Impl::pod_changed(const kube::ObjectMeta* before, const kube::ObjectMeta* after) {
  if (stopping) return;
  if (after == nullptr || (before != nullptr && before->uid != after->uid)) {
    if (const auto found = workers.find(before->uid); found != workers.end()) {
      found->second->gone();
      if (found->second->ended()) workers.erase(found);
    }
  }
  if (after == nullptr) return;
  const auto view = pods.get(after->key);
  if (view == nullptr) return;
  auto spec = parse_pod(view->document);
  if (!spec) {
    scope.spawn("report", report_unusable(after->key, after->uid, spec.error().message));
    return;
  }
  auto shared = std::make_shared<const PodSpec>(std::move(*spec));
  if (const auto found = workers.find(after->uid); found != workers.end())
    found->second->update(std::move(shared));
  else
    start_worker(std::move(shared));
}

void Node::Impl::start_worker(std::shared_ptr<const PodSpec> spec) {
  auto& worker = workers[spec->meta.uid];
  worker = std::make_unique<PodWorker>(context, spec);
  if (spec->meta.deleting) worker->update(spec);  // starts the clock of its grace
  workers_scope.spawn("Pod", run_worker(*worker));
}

Task<void> Node::Impl::run_worker(PodWorker& worker) {
  const auto uid = worker.spec().meta.uid;
  const auto key = worker.spec().meta.key;
  co_await worker.run(workers_scope.stop_token());
  // Kept while the API still shows the Pod (finalizers), so that it is not started anew.
  const auto view = pods.get(key);
  if (!stopping && (view == nullptr || view->meta.uid != uid)) workers.erase(uid);
}

/// A Pod that cannot even be read by us fails, with the reason in its status.
Task<void> Node::Impl::report_unusable(kube::ObjectKey key, std::string uid, std::string why) {
  Json patch = JsonObject{
      {"metadata", JsonObject{{"uid", uid}}},
      {"status", JsonObject{{"phase", "Failed"}, {"reason", "InvalidPod"}, {"message", why}}}};
  auto patched =
      co_await api.patch(kube::kPods, key, kube::PatchType::Merge, std::move(patch), "status");
  if (!patched)
    log::warn("cannot report a Pod that cannot be run",
              {{"pod", key.to_string()}, {"why", why}, {"error", patched.error().message}});
}

Task<void> Node::Impl::remove_abandoned_files() {
  std::set<std::string> known;
  for (const auto& pod : all_of(pods)) known.insert(pod->meta.uid);
  for (const auto& [uid, worker] : workers) known.insert(uid);
  auto paths = abandoned_pod_files(options().state_folder, known);
  if (!paths.empty()) co_await remove_paths(context.helpers, std::move(paths));
}

/// Many changes come at once; the files are written a moment later, once.
void Node::Impl::services_changed() {
  if (std::exchange(names_due, true)) return;
  scope.spawn("names", [](Impl& self) -> Task<void> {
    co_await sleep(self.loop, std::chrono::milliseconds{20}, self.scope.stop_token());
    self.names_due = false;
    self.update_names();
  }(*this));
}

void Node::Impl::update_names() {
  if (stopping) return;
  for (auto& [uid, worker] : workers)
    if (!worker->ended()) worker->refresh_hosts();
  const auto all_services = all_of(services);
  const auto all_slices = all_of(slices);
  proxy->update(proxy_rules(all_services, all_slices));
  const auto names = service_hosts(all_services, all_slices, "", options().cluster_domain);
  if (name_server != nullptr) name_server->update(names);
  if (auto written = write_host_names(options(), marker, names); !written)
    log::warn("Service names are not in the host's hosts file",
              {{"error", written.error().message}});
}

PodWorker* Node::Impl::worker(const ContainerTarget& target) {
  const auto found = workers.find(target.uid);
  return found == workers.end() ? nullptr : found->second.get();
}

static std::unexpected<Error> not_here(const ContainerTarget& target) {
  return failed(ErrorCode::NotFound, fmt::format("Pod {}/{} is not on node {}", target.namespace_,
                                                 target.pod, target.node));
}

Task<Result<void>> Node::logs(ContainerTarget target, LogOptions options, OutputSink sink,
                              std::stop_token stop) {
  auto* worker = impl_->worker(target);
  if (worker == nullptr) co_return not_here(target);
  auto place = worker->log_place(target.container, options.previous);
  if (!place) co_return failed(place.error());
  co_return co_await read_log(impl_->loop, place->path, place->live, options, std::move(sink),
                              stop);
}

Task<Result<int>> Node::exec(ExecRequest request, ExecStreams streams, std::stop_token stop) {
  auto* worker = impl_->worker(request.target);
  if (worker == nullptr) co_return not_here(request.target);
  auto entry = worker->entry(request.target.container);
  if (!entry) co_return failed(entry.error());
  if (request.command.empty()) {  // attach: what it writes from now on; its input is closed
    auto place = worker->log_place(request.target.container, false);
    if (!place) co_return failed(place.error());
    auto copied =
        co_await read_log(impl_->loop, place->path, place->live, {.follow = true, .tail_lines = 0},
                          streams.standard_output, stop);
    if (!copied) co_return failed(copied.error());
    co_return 0;
  }
  co_return co_await run_exec(impl_->context.helpers, std::move(*entry), std::move(request),
                              std::move(streams), stop);
}

Task<Result<void>> Node::forward(ContainerTarget target, std::uint16_t port, ForwardStream stream,
                                 std::stop_token stop) {
  auto* worker = impl_->worker(target);
  if (worker == nullptr) co_return not_here(target);
  auto pid = worker->sandbox_pid();
  if (!pid) co_return failed(pid.error());
  co_return co_await run_forward(impl_->context.helpers, *pid, port, std::move(stream), stop);
}

}  // namespace manta::local
