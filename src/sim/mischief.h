// The kinds of things that go wrong in a seed. Each seed has some of them only, so that what one
// kind breaks is not hidden by another, and so that a failure shrinks by leaving kinds out.
#pragma once

#include "base/result.h"

#include <cstdint>
#include <set>
#include <string>
#include <string_view>

namespace manta::sim {

enum class Mischief {
  // On the operator's way to Kubernetes.
  Calls,       // conflicts, timeouts, lost replies, refusals
  Events,      // watch events late, twice, out of order; streams that break or
               // expire
  StaleLists,  // a second list that is older than the first
  Crashes,     // before and after writes, and at any time
  Rivals,      // a second operator, and leaders that lose their Lease
  Outages,     // the API server restarts
  // On the nodes.
  PodsFail,
  PodsSlow,
  PodsHang,  // in their deletion
  // In Ray.
  RayHangs,    // no answer, or HTTP 500
  RayLies,     // old news, unknown jobs and states, nonsense
  RayForgets,  // a job that it had taken, or applications
  // Of users.
  Meddling,  // with jobs that run: suspend, resume, delete; with a RayService's
             // clusters
  // Between users and Ray.
  ServeSick,     // applications, and proxies, that fail for a while
  GatewayFails,  // Gateways that are not programmed for a while
};
using Mischiefs = std::set<Mischief>;

std::string_view to_string(Mischief mischief);
Result<Mischief> parse_mischief(std::string_view name);
const Mischiefs& all_mischiefs();
/// Those between the operator and Kubernetes: the state they end in must not depend on them.
const Mischiefs& wire_mischiefs();

Mischiefs choose_mischiefs(std::uint64_t seed);
std::string to_string(const Mischiefs& mischiefs);  // "Calls,Events"

}  // namespace manta::sim
