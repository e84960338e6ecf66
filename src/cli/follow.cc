#include "cli/follow.h"

#include "base/excerpt.h"
#include "cli/job_words.h"
#include "cli/pod_words.h"
#include "kube/cache.h"

#include <fmt/format.h>

#include <filesystem>
#include <map>
#include <set>
#include <system_error>
#include <utility>
#include <vector>

namespace manta::cli {
namespace {

/// The log's end may come a moment after the job's.
constexpr Duration kLogPatience = std::chrono::seconds{5};
constexpr Duration kDiskInterval = std::chrono::seconds{2};
constexpr std::uintmax_t kLeastSpace = 256u << 10;
constexpr Duration kLogRetry = std::chrono::milliseconds{200};

constexpr std::size_t kMostCrashes = 5;
constexpr int kCrashLines = 20;
constexpr int kCrashLooks = 6;
constexpr Duration kCrashLook = std::chrono::milliseconds{500};
constexpr std::size_t kLongestLogEnd = 4096;

constexpr std::string_view kSaidAbove = "as said above";

const kube::Resource kRayJobs{"ray.io", "v1", "rayjobs", "RayJob", true};

struct RawView {
  kube::ObjectMeta meta = {};
  Json object = {};
};

Result<RawView> project_raw(const Json& object) {
  auto meta = kube::parse_meta(object);
  if (!meta) return failed(meta.error());
  return RawView{.meta = std::move(*meta), .object = object};
}

std::string replaced(std::string text, std::string_view from, std::string_view to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
    text.replace(at, from.size(), to);
  return text;
}

std::string indented(std::string_view text) {
  while (text.ends_with('\n')) text.remove_suffix(1);
  return "    | " + replaced(std::string(text), "\n", "\n    | ");
}

bool has_ended(std::string_view deployment_status) {
  return deployment_status == "Complete" || deployment_status == "Failed" ||
         deployment_status == "ValidationFailed" || deployment_status == "Suspended";
}

}  // namespace

struct Follower::Impl {
  using RawCache = kube::Cache<RawView>;

  Impl(Loop& l, Client& c, Random& r, const Console& o, std::filesystem::path h, kube::ObjectKey j)
      : loop(l),
        client(c),
        random(r),
        console(o),
        home(std::move(h)),
        job(std::move(j)),
        jobs(kRayJobs, project_raw,
             {.namespace_ = job.namespace_, .field_selector = "metadata.name=" + job.name}),
        pods(kube::kPods, project_raw, {.namespace_ = job.namespace_}),
        events(kube::kCoreEvents, project_raw, {.namespace_ = job.namespace_}),
        changed(l),
        ended(l) {}

  Loop& loop;
  Client& client;
  Random& random;
  const Console& console;
  std::filesystem::path home;
  kube::ObjectKey job;
  RawCache jobs;
  RawCache pods;
  RawCache events;
  OneShot<bool> changed;
  OneShot<JobEnd> ended;
  std::string cluster = {};
  std::string last_state = {};
  std::vector<std::string> messages_said = {};         // of the job itself
  std::map<std::string, std::string> said = {};        // by Pod uid: the last line about it
  std::map<std::string, std::string> hints_said = {};  // to the uid of the Pod that did
  std::set<std::string> events_said = {};
  std::set<std::string> logs_begun = {};     // Pod uids
  std::set<std::string> crashes_shown = {};  // <Pod uid>/<container>
  int logs_open = 0;
  bool job_seen = false;
  std::string job_uid = {};

  bool is_submitter(const RawView& pod) const { return pod.meta.label("job-name") == job.name; }
  bool is_ours(const RawView& pod) const {
    return is_submitter(pod) || (!cluster.empty() && pod.meta.label("ray.io/cluster") == cluster);
  }

  void look_at_job() {
    const auto view = jobs.get(job);
    if (view == nullptr) {
      if (job_seen) ended.set({.seen = true, .why = "the RayJob was deleted", .cluster = cluster});
      return;
    }
    job_seen = true;
    job_uid = view->meta.uid;
    const auto& object = view->object;
    cluster = string_at(object, {"status", "rayClusterName"});
    const auto deployment = string_at(object, {"status", "jobDeploymentStatus"});
    const auto status = string_at(object, {"status", "jobStatus"});
    const auto state =
        status.empty() ? std::string(deployment) : fmt::format("{} ({})", deployment, status);
    if (!state.empty() && state != last_state)
      console.say(fmt::format("rayjob/{} {}", job.name, state));
    last_state = state;
    if (!has_ended(deployment)) return look_at_message(object);
    JobEnd end{.succeeded = status == "SUCCEEDED" && deployment == "Complete",
               .seen = true,
               .cluster = cluster};
    if (!end.succeeded) {
      end.why = string_at(object, {"status", "reason"});
      if (const auto message = string_at(object, {"status", "message"}); !message.empty())
        end.why +=
            (end.why.empty() ? "" : ": ") + std::string(is_news(message) ? message : kSaidAbove);
      if (end.why.empty()) end.why = state;
    }
    ended.set(std::move(end));
  }

  /// True once for each: status and events have the same words, and the end has those of a wait.
  bool is_news(std::string_view message) {
    for (const auto& said_before : messages_said)
      if (said_before.contains(message)) return false;
    messages_said.emplace_back(message);
    return true;
  }

  void look_at_message(const Json& object) {
    if (const auto wait = job_wait(object); wait && is_news(wait->message))
      console.say(fmt::format("rayjob/{} {}: {}", job.name, wait->how,
                              excerpt(wait->message, kLongestLogEnd)));
  }

  /// A Pod's trouble; but what to do about an image is said by the first Pod that lacks it only.
  std::string new_trouble(const RawView& pod) {
    auto trouble = pod_trouble(pod.object);
    for (const auto& hint : image_hints(pod.object))
      if (hints_said.try_emplace(hint, pod.meta.uid).first->second != pod.meta.uid)
        trouble = replaced(std::move(trouble), hint, kSaidAbove);
    // It goes back and forth between the two, which is no news.
    return replaced(std::move(trouble), "ImagePullBackOff", "ErrImagePull");
  }

  std::string known_trouble(const RawView& pod) const {
    auto trouble = pod_trouble(pod.object);
    for (const auto& hint : image_hints(pod.object))
      if (hints_said.contains(hint)) trouble = replaced(std::move(trouble), hint, kSaidAbove);
    return trouble;
  }

  void look_at_pods(Scope& scope) {
    for (const auto& pod : pods.list(job.namespace_)) {
      if (!is_ours(*pod)) continue;
      auto line = pod_state(pod->object);
      if (const auto trouble = new_trouble(*pod); !trouble.empty()) line += ": " + trouble;
      if (auto& last = said[pod->meta.uid]; last != line) {
        console.say(fmt::format("pod/{} {}", pod->meta.key.name, line));
        last = std::move(line);
      }
      if (is_submitter(*pod))
        begin_log(scope, *pod);
      else if (!pod->meta.deleting)
        look_at_crashes(scope, *pod);
    }
  }

  /// Once a container, and not for ever: a cluster of a hundred workers crashes for one reason.
  void look_at_crashes(Scope& scope, const RawView& pod) {
    for (auto& crash : pod_crashes(pod.object)) {
      if (crashes_shown.size() >= kMostCrashes) return;
      if (!crashes_shown.insert(pod.meta.uid + "/" + crash.container).second) continue;
      ++logs_open;
      scope.spawn("crash log", show_crash(pod.meta.key, std::move(crash), scope.stop_token()));
    }
  }

  Task<void> show_crash(kube::ObjectKey pod, Crash crash, std::stop_token stop) {
    // Its last words may come a moment after its end: read until no more do.
    Result<std::string> log;
    for (int attempt = 0; attempt < kCrashLooks; ++attempt) {
      const auto before = std::exchange(
          log, co_await client.end_of_log(pod, crash.container, kCrashLines, crash.previous, stop));
      if (!log || (!log->empty() && before && *before == *log)) break;
      if (!co_await sleep(loop, kCrashLook, stop)) break;
    }
    const auto end = !log           ? "cannot be read: " + log.error().message
                     : log->empty() ? std::string("is empty")
                                    : "ends with\n" + indented(excerpt(*log, kLongestLogEnd));
    console.warn(fmt::format("pod/{} container {}: {}; its log {}", pod.name, crash.container,
                             crash.why, end));
    --logs_open;
    changed.set(true);
  }

  void look_at_events() {
    for (const auto& event : events.list(job.namespace_)) {
      if (string_at(event->object, {"type"}) != "Warning") continue;
      const auto name = string_at(event->object, {"involvedObject", "name"});
      const auto reason = string_at(event->object, {"reason"});
      const auto message = string_at(event->object, {"message"});
      // These the Pod itself says, and better; and every Pod is unready before it is ready.
      if (reason == "FailedScheduling" || reason == "BackOff" ||
          message.starts_with("Failed to pull image") || message == "Error: ErrImagePull" ||
          message == "Error: ImagePullBackOff" || message.starts_with("Readiness probe failed") ||
          !concerns_us(name, string_at(event->object, {"involvedObject", "uid"})))
        continue;
      const auto line = fmt::format("{}: {}", reason, message);
      if (events_said.insert(std::string(name) + line).second &&
          (name != job.name || is_news(message)))
        console.warn(fmt::format("{} {}", name, line));
    }
  }

  bool concerns_us(std::string_view name, std::string_view uid) const {
    // An earlier job of this name has left its events; they are not about this one.
    if (name == job.name) return uid == job_uid;
    if (!cluster.empty() && name == cluster) return true;
    const auto pod = pods.get({job.namespace_, std::string(name)});
    return pod != nullptr && is_ours(*pod);
  }

  void begin_log(Scope& scope, const RawView& pod) {
    const auto& containers = array_at(pod.object, {"spec", "containers"});
    if (containers.empty()) return;
    const std::string container(string_at(containers[0], {"name"}));
    if (!container_has_log(pod.object, container) || !logs_begun.insert(pod.meta.uid).second)
      return;
    ++logs_open;
    scope.spawn("driver log", show_log(pod.meta.key, container, scope.stop_token()));
  }

  Task<void> show_log(kube::ObjectKey pod, std::string container, std::stop_token stop) {
    bool begun = false;
    for (int attempt = 0; attempt < 20 && !stop.stop_requested(); ++attempt) {
      auto done = co_await client.follow_log(
          pod, container,
          [&](std::string_view piece) {
            begun = true;
            console.output(piece);
          },
          stop);
      // A log that broke off half-way is not shown twice.
      if (done || begun) break;
      if (!co_await sleep(loop, kLogRetry, stop)) break;
    }
    --logs_open;
    changed.set(true);
  }

  Task<void> watch_changes(Scope& scope, std::stop_token stop) {
    while (!stop.stop_requested()) {
      changed = OneShot<bool>(loop);
      look_at_job();
      look_at_pods(scope);
      look_at_events();
      if (!stop.stop_requested()) co_await changed;
    }
  }

  /// On a full disk nothing can be written, so nothing moves on and no object says why.
  Task<void> watch_disk(std::stop_token stop) {
    bool said_so = false;
    do {
      std::error_code error;
      const auto space = std::filesystem::space(home, error);
      const bool full = !error && space.available < kLeastSpace;
      if (full && !said_so)
        console.warn(fmt::format("the disk of {} is full: nothing moves on until there is room",
                                 home.string()));
      said_so = full;
    } while (co_await sleep(loop, kDiskInterval, stop));
  }

  Task<JobEnd> run(std::stop_token stop) {
    Scope scope(loop);
    scope.spawn("disk", watch_disk(scope.stop_token()));
    std::stop_callback forward(stop, [&] {
      ended.set({.cluster = cluster});
      changed.set(true);
    });
    for (auto* cache : {&jobs, &pods, &events}) {
      cache->listen([this](const auto*, const auto*) { changed.set(true); });
      scope.spawn("watch " + cache->resource().plural,
                  kube::reflect(loop, client.api(), *cache, random, scope.stop_token()));
    }
    scope.spawn("changes", watch_changes(scope, scope.stop_token()));
    auto end = co_await ended;
    for (Duration waited{}; end.seen && logs_open > 0 && waited < kLogPatience; waited += kLogRetry)
      if (!co_await sleep(loop, kLogRetry, stop)) break;
    end.cluster = cluster;
    scope.request_stop();
    changed.set(true);
    co_await scope.join();
    co_return end;
  }
};

Follower::Follower(Loop& loop, Client& client, Random& random, const Console& console,
                   std::filesystem::path home, kube::ObjectKey job)
    : impl_(
          std::make_unique<Impl>(loop, client, random, console, std::move(home), std::move(job))) {}
Follower::~Follower() = default;

Task<JobEnd> Follower::run(std::stop_token stop) { return impl_->run(std::move(stop)); }

std::string Follower::troubles() const {
  std::string text;
  for (const auto& pod : impl_->pods.list(impl_->job.namespace_)) {
    if (!impl_->is_ours(*pod)) continue;
    const auto state = pod_state(pod->object);
    if (state == "Ready" || state == "Completed") continue;
    const auto trouble = impl_->known_trouble(*pod);
    text += fmt::format("\n  pod/{} {}{}{}", pod->meta.key.name, state, trouble.empty() ? "" : ": ",
                        trouble);
  }
  return text;
}

}  // namespace manta::cli
