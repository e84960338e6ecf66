// A scripted cert-manager: it issues when a test says so.
#pragma once

#include "world.h"

namespace manta::integration {

/// The kinds of cert-manager, served before the operator starts.
void serve_cert_manager(World& world);
/// Every Certificate as it is now, and its Secret where there is none.
void issue_certificates(World& world);

}  // namespace manta::integration
