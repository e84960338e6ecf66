// Checks of head and worker groups. Source: spec/01 §6.1 B.1-4.
#pragma once

#include "ray/validation_pod.h"

namespace manta::ray {

Fault check_head_group(const HeadGroupSpec& head);
Fault check_worker_groups(const RayClusterSpec& spec);

}  // namespace manta::ray
