// What Ray Serve runs on one cluster, what it should run, and the request that closes the gap.
// Source: spec/05 §5.
//
// Of the past a planner knows what the dashboard fact tells: beside Ray's own answer it holds what
// this process has sent there last (operator/serve_ledger.h).
#pragma once

#include "controllers/rayservice/draft.h"

#include <map>
#include <optional>
#include <string>

namespace manta::controllers::rayservice {

using Applications = std::map<std::string, ray::ServeApplicationStatus, std::less<>>;

/// What the last config was that this process sent, and what came of it.
struct Submission {
  JsonObject config = {};
  std::string head = {};  // head_identity() then
  Time at = {};
  bool listed = false;  // Ray has listed applications since
};

struct ServeSeen {
  bool asked = false;  // its dashboard should be there; false: applications read as none
  bool known = false;  // it has answered
  /// The answer is from long enough after our last request that Serve has begun to act on it.
  bool fresh = true;
  Applications applications = {};
  std::optional<JsonObject> deployed = {};  // the config as Ray tells it, if it does
  std::optional<Submission> submission = {};
  std::string trouble = {};  // why nothing is known though it was asked
  bool lost = false;         // Ray lists nothing of the submission any more, or still nothing
};

/// The head Pod that lives, or null when there is none, or more than one.
const kube::PodView* the_head(const ClusterSeen& cluster);
/// Changes when Ray on the head has started anew.
std::string head_identity(const ClusterSeen& cluster);
bool head_is_ready(const ClusterSeen& cluster, const Settings& settings);

/// Asks the dashboard, and reads what it has answered. What stands in the way blocks the draft.
ServeSeen look_at_serve(Draft& draft, const ClusterSeen& cluster);

/// What a cluster is to run.
struct ServeGoal {
  /// The newest config; or that which it runs, while the other cluster takes over.
  enum class Config { Newest, Held } config = Config::Newest;
  std::optional<std::int32_t> capacity = {};      // target_capacity to ask for
  std::optional<std::int32_t> had_capacity = {};  // that the status remembers
};

/// Plans a request when Serve does not run the goal. True: it does, as far as was asked.
bool ensure_serve(Draft& draft, const ClusterSeen& cluster, const ServeSeen& serve,
                  const ServeGoal& goal);

/// Every listed application is RUNNING, whatever config they are of.
bool answers(const ServeSeen& serve);
/// It answers, and every application of the goal's config is listed. RS-03
bool is_serving(const ServeSeen& serve, const ServeGoal& goal, const ray::RayServiceSpec& spec);

/// "10.0.0.1:8000", "[fd00::1]:8000": an IPv6 address stands in brackets before a port.
std::string host_and_port(std::string_view address, std::int64_t port);
/// Whether the head Pod takes part in the Serve Service: its label ray.io/serve. Spec/05 §5.6.
void ensure_serve_label(Draft& draft, const ClusterSeen& cluster);

}  // namespace manta::controllers::rayservice
