#include "local/node/node.h"

#include "base/log.h"
#include "local/node/leftovers.h"
#include "local/node/node_impl.h"

#include <fmt/format.h>

#include <fstream>
#include <set>

namespace manta::local {

namespace {

template <class V>
std::vector<std::shared_ptr<const V>> all_of(const kube::Cache<V>& cache) {
  return cache.list("");
}

}  // namespace

Result<PodDocument> project_pod_document(const Json& object) {
  auto meta = kube::parse_meta(object);
  if (!meta) return failed(meta.error());
  return PodDocument{std::move(*meta), std::make_shared<const Json>(object)};
}

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
  const auto patience = self.loop.steady() + std::chrono::seconds{5};
  while (!(self.services.synced() && self.slices.synced()) && self.loop.steady() < patience)
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
