// What the users of a script write: the objects that it creates, and what
// stands in them for the scripted Ray to act by.
#pragma once

#include "base/json.h"
#include "base/time.h"
#include "sim/dice.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace manta::sim {

/// Of group and version ray.io/v1.
Json object(std::string_view kind, const std::string& name, Json spec);

Json worker_group(Dice& dice, const char* name);
Json cluster_spec(Dice& dice);
/// Runs by itself to its end.
Json job_spec(Dice& dice);
/// Waits for a user, who submits a job by hand.
Json interactive_job_spec(Dice& dice);
/// Runs on a RayCluster of that name.
Json job_on_cluster_spec(Dice& dice, const std::string& cluster);
Json service_spec(Dice& dice);
bool is_incremental(const Json& service_spec);

/// One application; versions differ.
std::string serve_config(std::uint64_t version);

/// How a job that the script made ends, and when: it stands in its entrypoint.
struct JobFate {
  std::string ends = {};
  Duration takes = {};
};
JobFate fate_of(std::string_view entrypoint);

}  // namespace manta::sim
