// What the tables of built-in kinds are made of; for the table_*.cc files only.
#pragma once

#include "base/json.h"
#include "base/time.h"

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace manta::local {

/// One object's cells, in the order of its kind's columns. `now` is what ages are counted to.
using Cells = JsonArray (*)(const Json& object, Time now);

// table_pod.cc
JsonArray pod_cells(const Json& pod, Time now);
// table_workloads.cc
JsonArray job_cells(const Json& job, Time now);
JsonArray deployment_cells(const Json& object, Time now);
JsonArray replica_set_cells(const Json& object, Time now);
// table_network.cc
JsonArray service_cells(const Json& service, Time now);
JsonArray ingress_cells(const Json& object, Time now);
JsonArray policy_cells(const Json& object, Time now);
JsonArray slice_cells(const Json& object, Time now);
JsonArray endpoints_cells(const Json& object, Time now);
// table_cluster.cc
JsonArray namespace_cells(const Json& object, Time now);
JsonArray node_cells(const Json& node, Time now);
JsonArray event_cells(const Json& event, Time now);
JsonArray lease_cells(const Json& object, Time now);
JsonArray priority_cells(const Json& object, Time now);
// table_config.cc
JsonArray config_map_cells(const Json& object, Time now);
JsonArray secret_cells(const Json& object, Time now);
JsonArray account_cells(const Json& object, Time now);
JsonArray claim_cells(const Json& object, Time now);
JsonArray created_cells(const Json& object, Time now);
JsonArray binding_cells(const Json& object, Time now);
JsonArray plain_cells(const Json& object, Time now);

Json name_of(const Json& object);
/// "3m20s": of an instant, and of the object.
std::string age_of(std::string_view stamp, Time now);
std::string age(const Json& object, Time now);
/// The text at a path, or what stands for none.
std::string text(const Json& object, std::initializer_list<std::string_view> path,
                 std::string_view none = "<none>");
std::string join(const std::vector<std::string>& texts);
/// A selector, of labels or of requirements, as kubectl prints it.
std::string selector(const Json& object, std::initializer_list<std::string_view> path);
/// The containers' names, and their images.
std::pair<std::string, std::string> containers(const Json& object,
                                               std::initializer_list<std::string_view> path);
/// The condition's status is True.
bool has_condition(const Json& object, std::string_view type);

}  // namespace manta::local
