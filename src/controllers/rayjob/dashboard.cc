#include "controllers/rayjob/dashboard.h"

#include "base/excerpt.h"
#include "controllers/dashboard.h"
#include "ray/builders/cluster_facts.h"
#include "ray/labels.h"
#include "ray/names.h"
#include "ray/runtime_env.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace manta::controllers::rayjob {
namespace {

constexpr std::chrono::seconds kPollInterval{3};
constexpr std::size_t kLongestStatus = 128;                // of one word
constexpr std::int64_t kLastMillis = 253'402'300'799'999;  // 9999-12-31T23:59:59.999Z

std::optional<Time> epoch_millis(const Json& answer, std::string_view key) {
  const auto millis = int_at(answer, {key});
  // Beyond the year 9999 no RFC 3339 time exists.
  if (millis <= 0 || millis > kLastMillis) return std::nullopt;
  return Time{std::chrono::milliseconds{millis}};
}

// The number as a user wrote it, not as a float widened to double.
Json shortest(float number) { return *parse_json(fmt::format("{}", number)); }

Result<Json> parse_resources(std::string_view text) {
  auto resources = parse_json(text);
  if (!resources) return std::unexpected(resources.error().in("reading spec.entrypointResources"));
  if (!resources->is_object())
    return failed(ErrorCode::Invalid, "spec.entrypointResources must be a JSON object of numbers");
  for (auto& entry : resources->get_object()) {
    const auto& given = entry.value();
    const double number = given.is_number() ? given.to_number<double>() : HUGE_VAL;
    if (std::abs(number) > std::numeric_limits<float>::max())
      return failed(ErrorCode::Invalid, fmt::format("spec.entrypointResources: {} must be a number",
                                                    std::string_view(entry.key())));
    entry.value() = shortest(static_cast<float>(number));  // 2.0 goes as 2, as upstream sends it
  }
  return resources;
}

// Source: spec/04 §6.4, "Submit body".
Result<Json> submit_body(const Draft& draft) {
  const auto& spec = draft.spec();
  JsonObject body;
  if (!spec.runtimeEnvYAML.empty()) {
    auto env = ray::parse_runtime_env(spec.runtimeEnvYAML);
    if (!env) return std::unexpected(env.error().in("reading spec.runtimeEnvYAML"));
    if (env->is_object() && !env->get_object().empty()) body["runtime_env"] = std::move(*env);
  }
  if (!spec.metadata.empty()) {
    JsonObject metadata;
    for (const auto& [key, value] : spec.metadata) metadata[key] = value;
    body["metadata"] = std::move(metadata);
  }
  if (!spec.entrypointResources.empty()) {
    auto resources = parse_resources(spec.entrypointResources);
    if (!resources) return std::unexpected(resources.error());
    if (!resources->get_object().empty()) body["entrypoint_resources"] = std::move(*resources);
  }
  body["entrypoint"] = spec.entrypoint;
  if (!draft.status.jobId.empty()) body["submission_id"] = draft.status.jobId;
  if (spec.entrypointNumCpus > 0) body["entrypoint_num_cpus"] = shortest(spec.entrypointNumCpus);
  if (spec.entrypointNumGpus > 0) body["entrypoint_num_gpus"] = shortest(spec.entrypointNumGpus);
  return body;
}

kube::Write external(Json body, std::string_view lane, std::string_view why) {
  return {.kind = kube::WriteKind::External,
          .body = std::move(body),
          .target = std::string(kDashboardTarget),
          .lane = std::string(lane),
          .why = std::string(why)};
}

}  // namespace

std::optional<std::string> dashboard_address(const RayJobSeen& seen, const Settings& settings) {
  return controllers::dashboard_address(seen.cluster_service, settings);
}

bool dashboard_reachable(const RayJobSeen& seen) {
  if (!seen.cluster || !ray::token_auth_enabled(seen.cluster->spec)) return true;
  return seen.auth_secret && seen.auth_secret->auth_token;
}

Json dashboard_request(const Draft& draft, std::string_view operation) {
  JsonObject request{{"op", operation},
                     {"host", draft.status.dashboardURL},
                     {"namespace", draft.seen.key().namespace_},
                     {"job_id", draft.status.jobId}};
  if (const auto& cluster = draft.seen.cluster) {
    const auto& named = cluster->status.head.serviceName;
    request["service"] = named.empty() ? ray::head_service_name(*cluster) : named;
    if (ray::token_auth_enabled(cluster->spec)) request["secret"] = ray::auth_secret_name(*cluster);
  }
  return request;
}

kube::FactRequest job_info_request(const Draft& draft) {
  return {.name = std::string(kJobInfoFact),
          .target = std::string(kDashboardTarget),
          .circuit = draft.status.dashboardURL,
          .query = dashboard_request(draft, "job-info"),
          .interval = kPollInterval};
}

Result<kube::Write> submit_write(const Draft& draft) {
  auto body = submit_body(draft);
  if (!body) return std::unexpected(body.error());
  auto request = dashboard_request(draft, "submit-job");
  request.as_object()["job"] = std::move(*body);
  return external(std::move(request), "submit", "Ray does not know the job");
}

kube::Write stop_write(const Draft& draft, std::string_view why) {
  return external(dashboard_request(draft, "stop-job"), "stop", why);
}

Result<JobInfo> parse_job_info(const Json& answer) {
  if (!answer.is_object())
    return failed(ErrorCode::Internal, "the dashboard's answer is no object");
  if (const auto* status = find(answer, {"status"}); status && !status->is_string())
    return failed(ErrorCode::Internal, fmt::format("the dashboard gives the job's status as {}",
                                                   excerpt(dump_json(*status), kLongestStatus)));
  return JobInfo{.status = excerpt(string_at(answer, {"status"}), kLongestStatus),
                 .message = std::string(string_at(answer, {"message"})),
                 .start = epoch_millis(answer, "start_time"),
                 .end = epoch_millis(answer, "end_time")};
}

std::optional<Result<JobInfo>> ask_job_info(Draft& draft) {
  draft.plan.facts.push_back(job_info_request(draft));
  const auto fact = draft.context.facts.find(kJobInfoFact);
  if (fact == draft.context.facts.end()) return std::nullopt;
  if (!fact->second.answer) return std::unexpected(fact->second.answer.error());
  return parse_job_info(*fact->second.answer);
}

std::optional<Result<std::string>> ask_job_log(Draft& draft) {
  draft.plan.facts.push_back({.name = std::string(kJobLogFact),
                              .target = std::string(kDashboardTarget),
                              .circuit = draft.status.dashboardURL,
                              .query = dashboard_request(draft, "job-log"),
                              .interval = kPollInterval});
  const auto fact = draft.context.facts.find(kJobLogFact);
  if (fact == draft.context.facts.end()) return std::nullopt;
  if (!fact->second.answer) return std::unexpected(fact->second.answer.error());
  return std::string(string_at(*fact->second.answer, {"logs"}));
}

bool selected_job_stopped(Draft& draft) {
  const auto& status = draft.status;
  if (!selects_cluster(draft.spec()) || !draft.seen.cluster || status.dashboardURL.empty() ||
      status.jobId.empty() || is_terminal_job(status.jobStatus) || !dashboard_reachable(draft.seen))
    return true;
  const auto answer = ask_job_info(draft);
  if (!answer) return false;
  if (!*answer) return (*answer).error().code == ErrorCode::NotFound;  // it was never submitted
  if (is_terminal_job((*answer)->status)) return true;
  draft.plan.stage().push_back(stop_write(draft, "the RayJob is suspended"));
  return false;
}

}  // namespace manta::controllers::rayjob
