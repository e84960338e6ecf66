#include "operator/ray_dashboard.h"

#include "base/excerpt.h"
#include "base/utf8.h"
#include "operator/log_tail.h"
#include "operator/serve_details.h"
#include "operator/serve_load.h"

#include <fmt/format.h>

namespace manta::operator_ {
namespace {

constexpr std::size_t kMaxAnswer = 1u << 20;  // SEC-07
// Thousands of replicas, each with half a kilobyte.
constexpr std::size_t kMaxServeDetails = 16u << 20;
constexpr std::size_t kMaxMetrics = 16u << 20;  // an idle head of Ray 2.60 has 0.7 MB
constexpr std::size_t kMaxQuoted = 512;         // of a body, in an error
constexpr std::chrono::seconds kDirectTimeout{2};
constexpr std::chrono::seconds kProxyTimeout{10};
constexpr std::chrono::seconds kLogTimeout{10};
constexpr std::size_t kMaxProxiedLog = 16u << 20;  // the proxy's answers cannot be cut

std::string text(const Json& request, std::string_view key) {
  return std::string(string_at(request, {key}));
}

// A job id as one segment of a path; users choose it freely. RJ-30
std::string path_segment(std::string_view text) {
  std::string out;
  for (const unsigned char c : text) {
    const bool plain =
        (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z') ||
        std::string_view("-._~!$&'()*+,;=:@").find(static_cast<char>(c)) != std::string_view::npos;
    if (plain)
      out += static_cast<char>(c);
    else
      out += fmt::format("%{:02X}", c);
  }
  return out;
}

bool is_success(const kube::RawResponse& response) {
  return response.status >= 200 && response.status < 300;
}

std::unexpected<Error> refused(std::string_view what, const kube::RawResponse& response) {
  Error error{.message = fmt::format("{} fail: {} {}", what, response.status,
                                     excerpt(response.body, kMaxQuoted)),
              .http_status = response.status};
  switch (response.status) {
    case 401:
      error.code = ErrorCode::Unauthorized;
      break;
    case 403:
      error.code = ErrorCode::Forbidden;
      break;
    case 404:
      error.code = ErrorCode::NotFound;
      break;
    case 429:
      error.code = ErrorCode::TooManyRequests;
      break;
    case 503:
      error.code = ErrorCode::Unavailable;
      break;
    default:
      error.code = response.status >= 500 ? ErrorCode::Internal : ErrorCode::BadRequest;
  }
  return std::unexpected(std::move(error));
}

Result<Json> decode(std::string_view what, const kube::RawResponse& response) {
  if (!is_success(response)) return refused(what, response);
  auto body = parse_json(mend_json_text(response.body));
  if (!body || !body->is_object())
    return failed(ErrorCode::Internal,
                  fmt::format("{} fail: {}", what, excerpt(response.body, kMaxQuoted)));
  return body;
}

kube::RawRequest request_for(std::string_view method, std::string path,
                             const Json* body = nullptr) {
  kube::RawRequest http{
      .method = std::string(method), .path = std::move(path), .max_bytes = kMaxAnswer};
  if (body) http.body = dump_json(*body);
  if (method != "GET") http.headers["Content-Type"] = "application/json";
  return http;
}

}  // namespace

Task<Result<Json>> RayDashboard::call(std::string target, Json request) {
  const auto op = text(request, "op");
  if (op == "job-info") co_return co_await job_info(std::move(request));
  if (op == "job-log") co_return co_await job_log(std::move(request));
  if (op == "submit-job") co_return co_await submit_job(std::move(request));
  if (op == "stop-job") co_return co_await stop_job(std::move(request));
  if (op == "serve-details") co_return co_await serve_details(std::move(request));
  if (op == "update-serve") co_return co_await update_serve(std::move(request));
  if (op == "serve-health") co_return co_await serve_health(std::move(request));
  if (op == "serve-ongoing") co_return co_await serve_ongoing(std::move(request));
  co_return failed(ErrorCode::BadRequest, fmt::format("{} knows no operation {}", target, op));
}

Task<Result<kube::RawResponse>> RayDashboard::send(const Json& request, kube::RawRequest http) {
  if (const auto secret = text(request, "secret"); !secret.empty()) {
    const auto key = kube::ObjectKey{text(request, "namespace"), secret};
    auto token = token_of_(key);
    if (!token)
      co_return failed(ErrorCode::Unauthorized,
                       fmt::format("failed to get auth secret {}: it is missing, or has no key "
                                   "auth_token",
                                   key.to_string()));
    // Not Authorization, which the API server's proxy keeps for itself.
    http.headers["x-ray-authorization"] = "Bearer " + *token;
  }
  if (through_api_server_) {
    const auto pod = text(request, "pod");
    http.timeout = kProxyTimeout;
    http.headers.erase("Range");
    http.path =
        pod.empty()
            ? fmt::format("/api/v1/namespaces/{}/services/{}:dashboard/proxy{}",
                          text(request, "namespace"), text(request, "service"), http.path)
            : fmt::format("/api/v1/namespaces/{}/pods/{}:{}/proxy{}", text(request, "namespace"),
                          pod, int_at(request, {"port"}), http.path);
    co_return co_await api_.raw(std::move(http));
  }
  http.timeout = http.headers.contains("Range") ? kLogTimeout : kDirectTimeout;
  auto host = text(request, "host");
  if (host.empty()) co_return failed(ErrorCode::BadRequest, "the dashboard's address is not known");
  co_return co_await fetch_(std::move(host), std::move(http));
}

Task<Result<Json>> RayDashboard::job_info(Json request) {
  const auto id = text(request, "job_id");
  auto response = co_await send(request, request_for("GET", "/api/jobs/" + path_segment(id)));
  if (!response) co_return std::unexpected(response.error().in("getting job info"));
  if (response->status == 404)
    co_return failed(ErrorCode::NotFound, fmt::format("Job {} does not exist on the cluster", id));
  co_return decode("GetJobInfo", *response);
}

Task<Result<Json>> RayDashboard::job_log(Json request) {
  const auto id = text(request, "job_id");
  auto http = request_for("GET", fmt::format("/api/jobs/{}/logs", path_segment(id)));
  http.headers["Range"] = fmt::format("bytes=-{}", kLogAnswerTail);
  if (through_api_server_) http.max_bytes = kMaxProxiedLog;
  auto response = co_await send(request, std::move(http));
  if (!response) co_return std::unexpected(response.error().in("getting job log"));
  if (response->status == 404)
    co_return failed(ErrorCode::NotFound, fmt::format("Job {} does not exist on the cluster", id));
  if (!is_success(*response)) co_return refused("GetJobLog", *response);
  auto log = log_tail(response->body);
  if (!log) co_return std::unexpected(log.error());
  co_return JsonObject{{"logs", std::move(*log)}};
}

Task<Result<Json>> RayDashboard::submit_job(Json request) {
  const auto* job = find(request, {"job"});
  if (!job) co_return failed(ErrorCode::BadRequest, "submit-job without a job");
  auto response = co_await send(request, request_for("POST", "/api/jobs/", job));
  if (!response) co_return std::unexpected(response.error().in("submitting job"));
  // The same job under the same id: an earlier reply was lost. RJ-01
  if (response->body.find("Please use a different submission_id") != std::string::npos)
    co_return Json{{"submission_id", string_at(*job, {"submission_id"})}};
  co_return decode("SubmitJob", *response);
}

Task<Result<Json>> RayDashboard::stop_job(Json request) {
  const auto id = text(request, "job_id");
  auto response = co_await send(
      request, request_for("POST", fmt::format("/api/jobs/{}/stop", path_segment(id))));
  if (!response) co_return std::unexpected(response.error().in("stopping job"));
  auto answer = decode("StopJob", *response);
  if (!answer || bool_at(*answer, {"stopped"})) co_return answer;
  auto info = co_await job_info(request);
  if (!info) co_return std::unexpected(info.error());
  const auto status = string_at(*info, {"status"});
  if (status == "SUCCEEDED" || status == "FAILED" || status == "STOPPED") co_return answer;
  co_return failed(ErrorCode::Internal, fmt::format("failed to stop job: it is {}", status));
}

Task<Result<Json>> RayDashboard::serve_details(Json request) {
  auto http = request_for("GET", "/api/serve/applications/?api_type=declarative");
  http.max_bytes = kMaxServeDetails;
  auto response = co_await send(request, std::move(http));
  if (!response) co_return std::unexpected(response.error().in("getting serve details"));
  auto details = decode("GetServeDetails", *response);
  if (!details) co_return details;
  co_return serve_essentials(*details);
}

Task<Result<Json>> RayDashboard::update_serve(Json request) {
  const auto* config = find(request, {"config"});
  if (!config) co_return failed(ErrorCode::BadRequest, "update-serve without a config");
  auto response = co_await send(request, request_for("PUT", "/api/serve/applications/", config));
  if (!response) co_return std::unexpected(response.error().in("updating deployments"));
  if (!is_success(*response)) co_return refused("UpdateDeployments", *response);
  co_return JsonObject{};
}

// A proxy that cannot be reached is an answer, too: it is asked again as often as a healthy one.
Task<Result<Json>> RayDashboard::serve_health(Json request) {
  auto response = co_await send(request, request_for("GET", "/-/healthz"));
  co_return JsonObject{{"healthy", response && response->status == 200}};
}

Task<Result<Json>> RayDashboard::serve_ongoing(Json request) {
  std::optional<std::int64_t> sum;
  for (const auto& proxy : array_at(request, {"proxies"})) {
    const Json one{{"namespace", text(request, "namespace")},
                   {"port", int_at(request, {"port"})},
                   {"pod", text(proxy, "pod")},
                   {"host", text(proxy, "host")}};
    auto http = request_for("GET", "/metrics");
    http.max_bytes = kMaxMetrics;
    auto response = co_await send(one, std::move(http));
    if (!response) co_return std::unexpected(response.error().in("asking Serve's metrics"));
    if (!is_success(*response)) co_return refused("asking Serve's metrics", *response);
    if (const auto ongoing = ongoing_requests(response->body)) sum = sum.value_or(0) + *ongoing;
  }
  if (!sum)
    co_return failed(ErrorCode::NotFound,
                     "asking Serve's metrics: no proxy tells what it has not answered yet");
  co_return JsonObject{{"ongoing", *sum}};
}

}  // namespace manta::operator_
