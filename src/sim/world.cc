#include "sim/world.h"

#include "base/log.h"
#include "operator/options.h"
#include "ray/labels.h"
#include "sim/served_kinds.h"

#include <fmt/format.h>

#include <algorithm>

namespace manta::sim {
namespace {

using namespace std::chrono_literals;

// Longer than every wait that is not a user's own (polling, first back-offs), so that quiet means
// settled.
constexpr Duration kQuiet = 30s;

const kube::ObjectKey kLease = {"default", "ray-operator-leader"};

controllers::Settings settings_for(const WorldOptions& options) {
  operator_::Options flags;
  flags.feature_gates = options.feature_gates;
  flags.batch_scheduler = options.batch_scheduler;
  auto settings =
      operator_::make_settings(flags, [&](std::string_view name) -> std::optional<std::string> {
        const auto found = options.environment.find(name);
        if (found == options.environment.end()) return std::nullopt;
        return found->second;
      });
  MANTA_CHECK(settings.has_value());
  settings->cert_manager = options.cert_manager;
  settings->seed = "test";
  settings->zones = [](std::string_view name) -> std::optional<ray::ZoneOffset> {
    if (name != "UTC" && name != "Local") return std::nullopt;
    return [](Time) { return 0s; };
  };
  return std::move(*settings);
}

// SidecarMode: the submitter is a container of the head.
bool has_submitter(const Json& pod) {
  if (label_of(pod, ray::kLabelNodeType) != ray::kNodeTypeHead) return false;
  return std::ranges::any_of(array_at(pod, {"spec", "containers"}), [](const Json& container) {
    return string_at(container, {"name"}) == ray::kContainerSubmitter;
  });
}

}  // namespace

struct World::Process {
  Process(World& world, int slot);

  std::string identity;
  bool over = false;  // it has died, by a fault or by itself
  kube::FaultApi wire;
  std::unique_ptr<kube::Api> tampered = {};
  OperatorLife life;
};

kube::Resource resource_of(std::string_view kind) {
  for (const auto* known :
       {&ray::kRayClusters, &ray::kRayJobs, &ray::kRayCronJobs, &ray::kRayServices, &kube::kPods,
        &kube::kServices, &kube::kSecrets, &kube::kConfigMaps, &kube::kJobs,
        &kube::kServiceAccounts, &kube::kNamespaces, &kube::kPersistentVolumeClaims,
        &kube::kIngresses, &kube::kLeases})
    if (known->kind == kind) return *known;
  MANTA_CHECK(!"a kind that World knows");
  return {};
}

kube::CallFault FaultScript::call(std::uint64_t, const kube::Request& request) {
  const auto& plural = request.resource.plural;
  if (!is_write(request) || plural == "events" || plural == "leases")
    return on_other_call ? on_other_call(request) : kube::CallFault::None;
  const auto number = writes.size();
  auto words = to_write_call(request, {});
  words.done = true;
  writes.push_back(words.to_string());
  return on_write ? on_write(number, request) : kube::CallFault::None;
}

kube::EventFault FaultScript::event(std::uint64_t, const kube::WatchRequest& request,
                                    const kube::WatchEvent& event) {
  const auto number = events_++;
  return on_event ? on_event(number, request, event) : kube::EventFault::None;
}

World::Process::Process(World& world, int slot)
    : identity(world.options_.processes > 1 ? fmt::format("operator-{}-{}", slot, world.lives_)
                                            : std::string()),
      wire(world.loop_, world.door_, world.script_,
           [this] {
             over = true;
             life.die();
           }),
      tampered(world.options_.tamper ? world.options_.tamper(wire) : nullptr),
      life(world.loop_, tampered ? *tampered : wire,
           world.tampered_ray_ ? *world.tampered_ray_ : world.ray_, world.operator_random_,
           {.settings = world.settings_,
            .lease = identity.empty() ? std::optional<kube::LeaseOptions>()
                                      : kube::LeaseOptions{.lease = kLease, .identity = identity},
            .on_exit = [this] { over = true; },
            .observer = world.options_.observer,
            .before_write =
                [this, &world](const kube::Request& request) {
                  if (world.before_write) world.before_write(identity, request);
                }},
           world.writes_) {}

World::World(WorldOptions options)
    : options_(std::move(options)),
      random_(options_.seed),
      operator_random_(options_.seed + 1000),
      store_(std::move(*local::Store::open({}))),
      mirror_(loop_, *store_),
      laws_(mirror_, writes_),
      server_(loop_, random_, *store_,
              {.types = options_.kinds ? options_.kinds : served_kinds(options_.gateway_api)}),
      door_(loop_, server_),
      kubelet_(loop_, server_, mirror_),
      ray_(loop_),
      tampered_ray_(options_.tamper_ray ? options_.tamper_ray(ray_) : nullptr),
      controllers_(
          loop_, server_, random_,
          {.scheduling = false, .endpoints = options_.endpoints, .service_accounts = false}),
      scope_(loop_),
      settings_(settings_for(options_)),
      processes_(static_cast<std::size_t>(options_.processes)) {
  log::set_level(std::nullopt);  // stories tell themselves
  kubelet_.on_running = [this](const Json& pod) { follow_submitter(pod); };
  ray_.head_of = [this](std::string_view service) { return ready_head_behind(service); };
  ray_.on_submit = [this](const std::string& id) {
    if (!options_.jobs_take) return;
    loop_.after(*options_.jobs_take, [this, id] { end_submitted(id, "SUCCEEDED"); });
  };
  if (options_.gateway_api) gateways_.emplace(loop_, server_, mirror_);
  scope_.spawn("controllers", controllers_.run(scope_.stop_token()));
  loop_.run_for(3s);
  if (options_.start_operator) start_operator();
}

World::~World() { finish(); }

void World::finish() {
  stop_operator();
  kubelet_.stop();
  if (gateways_) gateways_->stop();
  scope_.request_stop();
  const auto over = [this] {
    return scope_.running() == 0 && kubelet_.stopped() && (!gateways_ || gateways_->stopped());
  };
  MANTA_CHECK(loop_.run_until(over, 10min));
}

Result<Json> World::put(Json object) {
  const auto resource = resource_of(string_at(object, {"kind"}));
  if (resource.namespaced && !find(object, {"metadata", "namespace"}))
    ensure(object, {"metadata", "namespace"}) = "default";
  const auto key = kube::key_of(object);
  if (mirror_.find(resource.kind, key.name))
    return loop_.run(server_.patch(resource, key, kube::PatchType::Merge, std::move(object)));
  return loop_.run(server_.create(resource, std::move(object)));
}

Result<Json> World::merge(std::string_view kind, std::string_view name, Json patch) {
  return loop_.run(server_.patch(resource_of(kind), {"default", std::string(name)},
                                 kube::PatchType::Merge, std::move(patch)));
}

Result<Json> World::erase(std::string_view kind, std::string_view name,
                          kube::Propagation propagation) {
  const auto resource = resource_of(kind);
  auto answer = loop_.run(server_.call({.verb = kube::Verb::Delete,
                                        .resource = resource,
                                        .namespace_ = resource.namespaced ? "default" : "",
                                        .name = std::string(name),
                                        .propagation = propagation}));
  if (!answer) return std::unexpected(answer.error());
  return std::move(answer->body);
}

bool World::run(const std::function<bool()>& done, Duration limit) {
  const Time end = loop_.now() + limit;
  while (true) {
    // Conditions are about what is stored: they are asked when that has changed.
    std::optional<std::uint64_t> asked_at;
    const auto look = [&] {
      if (a_process_has_ended()) return true;
      if (asked_at == mirror_.changes()) return false;
      asked_at = mirror_.changes();
      return done();
    };
    const bool came = loop_.run_until(look, end - loop_.now());
    if (!a_process_has_ended()) return came;
    revive();
  }
}

void World::pass(Duration span) {
  const Time end = loop_.now() + span;
  run([] { return false; }, span);
  if (end > loop_.now()) loop_.run_for(end - loop_.now());
}

bool World::calm() const {
  return loop_.now() - mirror_.last_change() >= kQuiet && controllers_.idle() &&
         std::ranges::all_of(processes_,
                             [](const auto& process) { return !process || process->life.idle(); });
}

bool World::settle(Duration limit) {
  const Time end = loop_.now() + limit;
  pass(1s);  // what was just done begins
  while (!calm() && loop_.now() < end) pass(1s);
  laws_.check_settled(options_.events_may_be_lost || lives_ > options_.processes);
  return calm();
}

void World::start_process(int slot) {
  auto& process = processes_[static_cast<std::size_t>(slot)];
  MANTA_CHECK(!process);
  ++lives_;
  process = std::make_unique<Process>(*this, slot);
}

void World::end_process(int slot) {
  auto& process = processes_[static_cast<std::size_t>(slot)];
  if (!process) return;
  process->life.die();
  MANTA_CHECK(loop_.run_until([&] { return process->life.ended(); }, 10min));
  injected_.insert(injected_.end(), process->wire.history().begin(), process->wire.history().end());
  process.reset();
}

bool World::a_process_has_ended() const {
  return std::ranges::any_of(processes_,
                             [](const auto& process) { return process && process->over; });
}

void World::revive() {
  for (int slot = 0; slot < options_.processes; ++slot) {
    const auto& process = processes_[static_cast<std::size_t>(slot)];
    if (!process || !process->over) continue;
    end_process(slot);
    start_process(slot);
  }
}

void World::crash() {
  stop_operator();
  start_operator();
}

void World::crash_leader() {
  for (int slot = 0; slot < options_.processes; ++slot) {
    const auto& process = processes_[static_cast<std::size_t>(slot)];
    if (!process || !process->life.acts()) continue;
    end_process(slot);
    start_process(slot);
  }
}

void World::stop_operator() {
  for (int slot = 0; slot < options_.processes; ++slot) end_process(slot);
}

void World::start_operator() {
  for (int slot = 0; slot < options_.processes; ++slot) start_process(slot);
}

std::string World::identity_of_leader() const {
  return std::string(string_at(get("Lease", kLease.name), {"spec", "holderIdentity"}));
}

bool World::operator_waits() const {
  return std::ranges::any_of(processes_,
                             [](const auto& process) { return process && process->life.waits(); });
}

std::vector<std::string> World::injected() const {
  auto all = injected_;
  for (const auto& process : processes_)
    if (process)
      all.insert(all.end(), process->wire.history().begin(), process->wire.history().end());
  return all;
}

const Json& World::get(std::string_view kind, std::string_view name) const {
  static const Json kNothing;
  const auto* found = mirror_.find(kind, name);
  return found ? *found : kNothing;
}

std::string World::head(std::string_view cluster) const {
  for (const auto* pod :
       mirror_.list("Pod", {{std::string(ray::kLabelCluster), std::string(cluster)},
                            {std::string(ray::kLabelNodeType), "head"}}))
    if (is_live(*pod) && controller_of(*pod)) return name_of(*pod);
  return {};
}

std::vector<std::string> World::workers(std::string_view cluster, std::string_view group) const {
  kube::StringMap labels{{std::string(ray::kLabelCluster), std::string(cluster)},
                         {std::string(ray::kLabelNodeType), "worker"}};
  if (!group.empty()) labels[std::string(ray::kLabelGroup)] = group;
  std::vector<std::string> names;
  for (const auto* pod : mirror_.list("Pod", labels))
    if (is_live(*pod)) names.push_back(name_of(*pod));
  return names;
}

std::vector<std::string> World::events(std::string_view name) const {
  std::vector<std::string> found;
  for (const auto* event : mirror_.list("Event")) {
    const auto about =
        string_at(*event, {"involvedObject", "name"}, string_at(*event, {"regarding", "name"}));
    if (about != name) continue;
    found.push_back(fmt::format("{} {}", string_at(*event, {"reason"}),
                                string_at(*event, {"message"}, string_at(*event, {"note"}))));
  }
  return found;
}

std::string World::cluster_of(std::string_view job) const {
  return std::string(string_at(get("RayJob", job), {"status", "rayClusterName"}));
}

std::string World::id_of(std::string_view job) const {
  return std::string(string_at(get("RayJob", job), {"status", "jobId"}));
}

std::string World::submitter_pod(std::string_view job) const {
  for (const auto* pod : mirror_.list("Pod", {{"batch.kubernetes.io/job-name", std::string(job)}}))
    if (is_live(*pod)) return name_of(*pod);
  return {};
}

// A running submitter submits, and follows its job to the end.
void World::follow_submitter(const Json& pod) {
  if (label_of(pod, ray::kLabelNodeType) == ray::kNodeTypeRedisCleanup)
    return kubelet_.finish(name_of(pod), 0);
  const auto job =
      has_submitter(pod) ? job_behind(pod) : label_of(pod, "batch.kubernetes.io/job-name");
  if (job.empty()) return;
  const auto id = id_of(job);
  const auto head = head_of_job(job);
  if (head.empty()) return lose_submitter(name_of(pod));
  submitters_[id] = name_of(pod);
  ray_.submit(id, head);
  // A retry finds its job ended, and ends like the one before.
  if (const auto status = ray_.status_of(id); status != "RUNNING") end_submitted(id, status);
}

void World::lose_submitter(const std::string& pod) {
  loop_.after(5s, [this, pod] {
    const auto* found = mirror_.find("Pod", pod);
    if (found && is_live(*found)) end_submitter(*found, 1);
  });
}

void World::lose_submitted(const std::string& job_id) {
  if (const auto found = submitters_.find(job_id); found != submitters_.end())
    lose_submitter(found->second);
}

bool World::ray_has(const std::string& job_id) const {
  const auto* head = mirror_.by_uid(ray_.head_with(job_id));
  return head && is_live(*head);
}

// Of a head Pod whose cluster is a RayJob's.
std::string World::job_behind(const Json& head) const {
  const auto* cluster = mirror_.find("RayCluster", label_of(head, ray::kLabelCluster));
  const auto* owner = cluster ? controller_of(*cluster) : nullptr;
  return owner ? std::string(string_at(*owner, {"name"})) : std::string();
}

std::string World::head_of_job(std::string_view job) const {
  const auto name = head(cluster_of(job));
  return name.empty() ? std::string() : uid_of(get("Pod", name));
}

void World::end_submitted(const std::string& job_id, std::string status) {
  const int exit_code = status == "SUCCEEDED" ? 0 : 1;
  if (!ray_.status_of(job_id).empty()) ray_.set(job_id, std::move(status));
  const auto found = submitters_.find(job_id);
  if (found == submitters_.end()) return;
  const auto* pod = mirror_.find("Pod", found->second);
  if (pod && is_live(*pod)) end_submitter(*pod, exit_code);
}

void World::end_submitter(const Json& pod, int exit_code) {
  if (has_submitter(pod))
    kubelet_.end_container(name_of(pod), std::string(ray::kContainerSubmitter),
                           exit_code == 0 ? "Completed" : "Error", exit_code);
  else
    kubelet_.finish(name_of(pod), exit_code);
}

std::string World::ready_head_behind(std::string_view service) const {
  const auto& selector = object_at(get("Service", service), {"spec", "selector"});
  kube::StringMap labels;
  for (const auto& [key, value] : selector)
    labels[std::string(key)] = std::string(value.as_string());
  if (labels.empty()) return {};
  for (const auto* pod : mirror_.list("Pod", labels))
    if (is_live(*pod) && condition_of(*pod, "Ready").starts_with("True")) return uid_of(*pod);
  return {};
}

std::string World::describe() const {
  std::string text = "the world:\n";
  for (const auto* object : mirror_.all()) {
    const auto kind = string_at(*object, {"kind"});
    if (kind == "Namespace" || kind == "CustomResourceDefinition" || kind == "Event") continue;
    text += fmt::format(
        "  {} {} {}{}\n", kind, name_of(*object),
        dump_json(find(*object, {"status"}) ? *find(*object, {"status"}) : Json()).substr(0, 400),
        is_deleting(*object) ? " (deleting)" : "");
  }
  constexpr std::size_t kShown = 60;
  const auto faults = injected();
  for (auto at = faults.size() - std::min(faults.size(), kShown); at < faults.size(); ++at)
    text += "  injected: " + faults[at] + "\n";
  const auto shown = std::min(writes_.size(), kShown);
  for (auto at = writes_.size() - shown; at < writes_.size(); ++at)
    text += fmt::format("  {} {}\n", format_rfc3339(writes_[at].at), writes_[at].to_string());
  return text;
}

}  // namespace manta::sim
