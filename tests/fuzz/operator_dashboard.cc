// Ray's dashboard may answer anything, over either way to it.
#include "base/virtual_loop.h"
#include "controllers/rayjob/dashboard.h"
#include "fuzz/fuzz.h"
#include "operator/ray_dashboard.h"

using namespace manta;
using namespace manta::fuzz;
using namespace manta::operator_;

// Answers what it was made with, and keeps what it was asked.
class Answering final : public kube::Api {
 public:
  explicit Answering(Result<kube::RawResponse> answer) : answer_(std::move(answer)) {}
  Task<Result<kube::Response>> call(kube::Request) override {
    co_return failed(ErrorCode::NotFound, "x");
  }
  Task<Result<void>> watch(kube::WatchRequest, WatchSink, std::stop_token) override {
    co_return Result<void>{};
  }
  Task<Result<kube::RawResponse>> raw(kube::RawRequest request) override {
    asked = request.path;
    co_return answer_;
  }
  std::string asked = {};

 private:
  Result<kube::RawResponse> answer_;
};

static Json body(Input& in) {
  JsonObject out;
  for (int n = in.number(0, 5); n > 0; --n)
    out[in.one_of({"status", "message", "start_time", "end_time", "stopped", "submission_id",
                   "job_id", "applications", "type"})] =
        in.flag() ? in.word({"RUNNING", "SUCCEEDED", "FAILED", "PENDING", "STOPPED"}) : in.json(2);
  return out;
}

FUZZ(data) {
  Input in(data);
  Result<kube::RawResponse> answer =
      kube::RawResponse{.status = in.flag() ? 200 : in.number(100, 599),
                        .body = in.flag()   ? dump_json(body(in))
                                : in.flag() ? in.bytes(60)
                                            : dump_json(in.json())};
  // As Python writes the name of a file that is no UTF-8, or as it stands in a log.
  const auto broken = in.rarely(4) ? in.one_of({"\\udcff", "\\ud83d", "\xff"}) : "";
  if (const auto at = answer->body.find("RUNNING"); at != std::string::npos)
    answer->body.insert(at, broken);
  const auto text = answer->body;
  const int status = answer->status;
  if (in.rarely(8)) answer = failed(ErrorCode::Timeout, "t");
  Answering api(answer);
  RayDashboard dashboard(
      [&](std::string, kube::RawRequest) -> Task<Result<kube::RawResponse>> { co_return answer; },
      api,
      [&](const kube::ObjectKey&) {
        return in.flag() ? std::optional<std::string>("t") : std::nullopt;
      },
      in.flag());
  const auto op = in.one_of(
      {"job-info", "submit-job", "stop-job", "serve-details", "update-serve", "serve-health", "x"});
  JsonObject request{{"op", op}, {"host", "h:1"}, {"namespace", "n"}, {"service", "s"}};
  request["job_id"] = in.flag() ? Json("a") : in.json(1);
  if (in.flag()) request["job"] = in.json(2);
  if (in.flag()) request["config"] = in.json(2);
  if (in.rarely(3)) request["secret"] = "x";

  VirtualLoop loop;
  const auto got = loop.run(dashboard.call("ray-dashboard", request));
  if (!got) {
    FUZZ_CHECK(!got.error().message.empty(), text);
    FUZZ_CHECK(got.error().message.size() < 2000, got.error().message);
    return;
  }
  if (op == "serve-health") {  // a proxy that cannot be reached is an answer, too
    FUZZ_CHECK(!bool_at(*got, {"healthy"}) || (answer.has_value() && status == 200), text);
    return;
  }
  FUZZ_CHECK(answer.has_value() && op != "x", text);
  FUZZ_CHECK(got->is_object(), text, dump_json(*got));
  // Only a 2xx is a yes, and the retried submission that Ray already has.
  FUZZ_CHECK(
      (status >= 200 && status < 300) || text.find("different submission_id") != std::string::npos,
      text);
  const auto info = controllers::rayjob::parse_job_info(*got);
  const auto* said = find(*got, {"status"});
  FUZZ_CHECK(info.has_value() == (!said || said->is_string()), dump_json(*got));
  if (!info) return;
  const auto word = string_at(*got, {"status"});
  FUZZ_CHECK(word.size() > 128 ? info->status.size() <= 128 : info->status == word,
             dump_json(*got));
  // What a planner writes into a status must be a time that Kubernetes can read.
  for (const auto& time : {info->start, info->end})
    if (time) FUZZ_CHECK(parse_rfc3339(format_rfc3339(*time)).has_value(), dump_json(*got));
}
