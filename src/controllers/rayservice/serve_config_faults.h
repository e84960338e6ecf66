// What is wrong with a Serve config by its shape alone: told while no Ray is there yet to refuse
// it. Source: Ray's ServeDeploySchema, as far as its versions since 2.9 agree.
#pragma once

#include "base/json.h"

#include <string>
#include <vector>

namespace manta::controllers::rayservice {

/// "spec.serveConfigV2.applications[0].import_path: it is 7, and must be a text like module:app".
/// Five at most; empty when Ray is to judge.
std::vector<std::string> serve_config_faults(const JsonObject& config);

}  // namespace manta::controllers::rayservice
