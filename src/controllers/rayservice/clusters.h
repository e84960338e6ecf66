// The RayClusters of a RayService: made, followed in place, and deleted when nobody needs them.
// Source: spec/05 §4.1–4.3, §4.7.
#pragma once

#include "controllers/rayservice/draft.h"

namespace manta::controllers::rayservice {

/// How a cluster stands to what the user wants now, by its stored spec hash.
enum class Fit {
  Same,      // nothing to do
  Grown,     // worker groups were appended: the cluster is updated in place
  Refresh,   // of another operator version: its annotations are updated in place
  Absorb,    // of another operator version and another spec: the spec goes in place, Pods stay
  Different  // needs a new cluster
};
/// `may_refresh`: the operator's version counts (the active cluster, outside upgrades).
Fit fit_of(const ray::RayCluster& cluster, const Draft& draft, bool may_refresh);

/// The pending cluster as the spec asks for it now.
void create_pending(Draft& draft);
/// Nothing for Same and Different. `role`: "active" or "pending", for the event.
void update_in_place(Draft& draft, const ray::RayCluster& cluster, Fit fit, std::string_view role);
/// The spec says suspend: false, and the cluster was created suspended. RS-01
void resume_cluster(Draft& draft, const ray::RayCluster& cluster);

/// Deletes the clusters that the status does not name: at once when the RayService is deleted, else
/// after the delay, counted from times that are stored anyway. True: some are left.
bool delete_dangling(Draft& draft);

/// Before another upgrade begins: since when those are not needed that wait for the delay. The
/// status forgets it.
void note_dropped(Draft& draft);

kube::Write deletion_of(const ray::RayCluster& cluster, std::string_view suffix);

}  // namespace manta::controllers::rayservice
