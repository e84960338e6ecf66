#include "sim/serve_double.h"

#include <algorithm>

namespace manta::sim {

using namespace std::chrono_literals;

int ServeDouble::sent_to(std::string_view service) const {
  return static_cast<int>(std::ranges::count(sent_, service, &Sent::service));
}

Json ServeDouble::details(const std::string& head, const std::string& service) const {
  JsonObject applications;
  const auto found = running_.find(fault_tolerant ? service : head);
  if (found == running_.end()) return JsonObject{{"applications", applications}};
  const auto& running = found->second;
  for (const auto& application : array_at(running.config, {"applications"})) {
    const std::string name(string_at(application, {"name"}));
    const auto scripted = says.find(name);
    if (scripted != says.end() && scripted->second.empty()) continue;
    const bool deployed = loop_->now() - running.since >= deploy_takes;
    const std::string status = scripted != says.end() ? scripted->second
                               : deployed             ? "RUNNING"
                                                      : "DEPLOYING";
    const auto explained = explains.find(name);
    applications[name] = JsonObject{
        {"status", status},
        {"message", explained == explains.end() ? std::string() : explained->second},
        {"deployed_app_config", application},
        {"deployments",
         {{"Main", {{"status", status == "RUNNING" ? "HEALTHY" : "UPDATING"}, {"message", ""}}}}}};
  }
  return JsonObject{{"applications", std::move(applications)}};
}

bool ServeDouble::serves(const std::string& head) const {
  const auto told = details(head, {});
  const auto& applications = object_at(told, {"applications"});
  return !applications.empty() && std::ranges::all_of(applications, [](const auto& application) {
    return string_at(application.value(), {"status"}) == "RUNNING";
  });
}

Task<Result<Json>> ServeDouble::call(std::string target, Json request) {
  const auto op = std::string(string_at(request, {"op"}));
  if (op == "serve-health") {
    co_await sleep(*loop_, 5ms);
    const bool sick = unhealthy.contains(std::string(string_at(request, {"pod"})));
    co_return JsonObject{{"healthy", proxies_healthy && !sick}};
  }
  if (op == "serve-ongoing") {
    co_await sleep(*loop_, 5ms);
    if (!ongoing) co_return failed(ErrorCode::NotFound, "no proxy tells");
    co_return JsonObject{{"ongoing", *ongoing}};
  }
  if (op != "serve-details" && op != "update-serve")
    co_return co_await rest_.call(std::move(target), std::move(request));
  ++questions_;
  co_await sleep(*loop_, 5ms);
  const std::string service(string_at(request, {"service"}));
  const auto head = head_of ? head_of(service) : std::string();
  if (head.empty()) co_return failed(ErrorCode::Unavailable, "connection refused");
  if (down.contains(service)) co_return failed(ErrorCode::Unavailable, "HTTP 503");
  if (op == "serve-details") co_return details(head, service);
  if (refusing.contains(service)) co_return failed(ErrorCode::BadRequest, "HTTP 400");
  const Json config = *manta::find(request, {"config"});
  sent_.push_back({.at = loop_->now(), .service = service, .head = head, .config = config});
  auto& running = running_[fault_tolerant ? service : head];
  const bool same =
      array_at(running.config, {"applications"}) == array_at(config, {"applications"});
  running.config = config;
  if (!same) running.since = loop_->now();  // another capacity alone deploys nothing anew
  co_return JsonObject{};
}

}  // namespace manta::sim
