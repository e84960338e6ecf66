// The rows of what runs Pods.
#include "fmt/format.h"
#include "local/apiserver/table.h"
#include "local/apiserver/table_cells.h"

namespace manta::local {
namespace {

std::string_view job_status(const Json& job) {
  if (has_condition(job, "Complete")) return "Complete";
  if (has_condition(job, "Failed")) return "Failed";
  if (find(job, {"metadata", "deletionTimestamp"})) return "Terminating";
  for (const std::string_view type : {"Suspended", "FailureTarget", "SuccessCriteriaMet"})
    if (has_condition(job, type)) return type;
  return "Running";
}

std::string job_completions(const Json& job) {
  const auto* wanted = find(job, {"spec", "completions"});
  const auto done = int_at(job, {"status", "succeeded"});
  if (wanted && wanted->is_int64()) return fmt::format("{}/{}", done, wanted->get_int64());
  const auto parallel = int_at(job, {"spec", "parallelism"});
  return parallel > 1 ? fmt::format("{}/1 of {}", done, parallel) : fmt::format("{}/1", done);
}

std::string job_duration(const Json& job, Time now) {
  const auto start = parse_rfc3339(string_at(job, {"status", "startTime"}));
  if (!start) return {};
  const auto end = parse_rfc3339(string_at(job, {"status", "completionTime"}));
  return human_duration((end ? *end : now) - *start);
}

}  // namespace

JsonArray job_cells(const Json& job, Time now) {
  const auto [names, images] = containers(job, {"spec", "template", "spec", "containers"});
  return {name_of(job),
          Json(job_status(job)),
          Json(job_completions(job)),
          Json(job_duration(job, now)),
          Json(age(job, now)),
          Json(names),
          Json(images),
          Json(selector(job, {"spec", "selector"}))};
}

JsonArray deployment_cells(const Json& object, Time now) {
  const auto [names, images] = containers(object, {"spec", "template", "spec", "containers"});
  return {name_of(object),
          Json(fmt::format("{}/{}", int_at(object, {"status", "readyReplicas"}),
                           int_at(object, {"spec", "replicas"}))),
          Json(int_at(object, {"status", "updatedReplicas"})),
          Json(int_at(object, {"status", "availableReplicas"})),
          Json(age(object, now)),
          Json(names),
          Json(images),
          Json(selector(object, {"spec", "selector"}))};
}

JsonArray replica_set_cells(const Json& object, Time now) {
  const auto [names, images] = containers(object, {"spec", "template", "spec", "containers"});
  return {name_of(object),
          Json(int_at(object, {"spec", "replicas"})),
          Json(int_at(object, {"status", "replicas"})),
          Json(int_at(object, {"status", "readyReplicas"})),
          Json(age(object, now)),
          Json(names),
          Json(images),
          Json(selector(object, {"spec", "selector"}))};
}

}  // namespace manta::local
