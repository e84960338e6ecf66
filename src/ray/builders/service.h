// Services in front of a cluster: its head, its Serve proxies, its multi-host workers.
// Source: spec/03 §5.1–5.5.
#pragma once

#include "base/json.h"
#include "base/result.h"
#include "ray/builders/options.h"
#include "ray/types.h"

#include <cstdint>
#include <map>
#include <string>

namespace manta::ray {

/// Ports of the head's Ray container by name (Ray's usual ones when it declares none), and metrics
/// in any case. A port without name is called "<number>-port".
std::map<std::string, std::int64_t, std::less<>> service_ports(const RayClusterSpec& spec);
/// What the head Service calls "dashboard", else 8265.
std::int64_t dashboard_port(const RayClusterSpec& spec);

/// Declares the container ports where the head's start parameters put them, and the usual ones in a
/// container that declares none; others that are declared stay. SEEN-09, behind its gate.
void declare_head_ports(JsonObject& ray_container, const StringMap& params);
/// Likewise the one port that workers have, metrics.
void declare_worker_ports(JsonObject& ray_container, const StringMap& params);
/// The cluster with that done to its head template, for the objects that look there for ports.
RayCluster with_declared_ports(RayCluster cluster);
/// The head's container port named exactly "serve", else 8000.
std::int64_t serve_container_port(const RayClusterSpec& spec);

Json build_head_service(const RayCluster& cluster, const BuildOptions& options);
/// In front of whatever cluster a RayJob or RayService runs on now; keeps its name when that
/// changes.
Json build_head_service(const RayJob& job, const RayCluster& cluster, const BuildOptions& options);
Json build_head_service(const RayService& service, const RayCluster& cluster,
                        const BuildOptions& options);

/// All fail when the head declares ports but none for Serve.
Result<Json> build_serve_service(const RayCluster& cluster);
Result<Json> build_serve_service(const RayService& service, const RayCluster& cluster);
/// One for each cluster, while an incremental upgrade shifts traffic between two.
Result<Json> build_incremental_serve_service(const RayService& service, const RayCluster& cluster);

/// True when a group has several hosts a replica, which find each other by this Service.
bool needs_headless_service(const RayClusterSpec& spec);
Json build_headless_worker_service(const RayCluster& cluster);

}  // namespace manta::ray
