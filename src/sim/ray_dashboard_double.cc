#include "sim/ray_dashboard_double.h"

namespace manta::sim {
namespace {

using namespace std::chrono_literals;

std::int64_t millis(Time time) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(time.time_since_epoch()).count();
}

bool has_ended(std::string_view status) {
  return status == "SUCCEEDED" || status == "FAILED" || status == "STOPPED";
}

}  // namespace

void RayDashboardDouble::submit(const std::string& job_id, const std::string& head) {
  const auto found = jobs_.find(job_id);
  if (found != jobs_.end() && found->second.head == head) return;
  jobs_[job_id] = {.head = head, .status = "RUNNING", .started = loop_.now()};
  submissions_.push_back(job_id);
  if (on_submit) on_submit(job_id);
}

void RayDashboardDouble::set(const std::string& job_id, std::string status) {
  const auto found = jobs_.find(job_id);
  MANTA_CHECK(found != jobs_.end());
  if (status == "SUCCEEDED") succeeded_.insert(job_id);
  if (has_ended(status)) found->second.ended = loop_.now();
  found->second.status = std::move(status);
}

std::string RayDashboardDouble::status_of(const std::string& job_id) const {
  const auto found = jobs_.find(job_id);
  return found == jobs_.end() ? std::string() : found->second.status;
}

std::string RayDashboardDouble::head_with(const std::string& job_id) const {
  const auto found = jobs_.find(job_id);
  return found == jobs_.end() ? std::string() : found->second.head;
}

Json RayDashboardDouble::describe(const std::string& id, const Job& job) const {
  JsonObject info{{"submission_id", id},
                  {"status", job.status},
                  {"message", "Job is " + job.status},
                  {"start_time", millis(job.started)}};
  if (job.ended != Time{}) info["end_time"] = millis(job.ended);
  return info;
}

Result<Json> RayDashboardDouble::answer(const Json& request, const std::string& head) {
  const auto op = string_at(request, {"op"});
  const std::string id(op == "submit-job" ? string_at(request, {"job", "submission_id"})
                                          : string_at(request, {"job_id"}));
  if (op == "submit-job") {
    submit(id, head);
    return Json(JsonObject{{"submission_id", id}});
  }
  const auto found = jobs_.find(id);
  if (found == jobs_.end() || found->second.head != head)
    return failed(ErrorCode::NotFound, "Ray does not know job " + id);
  if (op == "job-log") return Json(JsonObject{{"logs", log ? log(id) : ""}});
  if (op == "stop-job") {
    stops_.push_back(id);
    if (!has_ended(found->second.status)) set(id, "STOPPED");
    return Json(JsonObject{{"stopped", true}});
  }
  return describe(id, found->second);
}

Task<Result<Json>> RayDashboardDouble::call(std::string target, Json request) {
  ++calls_;
  const bool hangs = mood == Mood::Hangs;
  co_await sleep(loop_, hangs ? Duration{2s} : Duration{5ms});
  const auto head = head_of ? head_of(string_at(request, {"service"})) : std::string();
  if (hangs) co_return failed(ErrorCode::Timeout, "no answer within 2 s");
  if (mood == Mood::ServerError) co_return failed(ErrorCode::Internal, "HTTP 500");
  if (head.empty()) co_return failed(ErrorCode::Unavailable, "connection refused");
  co_return answer(request, head);
}

}  // namespace manta::sim
