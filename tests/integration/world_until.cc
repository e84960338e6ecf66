// The conditions that stories wait for.
#include "ray/labels.h"
#include "world.h"

#include <fmt/format.h>

namespace manta::integration {
namespace {

Until status_is(std::string kind, std::string name, const char* field, std::string wanted) {
  auto text = fmt::format("{} {} has {} \"{}\"", kind, name, field, wanted);
  return {.text = std::move(text), .holds = [=](const World& world) {
            return string_at(world.get(kind, name), {"status", field}) == wanted;
          }};
}

}  // namespace

Until cluster_is(std::string name, std::string state) {
  return status_is("RayCluster", std::move(name), "state", std::move(state));
}
Until job_is(std::string name, std::string deployment) {
  return status_is("RayJob", std::move(name), "jobDeploymentStatus", std::move(deployment));
}
Until ray_job_is(std::string name, std::string status) {
  return status_is("RayJob", std::move(name), "jobStatus", std::move(status));
}
Until exists(std::string kind, std::string name) {
  return {.text = fmt::format("{} {} is there", kind, name),
          .holds = [=](const World& world) { return world.mirror().find(kind, name) != nullptr; }};
}
Until is_gone(std::string kind, std::string name) {
  return {.text = fmt::format("{} {} is gone", kind, name),
          .holds = [=](const World& world) { return world.mirror().find(kind, name) == nullptr; }};
}
Until has_workers(std::string cluster, std::size_t ready) {
  return {.text = fmt::format("{} has {} running workers", cluster, ready),
          .holds = [=](const World& world) {
            std::size_t running = 0;
            for (const auto& name : world.workers(cluster))
              running += phase_of(world.get("Pod", name)) == "Running";
            return running == ready;
          }};
}

}  // namespace manta::integration
