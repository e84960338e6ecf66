#include "ray/validation_pod.h"

#include <fmt/format.h>

namespace manta::ray {

const JsonArray& containers_of(const Json& pod_template) {
  return array_at(pod_template, {"spec", "containers"});
}

const Json* ray_container(const Json& pod_template) {
  const auto& containers = containers_of(pod_template);
  return containers.empty() ? nullptr : &containers[0];
}

const Json* find_env(const Json& list, std::string_view name) {
  const Json* found = nullptr;
  if (list.is_array())
    for (const Json& entry : list.get_array())
      if (string_at(entry, {"name"}) == name) found = &entry;
  return found;
}

const Json* ray_env(const Json& pod_template, std::string_view name) {
  const Json* container = ray_container(pod_template);
  if (container == nullptr) return nullptr;
  const Json* env = find(*container, {"env"});
  return env == nullptr ? nullptr : find_env(*env, name);
}

bool restarts(const Json& pod_template) {
  const auto policy = string_at(pod_template, {"spec", "restartPolicy"});
  return !policy.empty() && policy != "Never";
}

std::string got_restart_policy(const Json& pod_template) {
  return fmt::format(": got {}", string_at(pod_template, {"spec", "restartPolicy"}));
}

bool non_empty_list(const Json& list) { return list.is_array() && !list.get_array().empty(); }

}  // namespace manta::ray
