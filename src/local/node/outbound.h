// The Pods' way to the internet: their bridge's traffic is forwarded and leaves under the host's
// address. Kept in one nftables table of the node's own name, so that it goes as a whole and a
// later life finds what an earlier one left.
#pragma once

#include "base/result.h"
#include "local/node/netlink.h"

#include <string>

namespace manta::local {

/// The rules, for `nft -f`. Pods reach out and get answers; nobody reaches in, and the bridges of
/// other nodes on this machine stay apart.
std::string build_outbound_rules(const std::string& table, const std::string& bridge,
                                 const Ipv4Net& pods);

/// `id`: the state folder's marker. Turns on IP forwarding, where it is off, until the last node of
/// this machine has gone. Fails where `nft` is missing or may not.
Result<void> open_outbound(const std::string& id, const std::string& bridge, const Ipv4Net& pods);
/// Also for tables of nodes that died and whose bridge is gone. Nothing there is success.
void close_outbound(const std::string& id);

}  // namespace manta::local
