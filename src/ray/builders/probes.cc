#include "ray/builders/probes.h"

#include "ray/builders/cluster_facts.h"
#include "ray/builders/edit.h"
#include "ray/labels.h"
#include "ray/ray_version.h"

#include <fmt/format.h>

namespace manta::ray {
namespace {

// Seconds that the parts of a command are given.
constexpr int kAgentSeconds = 2;
constexpr int kOtherSeconds = 10;

std::string ask(int timeout_seconds, std::int64_t port, std::string_view path) {
  return fmt::format("wget --tries 1 -T {} -q -O- http://localhost:{}/{} | grep success",
                     timeout_seconds, port, path);
}

Json exec_bash(std::string_view script) {
  return JsonObject{{"command", JsonArray{"bash", "-c", script}}};
}

std::int64_t serve_port(const JsonObject& ray_container) {
  const JsonObject* port = find_named(array_of(ray_container, "ports"), kPortServeName);
  return port == nullptr ? kPortServe : int_in(*port, "containerPort", kPortServe);
}

JsonObject probe(int initial_delay, int timeout, int failures) {
  return JsonObject{{"initialDelaySeconds", initial_delay},
                    {"timeoutSeconds", timeout},
                    {"periodSeconds", 5},
                    {"successThreshold", 1},
                    {"failureThreshold", failures}};
}

}  // namespace

bool version_at_least(std::string_view version, unsigned major, unsigned minor) {
  const auto parsed = parse_ray_version(version);
  return parsed && *parsed >= RayVersion{{major, minor}};
}

void add_probes(JsonObject& ray_container, RayNode node, const StartParams& params,
                const RayCluster& cluster, const BuildOptions& options) {
  const bool head = node == RayNode::Head;
  const std::int32_t agent_port = port_param(params, kParamDashboardAgentPort, kPortDashboardAgent);
  const std::string agent = ask(kAgentSeconds, agent_port, "api/local_raylet_healthz");
  const std::string gcs = ask(
      kOtherSeconds, port_param(params, kParamDashboardPort, kPortDashboard), "api/gcs_healthz");

  // The unified endpoint came with Ray 2.53; an unknown version is asked the old way.
  const bool unified = version_at_least(cluster.spec.rayVersion, 2, 53);
  // RC-39, behind its gate: no wget where one URL is enough, and a command has its whole time.
  const bool one_url = unified || (options.http_probes && !head);
  const std::string_view handler = one_url ? "httpGet" : "exec";
  const Json action =
      one_url ? JsonObject{{"path", unified ? "/api/healthz" : "/api/local_raylet_healthz"},
                           {"port", agent_port}}
              : exec_bash(head ? agent + " && " + gcs : agent);
  const int all_parts = kAgentSeconds + kOtherSeconds;
  const int timeout = head ? (options.http_probes && !one_url ? all_parts : 5) : 2;

  if (!has_value(ray_container, "livenessProbe")) {
    JsonObject liveness = probe(30, timeout, 120);
    liveness[handler] = action;
    ray_container["livenessProbe"] = std::move(liveness);
  }
  if (has_value(ray_container, "readinessProbe")) return;
  if (!head && made_by_ray_service(cluster)) {
    // A worker without a Serve proxy must not get traffic, so one failure takes it out.
    JsonObject readiness = probe(10, options.http_probes ? all_parts : timeout, 1);
    readiness["exec"] =
        exec_bash(agent + " && " + ask(kOtherSeconds, serve_port(ray_container), "-/healthz"));
    ray_container["readinessProbe"] = std::move(readiness);
    return;
  }
  JsonObject readiness = probe(10, timeout, 10);
  readiness[handler] = action;
  ray_container["readinessProbe"] = std::move(readiness);
}

}  // namespace manta::ray
