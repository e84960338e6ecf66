#include "cli/job_check.h"

#include <string_view>

namespace manta::cli {

Result<void> check_entrypoint(const Json& ray_job) {
  const auto* spec = find(ray_job, {"spec"});
  if (spec == nullptr) return {};
  const auto entrypoint = string_at(*spec, {"entrypoint"});
  if (entrypoint.find_first_not_of(" \t\r\n") != std::string_view::npos) return {};
  const auto mode = string_at(*spec, {"submissionMode"}, "K8sJobMode");
  if (mode == "InteractiveMode") return {};
  if (mode == "K8sJobMode" || mode.empty()) {
    const auto& containers = array_at(*spec, {"submitterPodTemplate", "spec", "containers"});
    if (!containers.empty() && !array_at(containers[0], {"command"}).empty()) return {};
  }
  Error error{.code = ErrorCode::Invalid, .message = "the RayJob has no entrypoint"};
  error.causes.push_back(
      {.field = "spec.entrypoint",
       .message = "Required value: the command that the job runs, such as python script.py"});
  return failed(std::move(error));
}

}  // namespace manta::cli
