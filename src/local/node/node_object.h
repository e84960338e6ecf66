// The Node object and its Lease. Pure.
#pragma once

#include "local/node/node_options.h"

#include <string>

namespace manta::local {

struct MachineFacts {
  std::int64_t cpu_milli = 0;
  std::int64_t memory = 0;             // bytes
  std::int64_t ephemeral_storage = 0;  // bytes, of the state folder's disk
  std::string hostname = {};
  std::string kernel = {};    // uname -r
  std::string os_image = {};  // PRETTY_NAME
  std::string machine_id = {};
  std::string boot_id = {};
  std::string architecture = {};  // amd64
  std::string address = {};
};
/// Reads /proc, /etc and the disk.
MachineFacts read_machine(const std::string& state_folder);

Json build_node(const NodeOptions& options, const MachineFacts& machine);
/// Conditions keep their lastTransitionTime where `previous` (the Node's status) has them already.
Json build_node_status(const NodeOptions& options, const MachineFacts& machine,
                       const Json& previous, Time now);
Json build_lease(const NodeOptions& options, const std::string& node_uid, Time now);

}  // namespace manta::local
