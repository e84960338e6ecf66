// A RayService in a queue of Kueue. Kueue holds it back by rayClusterConfig.suspend, which a user
// must not set: until it runs, and again when something more urgent needs its quota. Its clusters
// then hold no Pods, and nothing else is done: what Kueue changes in the templates while it admits
// or evicts is no upgrade. Source: spec/06 §11.
#pragma once

#include "controllers/rayservice/draft.h"

namespace manta::controllers::rayservice {

inline constexpr std::string_view kHeldByQueue = "HeldByQueue";  // a reason of Ready

/// Whether its label names a queue.
bool is_queued(const kube::ObjectMeta& meta);

/// True when the service is held back; its clusters are suspended then, and nothing else is to be
/// planned. What it waits in the queue does not count as initializing.
bool plan_hold(Draft& draft);

/// Whether plan_hold has suspended a cluster, which therefore is this controller's to resume. A
/// cluster that Kueue suspended by itself is Kueue's.
bool was_held(const ray::RayCluster& cluster);
/// The patch that does the one or undoes it.
kube::Write hold_cluster(const ray::RayCluster& cluster, bool hold);
/// Keeps the mark where the annotations of a cluster are made anew.
void keep_hold(Json& goal, const ray::RayCluster& cluster);

}  // namespace manta::controllers::rayservice
