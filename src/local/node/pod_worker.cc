#include "local/node/pod_worker.h"

#include "base/log.h"

#include <fmt/format.h>

#include <algorithm>

namespace manta::local {

PodWorker::PodWorker(NodeContext& node, std::shared_ptr<const PodSpec> spec)
    : node_(node), spec_(std::move(spec)), scope_(node.loop), wake_(node.loop) {
  const auto now = node.loop.now();
  const Json* status = find(*spec_->document, {"status"});
  const Json empty = JsonObject{};
  states_ = adopt_states(*spec_, status != nullptr ? *status : empty, now);
  instances_.resize(states_.size());
  facts_.host_ip = node.facts.host_ip;
  facts_.started = now;
  if (status == nullptr) return;
  if (auto started = parse_rfc3339(string_at(*status, {"startTime"}))) facts_.started = *started;
  const auto phase = string_at(*status, {"phase"});
  if (phase == "Failed" || phase == "Succeeded") {
    facts_.pod_ip = string_at(*status, {"podIP"});
    facts_.initialized = true;
    if (phase == "Failed") facts_.reason = string_at(*status, {"reason"});
    if (phase == "Failed") facts_.message = string_at(*status, {"message"});
    facts_.finished = true;
    torn_down_ = true;  // it ended in an earlier life: only its deletion is left to do
  }
}

void PodWorker::poke() {
  if (wake_.size() == 0) wake_.push(true);
}

void PodWorker::update(std::shared_ptr<const PodSpec> spec) {
  const bool first_deletion = spec->meta.deleting && !spec_->meta.deleting;
  spec_ = std::move(spec);
  if (spec_->meta.deleting) {
    const auto seconds =
        int_at(*spec_->document, {"metadata", "deletionGracePeriodSeconds"}, spec_->grace_seconds);
    const auto by = node_.loop.now() + std::chrono::seconds{seconds};
    // A second DELETE may shorten the grace, never lengthen it.
    if (first_deletion || !kill_by_ || by < *kill_by_) kill_by_ = by;
  }
  poke();
}

void PodWorker::gone() {
  gone_ = true;
  const auto by = node_.loop.now() + std::chrono::seconds{1};
  if (!kill_by_ || by < *kill_by_) kill_by_ = by;
  poke();
}

Duration PodWorker::stop_grace() const {
  if (kill_by_) return std::max<Duration>(*kill_by_ - node_.loop.now(), Duration{0});
  return std::chrono::seconds{spec_->grace_seconds};
}

void PodWorker::event(kube::EventType type, std::string_view reason, std::string note) {
  node_.events.record("kubelet",
                      {.resource = kube::kPods,
                       .key = spec_->meta.key,
                       .uid = spec_->meta.uid,
                       .resource_version = std::to_string(spec_->meta.resource_version)},
                      {.type = type,
                       .reason = std::string(reason),
                       .action = std::string(reason),
                       .note = std::move(note)});
}

void PodWorker::check_deadline(Time now) {
  if (!spec_->active_deadline_seconds || torn_down_ || !facts_.reason.empty()) return;
  deadline_ = facts_.started + std::chrono::seconds{*spec_->active_deadline_seconds};
  if (now < *deadline_) return;
  facts_.reason = "DeadlineExceeded";
  facts_.message = "Pod was active on the node longer than the specified deadline";
  event(kube::EventType::Normal, "DeadlineExceeded", facts_.message);
}

/// Looks once at everything and starts what is to be done; never waits.
void PodWorker::step(Time now) {
  check_deadline(now);
  if (torn_down_) return;
  const auto decision = decide_pod({*spec_, states_, facts_.initialized, stopping()}, now);
  facts_.initialized = decision.initialized;
  for (auto index : decision.backing_off) {
    auto& state = states_[index];
    if (state.phase == ContainerPhase::Terminated) {
      state.last = std::exchange(state.ending, std::nullopt);
      state.phase = ContainerPhase::Waiting;
      state.container_id.clear();
      const auto& c = spec_->containers[index];
      wait_with(index,
                {"CrashLoopBackOff",
                 fmt::format("back-off {} restarting failed container={} pod={}_{}({})",
                             format_go_duration(state.back_off.delay), c.name, spec_->meta.key.name,
                             spec_->meta.key.namespace_, spec_->meta.uid)});
      state.retry_at.reset();
      event(kube::EventType::Warning, "BackOff",
            fmt::format("Back-off restarting failed container {} in pod {}_{}({})", c.name,
                        spec_->meta.key.name, spec_->meta.key.namespace_, spec_->meta.uid));
    }
  }
  if (!decision.start.empty() && !facts_.sandbox_ready) {
    if (!sandbox_starting_ && (!sandbox_retry_ || *sandbox_retry_ <= now)) {
      sandbox_starting_ = true;
      sandbox_retry_.reset();
      scope_.spawn("sandbox", set_up_sandbox());
    }
  } else {
    for (auto index : decision.start) {
      states_[index].phase = ContainerPhase::Starting;
      scope_.spawn("container", run_container(index));
    }
  }
  for (auto index : decision.stop) {
    states_[index].stopping = true;
    scope_.spawn(
        "stop",
        stop_container(index, fmt::format("Stopping container {}", spec_->containers[index].name),
                       {}));
  }
  facts_.finished = decision.finished && !sandbox_starting_;
  if (!decision.look_again) return;
  if (!deadline_ || *decision.look_again < *deadline_) deadline_ = decision.look_again;
}

Task<void> PodWorker::run(std::stop_token stop) {
  std::stop_callback on_stop(stop, [this] {
    node_stops_ = true;
    const auto by =
        node_.loop.now() +
        std::min<Duration>(std::chrono::seconds{spec_->grace_seconds}, node_.options.stop_grace);
    if (!kill_by_ || by < *kill_by_) kill_by_ = by;
    poke();
  });
  for (bool done = false; !done;) {
    deadline_.reset();
    step(node_.loop.now());
    publish();
    if (facts_.finished && !torn_down_) {
      torn_down_ = true;
      co_await tear_down_sandbox();
      publish();
    }
    if (torn_down_ && (gone_ || node_stops_)) break;
    if (torn_down_ && spec_->meta.deleting) {
      co_await end_in_api();
      break;
    }
    auto wake_at = deadline_;
    if (sandbox_retry_ && !facts_.sandbox_ready && (!wake_at || *sandbox_retry_ < *wake_at))
      wake_at = sandbox_retry_;
    Loop::TimerId timer = 0;
    if (wake_at && !torn_down_)
      timer = node_.loop.after(*wake_at - node_.loop.now(), [this] { poke(); });
    done = !co_await wake_.next();
    node_.loop.cancel(timer);
  }
  scope_.request_stop();
  volumes_stop_.request_stop();
  co_await scope_.join();
  if (!node_stops_ || gone_) {
    const auto logs =
        fmt::format("{}/logs/{}_{}_{}", node_.options.state_folder, spec_->meta.key.namespace_,
                    spec_->meta.key.name, spec_->meta.uid);
    co_await remove_paths(node_.helpers, {node_.pod_folder(spec_->meta.uid), logs});
  }
  ended_ = true;
}

void PodWorker::publish() {
  if (gone_ || node_stops_) return;
  dirty_ = true;
  if (publishing_) return;
  publishing_ = true;
  scope_.spawn("status", publish_loop());
}

Task<void> PodWorker::publish_loop() {
  Duration pause = std::chrono::milliseconds{100};
  while (dirty_ && !gone_ && !node_stops_) {
    dirty_ = false;
    static const Json kNone = JsonObject{};
    const Json* previous = find(*spec_->document, {"status"});
    auto status = build_pod_status(*spec_, states_, facts_, previous != nullptr ? *previous : kNone,
                                   node_.loop.now());
    // Transition times are filled in anew for conditions that the API has not shown us yet, so they
    // take no part in the question whether something changed.
    auto compared = status;
    for (auto& condition : compared.as_object()["conditions"].as_array())
      condition.as_object().erase("lastTransitionTime");
    const auto text = canonical_json(compared);
    if (text == published_) continue;
    auto patched = co_await patch_status(std::move(status));
    if (patched) {
      published_ = text;
      pause = std::chrono::milliseconds{100};
      continue;
    }
    if (patched.error().code == ErrorCode::NotFound ||
        patched.error().code == ErrorCode::Conflict) {
      break;  // another Pod of that name, or none: the watch will tell
    }
    log::warn("cannot write a Pod's status",
              {{"pod", spec_->meta.key.to_string()}, {"error", patched.error().message}});
    dirty_ = true;
    if (!co_await sleep(node_.loop, pause, scope_.stop_token())) break;
    pause = std::min<Duration>(pause * 2, std::chrono::seconds{10});
  }
  publishing_ = false;
}

/// A merge patch: lists are replaced whole, so nothing of an older status (an address, a reason)
/// stays.
Task<Result<void>> PodWorker::patch_status(Json status) {
  Json patch =
      JsonObject{{"metadata", JsonObject{{"uid", spec_->meta.uid}}}, {"status", std::move(status)}};
  auto answer = co_await node_.api.patch(kube::kPods, spec_->meta.key, kube::PatchType::Merge,
                                         std::move(patch), "status");
  if (!answer) co_return failed(answer.error());
  co_return Result<void>{};
}

/// The last status, then the DELETE that makes the Pod vanish.
Task<void> PodWorker::end_in_api() {
  Duration pause = std::chrono::milliseconds{100};
  while (publishing_ && !gone_ && !node_stops_) {
    publish();
    if (!co_await sleep(node_.loop, std::chrono::milliseconds{10}, scope_.stop_token())) co_return;
  }
  while (!gone_ && !node_stops_) {
    kube::Request request;
    request.verb = kube::Verb::Delete;
    request.resource = kube::kPods;
    request.namespace_ = spec_->meta.key.namespace_;
    request.name = spec_->meta.key.name;
    request.precondition_uid = spec_->meta.uid;
    request.grace_period_seconds = 0;
    auto answer = co_await node_.api.call(std::move(request));
    if (answer || answer.error().code == ErrorCode::NotFound ||
        answer.error().code == ErrorCode::Conflict)
      co_return;
    log::warn("cannot delete an ended Pod",
              {{"pod", spec_->meta.key.to_string()}, {"error", answer.error().message}});
    co_await sleep(node_.loop, pause);
    pause = std::min<Duration>(pause * 2, std::chrono::seconds{10});
  }
}

Result<ContainerEntry> PodWorker::entry(const std::string& container) const {
  for (std::size_t i = 0; i < states_.size(); ++i)
    if (spec_->containers[i].name == container) {
      if (states_[i].phase == ContainerPhase::Running && instances_[i] != nullptr)
        return instances_[i]->entry;
      return failed(ErrorCode::BadRequest, fmt::format("container {} of Pod {} is not running",
                                                       container, spec_->meta.key.to_string()));
    }
  return failed(ErrorCode::NotFound,
                fmt::format("Pod {} has no container {}", spec_->meta.key.to_string(), container));
}

Result<PodWorker::LogPlace> PodWorker::log_place(const std::string& container,
                                                 bool previous) const {
  for (std::size_t i = 0; i < states_.size(); ++i) {
    if (spec_->containers[i].name != container) continue;
    const auto& state = states_[i];
    const bool between =
        state.phase == ContainerPhase::Waiting || state.phase == ContainerPhase::Starting;
    // While it waits for its restart, the log is that of the run before.
    const int run = state.restart_count - (previous && !between ? 1 : 0);
    if (run < 0 || (previous && !state.last))
      return failed(ErrorCode::BadRequest,
                    fmt::format("previous terminated container \"{}\" in pod \"{}\" not found",
                                container, spec_->meta.key.name));
    if (between && !state.last)
      return failed(
          ErrorCode::BadRequest,
          fmt::format("container \"{}\" in pod \"{}\" is waiting to start: {}", container,
                      spec_->meta.key.name,
                      state.waiting_reason.empty() ? "ContainerCreating" : state.waiting_reason));
    LogPlace place{fmt::format("{}/logs/{}_{}_{}/{}/{}.log", node_.options.state_folder,
                               spec_->meta.key.namespace_, spec_->meta.key.name, spec_->meta.uid,
                               container, run)};
    if (!previous && instances_[i] != nullptr && instances_[i]->log != nullptr &&
        instances_[i]->log->path() == place.path)
      place.live = instances_[i]->log;
    return place;
  }
  return failed(ErrorCode::NotFound,
                fmt::format("Pod {} has no container {}", spec_->meta.key.to_string(), container));
}

Result<std::int64_t> PodWorker::sandbox_pid() const {
  if (sandbox_ == nullptr || !facts_.sandbox_ready)
    return failed(ErrorCode::Unavailable,
                  fmt::format("Pod {} is not running", spec_->meta.key.to_string()));
  return spec_->host_network ? 0 : sandbox_->pid();
}

}  // namespace manta::local
