// What users, nodes, Ray and servers do in a seed, written down before it begins: leaving a step
// out changes no other.
#pragma once

#include "base/json.h"
#include "base/time.h"
#include "sim/mischief.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace manta::sim {

enum class StepKind {
  // Of users.
  Create,        // body
  Scale,         // RayCluster `name`: group number `pick` to `amount`
  Autoscale,     // as the autoscaler does it: to `amount`, naming whom to delete
  Suspend,       // RayCluster, RayJob or RayService
  Resume,        //
  SuspendGroup,  // RayCluster's group number `pick`; `amount` 1: suspend, 0:
                 // resume
  Edit,          // RayCluster or RayService: another image, for upgrades and rollbacks
  Reconfigure,   // RayService: another Serve config
  Delete,        // any kind
  DeletePod,     // any Ray Pod
  AddGroup,      // RayService: one more worker group
  DropCluster,   // RayService: one of its clusters is deleted by hand, by `pick`
  SubmitByHand,  // RayJob in InteractiveMode: what it waits for
  // Of nodes: a Ray Pod that lives, by `pick`.
  FailPod,
  EvictPod,
  EndContainer,
  UnreadyPod,
  HangPod,
  // Of servers.
  Outage,      // `amount` seconds
  Crash,       // of the operator's process that acts
  LoseLeader,  // for `amount` seconds the Lease cannot be renewed
  // Of Ray.
  RayMood,      // `amount`: 0 answers, 1 HTTP 500, 2 hangs
  RayForget,    // the job by `pick`
  ServeForget,  // what runs on a head, by `pick`
  ServeSick,    // for `amount` seconds no application runs well
  ProxySick,    // for `amount` seconds the Serve proxy on a head, by `pick`
  // Of others.
  GatewayDown,  // for `amount` seconds
};

struct Step {
  int number = 0;
  Duration at = {};  // since the beginning
  StepKind kind = StepKind::Create;
  std::string object_kind = {};
  std::string name = {};
  int amount = 0;
  std::uint64_t pick = 0;
  Json body = {};
  std::optional<Mischief> because = {};  // taken out with it

  std::string to_string() const;
};

struct Script {
  std::vector<Step> steps = {};  // by time
  std::size_t numbered = 0;      // with those that were taken out
  Duration length = {};
};

/// The same seed gives the same script; `mischiefs` only decides which steps are in it.
Script write_script(std::uint64_t seed, const Mischiefs& mischiefs);

}  // namespace manta::sim
