// The `ray start` command of a Pod: rayStartParams, what the operator adds to them, and the text.
//
//   StartParams params = group.rayStartParams;
//   apply_group_resources(params, group.resources);
//   …
//   derive_from_limits(params, container);
//   std::string command = ray_start_text(RayNode::Head, params);
//
// Users' values stay live shell text, as KubeRay has it: `redis-password: $REDIS_PASSWORD` relies
// on that. spec/03 §3.3, §3.4, §13.1
#pragma once

#include "base/json.h"
#include "kube/object.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace manta::ray {

enum class RayNode { Head, Worker };

/// Flag name (without dashes) to value. `true` and `false` make switches.
using StartParams = kube::StringMap;

/// The group's `resources`: cpu, memory and GPUs become their flags, the rest --resources. These
/// overwrite. Quantities that cannot be read are skipped.
void apply_group_resources(StartParams& params, const kube::StringMap& resources);
/// The group's `labels` become --labels, overwriting.
void apply_group_labels(StartParams& params, const kube::StringMap& labels);
/// Flags that every head or worker has unless the user says otherwise; --block always.
void apply_head_defaults(StartParams& params);
void apply_worker_defaults(StartParams& params, std::string_view gcs_address);
/// num-cpus, memory, num-gpus and accelerators from the Ray container's resources, where absent.
void derive_from_container(StartParams& params, const JsonObject& ray_container);

/// True when `resources` is no JSON object of numbers in any of the spellings that are accepted: it
/// goes to Ray as it is, and accelerators in the container's limits are not added to it. SEEN-12
bool unreadable_resources(const StartParams& params);

std::string ray_start_text(RayNode node, const StartParams& params);

/// The head's `port` as the user wrote it, else "6379".
std::string gcs_port(const StartParams& head_params);
/// A port that must be a number: `fallback` when absent or no 32-bit integer.
std::int32_t port_param(const StartParams& params, std::string_view key, std::int32_t fallback);

/// An extended resource that Ray counts as a GPU: "….gpu", or an NVIDIA MIG slice.
bool is_gpu_resource(std::string_view name);
/// The nearest double: "0.3" is 0.3, where Kubernetes' own approximation multiplies by 0.1. Nothing
/// for what is no quantity. SEEN-13
std::optional<double> quantity_as_float(std::string_view text);
/// Text of a quantity in JSON (a string or a number); empty for anything else.
std::string quantity_text(const Json& value);

}  // namespace manta::ray
