// Ray's dashboard as an Outside system: what planners ask of it, bounded in time and size.
//
// Requests are JSON objects:
//   op         job-info | job-log | submit-job | stop-job | serve-details | update-serve |
//              serve-health | serve-ongoing
//   host       "<service>.<ns>.svc.<domain>:<port>" (serve-health: "<Pod address>:<port>")
//   namespace, service     for the API server's proxy (serve-health: namespace, pod, port)
//   secret     name of the Secret with the cluster's token, where it has one
//   job_id     of the job operations; `job` is submit-job's body, `config` update-serve's
//   proxies    of serve-ongoing: [{"pod", "host"}], each with metrics; answered {"ongoing": N}, the
//              requests that they have not answered yet. All must say, and one must know of Serve
// Answers are the dashboard's bodies; job-log's has the end of the log only. NotFound: Ray does not
// know the job. Source: spec/04 §6.
#pragma once

#include "kube/api.h"
#include "kube/runtime.h"

#include <functional>
#include <optional>
#include <string>

namespace manta::operator_ {

/// One HTTP exchange with "host:port", over plain HTTP/1.1. A request with header `Range:
/// bytes=-N` is content with the last N bytes of the answer, whatever the server makes of it.
using HttpFetch =
    std::function<Task<Result<kube::RawResponse>>(std::string host, kube::RawRequest)>;
/// The token in a Secret; nothing when there is none.
using TokenOf = std::function<std::optional<std::string>(const kube::ObjectKey& secret)>;

class RayDashboard final : public kube::Outside {
 public:
  /// `api` is the way when `through_api_server`.
  RayDashboard(HttpFetch fetch, kube::Api& api, TokenOf token_of, bool through_api_server)
      : fetch_(std::move(fetch)),
        api_(api),
        token_of_(std::move(token_of)),
        through_api_server_(through_api_server) {}

  Task<Result<Json>> call(std::string target, Json request) override;

 private:
  Task<Result<kube::RawResponse>> send(const Json& request, kube::RawRequest http);
  Task<Result<Json>> job_info(Json request);
  Task<Result<Json>> job_log(Json request);
  Task<Result<Json>> submit_job(Json request);
  Task<Result<Json>> stop_job(Json request);
  Task<Result<Json>> serve_details(Json request);
  Task<Result<Json>> update_serve(Json request);
  Task<Result<Json>> serve_health(Json request);
  Task<Result<Json>> serve_ongoing(Json request);

  HttpFetch fetch_;
  kube::Api& api_;
  TokenOf token_of_;
  bool through_api_server_;
};

}  // namespace manta::operator_
