#include "cli/pod_words.h"

#include <fmt/format.h>

#include <vector>

namespace manta::cli {
namespace {

const Json* condition(const Json& pod, std::string_view type) {
  for (const auto& each : array_at(pod, {"status", "conditions"}))
    if (string_at(each, {"type"}) == type) return &each;
  return nullptr;
}

bool is_true(const Json* condition) {
  return condition != nullptr && string_at(*condition, {"status"}) == "True";
}

std::string join(std::string_view reason, std::string_view message) {
  if (message.empty()) return std::string(reason);
  if (reason.empty()) return std::string(message);
  return fmt::format("{}: {}", reason, message);
}

/// Waiting for something that takes its time, not in trouble.
bool is_ordinary(std::string_view reason) {
  return reason.empty() || reason == "ContainerCreating" || reason == "PodInitializing" ||
         reason == "Completed";
}

std::string ended_badly(const Json& state) {
  const auto* ended = find(state, {"terminated"});
  if (ended == nullptr || int_at(*ended, {"exitCode"}) == 0) return {};
  return fmt::format("exit code {} ({})", int_at(*ended, {"exitCode"}),
                     join(string_at(*ended, {"reason"}), string_at(*ended, {"message"})));
}

std::string container_trouble(const Json& status, std::string_view kind) {
  std::string words;
  const auto reason = string_at(status, {"state", "waiting", "reason"});
  if (!is_ordinary(reason))
    words = join(reason, string_at(status, {"state", "waiting", "message"}));
  if (words.empty() && find(status, {"state"}) != nullptr)
    words = ended_badly(*find(status, {"state"}));
  if (const auto* last = find(status, {"lastState"}); last != nullptr && !words.empty())
    if (const auto before = ended_badly(*last); !before.empty()) words += "; before: " + before;
  if (words.empty()) return {};
  return fmt::format("{} {}: {}", kind, string_at(status, {"name"}), words);
}

}  // namespace

std::string pod_state(const Json& pod) {
  if (find(pod, {"metadata", "deletionTimestamp"}) != nullptr) return "Terminating";
  const auto phase = string_at(pod, {"status", "phase"}, "Pending");
  if (phase == "Succeeded") return "Completed";
  if (phase == "Running") return is_true(condition(pod, "Ready")) ? "Ready" : "Running";
  if (phase != "Pending") return std::string(phase);
  if (!is_true(condition(pod, "PodScheduled"))) return "Pending";
  const auto& inits = array_at(pod, {"status", "initContainerStatuses"});
  std::size_t done = 0;
  bool started = false;
  for (const auto& init : inits) {
    done += int_at(init, {"state", "terminated", "exitCode"}, -1) == 0 ? 1 : 0;
    started = started || find(init, {"state", "running"}) != nullptr ||
              find(init, {"state", "terminated"}) != nullptr;
  }
  if (started && done < inits.size()) return fmt::format("Init:{}/{}", done, inits.size());
  return "ContainerCreating";
}

std::string pod_trouble(const Json& pod) {
  std::vector<std::string> words;
  const auto* scheduled = condition(pod, "PodScheduled");
  if (scheduled != nullptr && !is_true(scheduled))
    words.push_back(join(string_at(*scheduled, {"reason"}), string_at(*scheduled, {"message"})));
  if (const auto scheduler = string_at(pod, {"spec", "schedulerName"}, "default-scheduler");
      scheduled == nullptr && scheduler != "default-scheduler" &&
      string_at(pod, {"spec", "nodeName"}).empty())
    words.push_back(
        fmt::format("it waits for the scheduler \"{}\", which does not run here", scheduler));
  for (const auto& status : array_at(pod, {"status", "initContainerStatuses"}))
    words.push_back(container_trouble(status, "init container"));
  for (const auto& status : array_at(pod, {"status", "containerStatuses"}))
    words.push_back(container_trouble(status, "container"));
  if (string_at(pod, {"status", "phase"}) == "Failed")
    words.push_back(
        join(string_at(pod, {"status", "reason"}), string_at(pod, {"status", "message"})));
  std::string text;
  for (const auto& word : words)
    if (!word.empty()) text += (text.empty() ? "" : "; ") + word;
  return text;
}

std::vector<Crash> pod_crashes(const Json& pod) {
  // One that has just ended may still be writing; what is started again says so in a moment.
  const bool over = string_at(pod, {"status", "phase"}) == "Failed";
  std::vector<Crash> crashes;
  for (const auto* list : {"initContainerStatuses", "containerStatuses"})
    for (const auto& status : array_at(pod, {"status", list}))
      for (const auto* which : {"state", "lastState"}) {
        const auto* state = find(status, {which});
        if (state == nullptr || (which == std::string_view("state") && !over)) continue;
        auto why = ended_badly(*state);
        if (why.empty()) continue;
        crashes.push_back({std::string(string_at(status, {"name"})), std::move(why),
                           which == std::string_view("lastState")});
        break;
      }
  return crashes;
}

std::vector<std::string> image_hints(const Json& pod) {
  std::vector<std::string> hints;
  for (const auto* list : {"initContainerStatuses", "containerStatuses"})
    for (const auto& status : array_at(pod, {"status", list})) {
      const auto reason = string_at(status, {"state", "waiting", "reason"});
      if (reason == "ErrImagePull" || reason == "ImagePullBackOff")
        hints.emplace_back(string_at(status, {"state", "waiting", "message"}));
    }
  std::erase(hints, "");
  return hints;
}

bool container_has_log(const Json& pod, std::string_view container) {
  for (const auto* list : {"initContainerStatuses", "containerStatuses"})
    for (const auto& status : array_at(pod, {"status", list}))
      if (string_at(status, {"name"}) == container)
        return find(status, {"state", "running"}) != nullptr ||
               find(status, {"state", "terminated"}) != nullptr;
  return false;
}

}  // namespace manta::cli
