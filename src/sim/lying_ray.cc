#include "sim/lying_ray.h"

namespace manta::sim {
namespace {

constexpr double kShare = 0.1;

}  // namespace

Task<Result<Json>> LyingRay::call(std::string target, Json request) {
  const auto question = dump_json(request);
  const auto op = std::string(string_at(request, {"op"}));
  const bool reads = op.starts_with("job") || op.starts_with("serve");
  if (op.ends_with("serve") || op.starts_with("serve"))
    if (is_down && is_down()) co_return failed(ErrorCode::Unavailable, "HTTP 503");
  auto answer = co_await ray_.call(std::move(target), std::move(request));
  if (!reads || !answer) co_return answer;
  const auto earlier = earlier_.try_emplace(question, *answer).first->second;
  if (!lies || !lies() || !dice_.chance(kShare)) co_return answer;
  if (op.starts_with("serve") && lied_of_serve) lied_of_serve();
  switch (dice_.between(0, 3)) {
    case 0:
      co_return failed(ErrorCode::NotFound, "Ray says that it does not know the job");
    case 1:
      co_return earlier;
    case 2:
      if (op == "serve-details")
        for (auto& application : ensure(*answer, {"applications"}).as_object())
          application.value().as_object()["status"] = "DREAMING";
      else
        answer->as_object()["status"] = "DREAMING";
      co_return answer;
    default:
      co_return Json("<html>502 Bad Gateway</html>");
  }
}

}  // namespace manta::sim
