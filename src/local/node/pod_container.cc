// Containers from preparation to end: PodWorker's middle part.
#include "base/log.h"
#include "base/text.h"
#include "local/node/pod_worker.h"
#include "local/node/prober.h"

#include <fmt/format.h>
#include <signal.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

namespace manta::local {

namespace fs = std::filesystem;

static std::string new_container_id(Random& random) {
  std::string id;
  for (int i = 0; i < 4; ++i) id += fmt::format("{:016x}", random.next());
  return id;
}

void PodWorker::wait_with(std::size_t index, const Problem& problem) {
  auto& state = states_[index];
  state.phase = ContainerPhase::Waiting;
  state.waiting_reason = problem.reason;
  state.waiting_message = problem.message;
  state.retry_at = node_.loop.now() + problem.retry;
}

/// One instance: prepare, start, watch to its end. Whatever happens, the state says so and the loop
/// is poked.
Task<void> PodWorker::run_container(std::size_t index) {
  const Spec spec = spec_;
  const auto& c = spec->containers[index];
  auto& state = states_[index];
  auto instance = std::make_shared<ContainerInstance>();
  HelperSpec helper;
  auto problem = co_await prepare(spec, index, instance, helper);
  if (problem) {
    const bool news =
        problem->reason != state.waiting_reason || problem->message != state.waiting_message;
    if (state.ending) state.last = std::exchange(state.ending, std::nullopt);
    wait_with(index, *problem);
    state.stopping = false;
    if (news) {
      if (problem->reason == "ErrImagePull" || problem->reason == "ErrImageNeverPull")
        event(kube::EventType::Warning, "Failed",
              fmt::format("Failed to pull image \"{}\": {}", c.image, problem->message));
      event(kube::EventType::Warning, "Failed",
            fmt::format("Error: {}", problem->reason == "CreateContainerConfigError"
                                         ? problem->message
                                         : problem->reason));
    }
    co_return poke();
  }
  if (state.stopping) {  // the Pod was stopped while we prepared
    state.phase = ContainerPhase::Waiting;
    state.stopping = false;
    node_.cgroups.remove(instance->cgroup);
    co_return poke();
  }
  if (state.ending) state.last = std::exchange(state.ending, std::nullopt);
  if (state.last) {
    state.back_off.count(state.last->finished, node_.loop.now());
    ++state.restart_count;
  }
  instances_[index] = instance;
  co_await watch(spec, index, instance);
}

/// What the image knows a container with this command to need; null: nothing.
static const ImageRoot::MemoryNeed* memory_need(const ImageRoot& image,
                                                const std::vector<std::string>& command) {
  for (const auto& need : image.needs)
    if (std::ranges::any_of(command, [&](const auto& word) { return word.contains(need.words); }))
      return &need;
  return nullptr;
}

/// Everything that can fail before there is a process.
Task<std::optional<PodWorker::Problem>> PodWorker::prepare(
    Spec spec, std::size_t index, std::shared_ptr<ContainerInstance> instance, HelperSpec& helper) {
  const auto& c = spec->containers[index];
  auto& state = states_[index];
  const Problem config{"CreateContainerConfigError", {}, std::chrono::seconds{3}};
  auto config_error = [&](const Error& error) {
    auto problem = config;
    problem.message = error.message;
    return problem;
  };

  auto image = node_.images.resolve(c.image);
  if (!image) {
    const bool seen =
        state.waiting_reason == "ErrImagePull" || state.waiting_reason == "ImagePullBackOff";
    const auto reason = c.pull_policy == "Never" ? "ErrImageNeverPull"
                        : seen                   ? "ImagePullBackOff"
                                                 : "ErrImagePull";
    co_return Problem{reason, image.error().message};
  }
  event(kube::EventType::Normal, "Pulled",
        fmt::format("Container image \"{}\" already present on machine", c.image));
  state.image_id = image->id.empty() ? c.image : image->id;

  PodObjects objects;
  collect_env_objects(*spec, objects);
  if (auto fetched = co_await fetch_objects(objects); !fetched)
    co_return config_error(fetched.error());

  const int run = state.restart_count + (state.last || state.ending ? 1 : 0);
  instance->folder =
      fmt::format("{}/containers/{}/{}", node_.pod_folder(spec->meta.uid), c.name, run);
  auto root = build_container_root(
      {*image, *spec, c, instance->folder, node_.helpers.executable, node_.options.rootless});
  if (!root) co_return config_error(root.error());
  const EnvContext context{objects, node_.facts, facts_.pod_ip,
                           node_.services(spec->meta.key.namespace_), root->env};
  auto env = build_env(*spec, c, context);
  if (!env) co_return config_error(env.error());
  auto mounts = build_mounts(c, volume_paths_, *env);
  if (!mounts) co_return config_error(mounts.error());

  std::error_code error;
  fs::create_directories(instance->folder, error);
  instance->message_file = instance->folder + "/termination-log";
  std::ofstream(instance->message_file).flush();
  fs::permissions(instance->message_file, fs::perms{0666}, error);

  helper.mode = "container";
  helper.sandbox_pid = sandbox_ != nullptr ? sandbox_->pid() : 0;
  helper.root = root->root;
  helper.host_pid = spec->host_pid;
  helper.mounts = root->mounts;
  helper.mounts.push_back(
      {.source = node_.pod_folder(spec->meta.uid) + "/etc-hosts", .target = "/etc/hosts"});
  helper.mounts.push_back({.source = instance->message_file, .target = c.termination_path});
  helper.mounts.push_back({.source = resolver_file(), .target = "/etc/resolv.conf"});
  if (image->kind == ImageRoot::Kind::Venv && !node_.options.pip_config.empty())
    helper.mounts.push_back(
        {.source = node_.options.pip_config, .target = "/etc/pip.conf", .read_only = true});
  helper.root.files.push_back({"/etc/hostname", spec->hostname + "\n"});
  helper.mounts.insert(helper.mounts.end(), mounts->begin(), mounts->end());
  for (auto& again : restore_hidden(helper.root, *mounts))
    helper.mounts.push_back(std::move(again));

  auto& process = helper.process;
  process.argv = build_argv(c, image->entrypoint, image->command, *env);
  for (const auto& [name, value] : *env) process.env.push_back(name + "=" + value);
  process.cwd = root->cwd;
  process.credentials = root->credentials;
  process.oom_score_adj = oom_score_adj(*spec, c, node_.facts.memory);

  if (node_.cgroups.available()) {
    auto resources = c.resources;
    const auto* need = memory_need(*image, process.argv);
    if (need != nullptr && resources.memory_limit && *resources.memory_limit < need->bytes) {
      event(
          kube::EventType::Warning, "MemoryLimitRaised",
          fmt::format("Container {} may have {} MiB of memory, and `{}` needs {} MiB to start: "
                      "that is its limit now",
                      c.name, *resources.memory_limit >> 20, trim(need->words), need->bytes >> 20));
      resources.memory_limit = need->bytes;
    }
    auto cgroup = node_.cgroups.create(spec->meta.uid, fmt::format("{}-{}", c.name, run), resources,
                                       node_.options.advise_memory_limits);
    if (!cgroup) co_return Problem{"CreateContainerError", cgroup.error().message};
    instance->cgroup = std::move(*cgroup);
    helper.cgroup_procs = instance->cgroup.procs_files();
    helper.root.cgroups = node_.cgroups.views(instance->cgroup);
    instance->oom = OomWatch::start(node_.loop, instance->cgroup);
  }
  auto log = ContainerLog::open(
      node_.loop,
      fmt::format("{}/logs/{}_{}_{}/{}/{}.log", node_.options.state_folder,
                  spec->meta.key.namespace_, spec->meta.key.name, spec->meta.uid, c.name, run),
      node_.options.logs);
  if (!log) co_return Problem{"CreateContainerError", log.error().message};
  instance->log = *log;
  for (const auto& notice : root->notices) {
    instance->log->note(notice);
    event(kube::EventType::Warning, "ImageNotice", notice);
  }

  auto out = make_pipe();
  auto err = make_pipe();
  if (!out || !err) co_return Problem{"CreateContainerError", "no more pipes can be opened"};
  HelperStreams streams;
  streams.out = std::move(out->write);
  streams.err = std::move(err->write);
  instance->entry.process = process;
  instance->entry.cgroup_procs = helper.cgroup_procs;
  if (state.stopping) co_return std::nullopt;
  auto started = node_.helpers.spawn(helper, std::move(streams));
  if (!started) co_return Problem{"CreateContainerError", started.error().message};
  instance->helper = *started;
  instance->log->take("stdout", std::move(out->read));
  instance->log->take("stderr", std::move(err->read));
  co_return std::nullopt;
}

/// From the helper's first word to its last.
Task<void> PodWorker::watch(Spec spec, std::size_t index,
                            std::shared_ptr<ContainerInstance> instance) {
  auto& state = states_[index];
  state.container_id = "manta://" + new_container_id(node_.random);
  event(kube::EventType::Normal, "Created",
        fmt::format("Created container: {}", spec->containers[index].name));
  HelperNews end = {.ended = true, .exit_code = 137, .signal = SIGKILL};
  bool started = false;
  while (auto news = co_await instance->helper->news().next()) {
    if (news->pid != 0) instance->entry.init_pid = news->pid;
    if (!news->notice.empty()) instance->log->note(news->notice);
    if (!news->error.empty() && !started) end = *news;
    if (news->ended) end = *news;
    if (!news->started) continue;
    started = true;
    began(*spec, index, *instance);
    scope_.spawn("postStart", run_post_start(spec, index, instance));
  }
  instance->live = false;
  instance->oom.reset();
  instance->probes.request_stop();
  // What a runaway child may still write is not waited for.
  const auto patience =
      node_.loop.after(std::chrono::milliseconds{500}, [log = instance->log] { log->finish(); });
  co_await instance->log->drained();
  node_.loop.cancel(patience);
  instance->log->finish();
  ended_with(*spec, index, *instance, end);
  node_.cgroups.remove(instance->cgroup);
  poke();
  co_await remove_paths(node_.helpers, {instance->folder});
}

void PodWorker::began(const PodSpec& spec, std::size_t index, ContainerInstance& instance) {
  auto& state = states_[index];
  state.phase = ContainerPhase::Running;
  state.started_at = node_.loop.now();
  state.waiting_reason.clear();
  state.waiting_message.clear();
  state.retry_at.reset();
  state.started = false;
  state.ready = !spec.containers[index].readiness;
  event(kube::EventType::Normal, "Started",
        fmt::format("Started container {}", spec.containers[index].name));
  poke();
}

void PodWorker::ended_with(const PodSpec& spec, std::size_t index, ContainerInstance& instance,
                           const HelperNews& end) {
  const auto& c = spec.containers[index];
  auto& state = states_[index];
  const auto now = node_.loop.now();
  Ending ending;
  ending.exit_code = end.exit_code;
  ending.signal = end.signal;
  ending.started = state.phase == ContainerPhase::Running ? state.started_at : now;
  ending.finished = now;
  ending.container_id = state.container_id;
  if (!end.ended) {
    // As containerd reports a container that could not be started.
    ending.exit_code = 128;
    ending.reason = "StartError";
    ending.message = fmt::format("failed to start container \"{}\": {}", c.name, end.error);
    event(kube::EventType::Warning, "Failed", fmt::format("Error: {}", ending.message));
  } else if (ending.exit_code != 0 && Cgroups::oom_kills(instance.cgroup) > 0) {
    ending.reason = "OOMKilled";
  } else {
    ending.reason = ending.exit_code == 0 ? "Completed" : "Error";
  }
  if (end.ended) ending.message = termination_message(c, instance, ending.exit_code);
  state.ending = std::move(ending);
  state.phase = ContainerPhase::Terminated;
  state.waiting_reason.clear();
  state.waiting_message.clear();
  state.stopping = false;
  state.started = false;
  state.ready = false;
}

std::string PodWorker::termination_message(const ContainerSpec& spec,
                                           const ContainerInstance& instance, int exit_code) const {
  std::ifstream in(instance.message_file, std::ios::binary);
  std::string text(4096, '\0');
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(std::max<std::streamsize>(0, in.gcount())));
  if (text.empty() && spec.message_from_logs && exit_code != 0)
    text = log_tail(instance.log->path(), 80, 2048);
  return text;
}

/// preStop, SIGTERM, and SIGKILL once the grace is over.
Task<void> PodWorker::stop_container(std::size_t index, std::string why,
                                     std::optional<Duration> grace) {
  const Spec spec = spec_;
  const auto& c = spec->containers[index];
  const auto instance = instances_[index];
  if (states_[index].phase != ContainerPhase::Running || instance == nullptr) {
    // Still being prepared: run_container() sees `stopping`; a helper that just starts is ended.
    if (instance != nullptr && instance->live && instance->helper != nullptr)
      instance->helper->signal(helper_kill_signal());
    co_return;
  }
  event(kube::EventType::Normal, "Killing", std::move(why));
  instance->probes.request_stop();
  const auto begin = node_.loop.now();
  const auto allowed = grace ? *grace : stop_grace();
  auto time_left = [&] {  // a later, stricter deletion counts as well
    const auto by = kill_by_ ? std::min(begin + allowed, *kill_by_) : begin + allowed;
    return by - node_.loop.now();
  };
  Duration least = {};
  if (c.pre_stop.kind != Handler::Kind::None && allowed > Duration{0}) {
    auto done = co_await run_handler(node_.helpers, instance->entry, facts_.pod_ip, c.pre_stop,
                                     time_left());
    if (!done.ok && instance->live)
      event(kube::EventType::Warning, "FailedPreStopHook",
            fmt::format("PreStopHook failed: {}", done.message));
    least = std::chrono::seconds{2};  // the kubelet's minimum after a hook that used up the grace
  }
  const auto term = node_.loop.now();
  if (allowed > Duration{0}) instance->helper->signal(SIGTERM);
  while (instance->live) {
    const auto left = std::max(time_left(), least - (node_.loop.now() - term));
    if (left <= Duration{0}) break;
    co_await sleep(node_.loop, std::min<Duration>(left, std::chrono::milliseconds{50}));
  }
  if (instance->live) instance->helper->signal(helper_kill_signal());
}

}  // namespace manta::local
