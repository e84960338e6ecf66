// A Pod's network and volumes: PodWorker's part before the first container and after the last.
#include "base/log.h"
#include "base/quantity.h"
#include "local/node/files.h"
#include "local/node/pod_worker.h"

#include <errno.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace manta::local {

namespace fs = std::filesystem;

std::string PodWorker::volume_path(std::string_view name) const {
  return fmt::format("{}/volumes/{}", node_.pod_folder(spec_->meta.uid), name);
}

Task<void> PodWorker::set_up_sandbox() {
  auto problem = co_await try_sandbox();
  sandbox_starting_ = false;
  if (problem && !stopping()) {
    sandbox_retry_ = node_.loop.now() + problem->retry;
    for (std::size_t i = 0; i < states_.size(); ++i)
      if (states_[i].phase == ContainerPhase::Waiting && !states_[i].last)
        states_[i].waiting_message =
            problem->message;  // the reason stays ContainerCreating, as kubectl users know it
    if (problem->message != std::exchange(last_problem_, problem->message))
      event(kube::EventType::Warning, problem->reason, problem->message);
  } else if (!problem) {
    last_problem_.clear();
    for (auto& state : states_) state.waiting_message.clear();
  }
  poke();
}

Task<std::optional<PodWorker::Problem>> PodWorker::try_sandbox() {
  const Spec spec = spec_;
  std::error_code error;
  fs::create_directories(node_.pod_folder(spec->meta.uid) + "/volumes", error);
  if (error)
    co_return Problem{"FailedCreatePodSandBox",
                      fmt::format("making the Pod's folder: {}", error.message())};
  if (!spec->host_network && address_ == 0) {
    if (!node_.network)
      co_return Problem{"FailedCreatePodSandBox",
                        "the node has no Pod network; hostNetwork: true is possible",
                        std::chrono::seconds{10}};
    auto ip = node_.network->addresses().take();
    if (!ip) co_return Problem{"FailedCreatePodSandBox", ip.error().message};
    address_ = *ip;
  }
  facts_.pod_ip = spec->host_network ? node_.facts.host_ip : format_ipv4(address_);
  if (auto problem = co_await prepare_volumes(spec)) co_return problem;
  if (stopping()) co_return Problem{"Killing", "the Pod is being stopped"};

  HelperSpec helper;
  helper.mode = "sandbox";
  helper.sandbox.hostname = spec->hostname;
  if (!spec->host_network) {
    helper.sandbox.bridge = node_.network->bridge();
    helper.sandbox.veth = node_.network->veth_name(address_);
    helper.sandbox.address = facts_.pod_ip;
    helper.sandbox.prefix = node_.network->net().prefix;
    helper.sandbox.gateway = format_ipv4(node_.network->gateway());
  } else {
    helper.sandbox.hostname = [] {
      char name[256] = {};
      gethostname(name, sizeof name - 1);
      return std::string(name);
    }();
  }
  for (const auto& volume : array_at(*spec->document, {"spec", "volumes"})) {
    if (volume_kind(volume).value_or(VolumeKind::Folder) != VolumeKind::Memory) continue;
    MountSpec mount{.source = "tmpfs", .target = volume_path(string_at(volume, {"name"}))};
    if (const auto limit = Quantity::parse(string_at(volume, {"emptyDir", "sizeLimit"})))
      mount.tmpfs_bytes = limit->value();
    helper.sandbox.tmpfs.push_back(std::move(mount));
  }
  auto started = node_.helpers.spawn(std::move(helper));
  if (!started) co_return Problem{"FailedCreatePodSandBox", started.error().message};
  auto news = co_await (*started)->news().next();
  if (!news || !news->ready) {
    while (co_await (*started)->news().next()) {
    }
    co_return Problem{"FailedCreatePodSandBox",
                      fmt::format("Failed to create pod sandbox: {}",
                                  news ? news->error : "its helper ended without a word")};
  }
  sandbox_ = *started;
  facts_.sandbox_ready = true;
  facts_.initialized = false;
  // A new sandbox runs the init containers again.
  for (std::size_t i = 0; i < states_.size(); ++i)
    if (auto& state = states_[i]; spec->containers[i].kind == ContainerKind::Init &&
                                  state.phase == ContainerPhase::Terminated) {
      state.last = std::exchange(state.ending, std::nullopt);
      state.phase = ContainerPhase::Waiting;
    }
  refresh_hosts();
  write_resolver_file();
  scope_.spawn("volumes", refresh_volumes());
  co_return std::nullopt;
}

Task<std::optional<PodWorker::Problem>> PodWorker::prepare_volumes(Spec spec) {
  // fsGroup opens folders to a group; without it everybody may write, as the kubelet has it for
  // emptyDir.
  const auto group = int_at(*spec->document, {"spec", "securityContext", "fsGroup"}, -1);
  for (const auto& volume : array_at(*spec->document, {"spec", "volumes"})) {
    const std::string name(string_at(volume, {"name"}));
    auto kind = volume_kind(volume);
    if (!kind) co_return Problem{"FailedMount", kind.error().message, std::chrono::seconds{30}};
    std::string path = volume_path(name);
    if (*kind == VolumeKind::Host) {
      if (auto ready = prepare_host_path(volume); !ready)
        co_return Problem{"FailedMount",
                          fmt::format("MountVolume.SetUp failed for volume \"{}\" : {}", name,
                                      ready.error().message)};
      path = string_at(volume, {"hostPath", "path"});
    } else if (*kind == VolumeKind::Claim) {
      const std::string claim(string_at(volume, {"persistentVolumeClaim", "claimName"}));
      auto found =
          co_await node_.api.get(kube::kPersistentVolumeClaims, {spec->meta.key.namespace_, claim});
      if (!found)
        co_return Problem{"FailedMount",
                          found.error().code == ErrorCode::NotFound
                              ? fmt::format("persistentvolumeclaim \"{}\" not found", claim)
                              : found.error().message};
      path = fmt::format("{}/claims/{}/{}", node_.options.state_folder, spec->meta.key.namespace_,
                         claim);
    }
    volume_paths_[name] = path;
    if (*kind == VolumeKind::Host) continue;
    std::error_code error;
    fs::create_directories(path, error);
    if (error)
      co_return Problem{"FailedMount", fmt::format("making {}: {}", path, error.message())};
    if (*kind == VolumeKind::Files) continue;
    if (group >= 0 && !node_.options.rootless)
      (void)!chown(path.c_str(), static_cast<uid_t>(-1), static_cast<gid_t>(group));
    chmod(path.c_str(), group >= 0 ? 02777 : 0777);
  }
  co_return co_await write_files_volumes(spec);
}

Task<Result<void>> PodWorker::fetch_objects(PodObjects& objects) {
  const auto ns = spec_->meta.key.namespace_;
  for (const bool secrets : {false, true})
    for (auto& [name, object] : secrets ? objects.secrets : objects.config_maps) {
      auto found = co_await node_.api.get(secrets ? kube::kSecrets : kube::kConfigMaps, {ns, name});
      if (found)
        object = std::move(*found);
      else if (found.error().code == ErrorCode::NotFound)
        object.reset();
      else
        co_return failed(found.error().in(
            fmt::format("reading {} \"{}\"", secrets ? "secret" : "configmap", name)));
    }
  co_return Result<void>{};
}

Task<Result<void>> PodWorker::fetch_tokens(Spec spec) {
  const auto now = node_.loop.now();
  if (tokens_fresh_until_ && now < *tokens_fresh_until_) co_return Result<void>{};
  std::optional<Time> fresh;
  for (const auto& need : needed_tokens(*spec)) {
    JsonObject token_spec{{"expirationSeconds", need.expiration_seconds},
                          {"boundObjectRef", JsonObject{{"kind", "Pod"},
                                                        {"apiVersion", "v1"},
                                                        {"name", spec->meta.key.name},
                                                        {"uid", spec->meta.uid}}}};
    if (!need.audience.empty()) token_spec["audiences"] = JsonArray{Json(need.audience)};
    kube::Request request;
    request.verb = kube::Verb::Create;
    request.resource = kube::kServiceAccounts;
    request.namespace_ = spec->meta.key.namespace_;
    request.name = spec->service_account;
    request.subresource = "token";
    request.body = JsonObject{{"apiVersion", "authentication.k8s.io/v1"},
                              {"kind", "TokenRequest"},
                              {"spec", std::move(token_spec)}};
    auto answer = co_await node_.api.call(std::move(request));
    if (!answer)
      co_return failed(answer.error().in(
          fmt::format("failed to fetch token for service account \"{}\"", spec->service_account)));
    tokens_[need.key()] = string_at(answer->body, {"status", "token"});
    // Renewed at four fifths of its life.
    const auto until = now + std::chrono::seconds{need.expiration_seconds * 4 / 5};
    if (!fresh || until < *fresh) fresh = until;
  }
  tokens_fresh_until_ = fresh;
  co_return Result<void>{};
}

Task<std::optional<PodWorker::Problem>> PodWorker::write_files_volumes(Spec spec) {
  PodObjects objects;
  collect_volume_objects(*spec, objects);
  if (auto fetched = co_await fetch_objects(objects); !fetched)
    co_return Problem{"FailedMount", fetched.error().message};
  if (auto fetched = co_await fetch_tokens(spec); !fetched)
    co_return Problem{"FailedMount", fetched.error().message};
  const auto group = int_at(*spec->document, {"spec", "securityContext", "fsGroup"}, -1);
  const VolumeContext context{objects, node_.facts, facts_.pod_ip, tokens_};
  for (const auto& volume : array_at(*spec->document, {"spec", "volumes"})) {
    if (volume_kind(volume).value_or(VolumeKind::Folder) != VolumeKind::Files) continue;
    const auto name = string_at(volume, {"name"});
    auto files = build_volume_files(*spec, volume, context);
    Result<bool> wrote =
        files ? write_volume_files(volume_path(name), *files, node_.options.rootless ? -1 : group)
              : Result<bool>(failed(files.error()));
    if (!wrote)
      co_return Problem{"FailedMount",
                        fmt::format("MountVolume.SetUp failed for volume \"{}\" : {}", name,
                                    wrote.error().message)};
  }
  co_return std::nullopt;
}

/// ConfigMaps, Secrets, labels and tokens change while the Pod runs; so do its files.
Task<void> PodWorker::refresh_volumes() {
  PodObjects needed;
  collect_volume_objects(*spec_, needed);
  bool downward = false;
  for (const auto& volume : array_at(*spec_->document, {"spec", "volumes"}))
    downward = downward || volume_kind(volume).value_or(VolumeKind::Folder) == VolumeKind::Files;
  if (!downward) co_return;
  while (co_await sleep(node_.loop, node_.options.volume_refresh, volumes_stop_.get_token()))
    if (auto problem = co_await write_files_volumes(spec_))
      log::debug("a Pod's volumes were not refreshed",
                 {{"pod", spec_->meta.key.to_string()}, {"why", problem->message}});
}

std::vector<std::string> PodWorker::own_names() const {
  std::vector<std::string> names;
  if (!spec_->subdomain.empty())
    names.push_back(fmt::format("{}.{}.{}.svc.{}", spec_->hostname, spec_->subdomain,
                                spec_->meta.key.namespace_, node_.options.cluster_domain));
  names.push_back(spec_->hostname);
  return names;
}

std::string PodWorker::resolver_file() const {
  return node_.pod_folder(spec_->meta.uid) + "/resolv.conf";
}

/// The node's name server, if there is one. Else names that the hosts file lacks are asked of the
/// Pod's own loopback, where nobody listens, and fail at once. The host's name servers cannot be
/// reached from a Pod then, and resolvers that ask them
/// for what no hosts file can say (c-ares: SRV, TXT, AAAA) would hang for their timeouts; `ray
/// health-check` does. (The bridge's address would do less well: the kernel limits how often it
/// says "unreachable" to others.)
void PodWorker::write_resolver_file() const {
  const Json& pod = *spec_->document;
  std::string text;
  if (spec_->host_network || !node_.network) {
    text = read_file("/etc/resolv.conf").value_or("");
  } else if (string_at(pod, {"spec", "dnsPolicy"}) != "None" && !node_.name_server.empty()) {
    text = fmt::format(
        "search {0}.svc.{1} svc.{1} {1}\nnameserver {2}\noptions timeout:3 attempts:2\n",
        spec_->meta.key.namespace_, node_.options.cluster_domain, node_.name_server);
  } else if (string_at(pod, {"spec", "dnsPolicy"}) != "None") {
    text = "nameserver 127.0.0.1\noptions timeout:1 attempts:1\n";
  }
  for (const auto& server : array_at(pod, {"spec", "dnsConfig", "nameservers"}))
    if (server.is_string())
      text += fmt::format("nameserver {}\n", std::string_view(server.as_string()));
  std::ofstream(resolver_file()) << text;
}

/// In place, because containers have the file itself mounted.
void PodWorker::refresh_hosts() {
  if (!facts_.sandbox_ready || torn_down_) return;
  static const Json kNone = nullptr;
  const Json* aliases = find(*spec_->document, {"spec", "hostAliases"});
  const auto text =
      build_pod_hosts(facts_.pod_ip, own_names(), aliases != nullptr ? *aliases : kNone,
                      node_.hosts(spec_->meta.key.namespace_));
  const auto path = node_.pod_folder(spec_->meta.uid) + "/etc-hosts";
  if (read_file(path) == text) return;
  const Fd file(open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
  const bool wrote =
      file &&
      pwrite(file.get(), text.data(), text.size(), 0) == static_cast<ssize_t>(text.size()) &&
      ftruncate(file.get(), static_cast<off_t>(text.size())) == 0;
  if (!wrote)
    log::warn("cannot write a Pod's hosts file", {{"file", path}, {"error", strerror(errno)}});
}

Task<void> PodWorker::tear_down_sandbox() {
  volumes_stop_.request_stop();
  if (sandbox_ != nullptr) {
    sandbox_->signal(SIGKILL);
    while (co_await sandbox_->news().next()) {
    }
    sandbox_.reset();
  }
  facts_.sandbox_ready = false;
  if (address_ != 0 && node_.network)
    node_.network->addresses().give_back(std::exchange(address_, 0));
  node_.cgroups.remove_pod(spec_->meta.uid);
  co_await remove_paths(node_.helpers, {node_.pod_folder(spec_->meta.uid) + "/containers"});
}

}  // namespace manta::local
