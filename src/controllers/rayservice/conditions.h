// The conditions of a RayService. Source: spec/05 §7, §9.3, §9.4.
#pragma once

#include "controllers/rayservice/draft.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace manta::controllers::rayservice {

inline constexpr std::string_view kReady = "Ready";
inline constexpr std::string_view kUpgradeInProgress = "UpgradeInProgress";
inline constexpr std::string_view kRollbackInProgress = "RollbackInProgress";
inline constexpr std::string_view kSuspending = "Suspending";
inline constexpr std::string_view kSuspended = "Suspended";

inline constexpr std::string_view kInitializing = "Initializing";
inline constexpr std::string_view kInitializingTimeout = "InitializingTimeout";
inline constexpr std::string_view kValidationFailed = "ValidationFailed";

/// Sets a condition of the draft's status.
void mark(Draft& draft, std::string_view type, std::string_view status, std::string_view reason,
          std::string message);
/// The reason of a condition; empty when it is not there.
std::string_view reason_of(const ray::RayServiceStatus& status, std::string_view type);
bool is_marked(const ray::RayServiceStatus& status, std::string_view type);

/// Both conditions of one that starts; their times are new.
void mark_initializing(Draft& draft, std::string_view message);

/// Ready and UpgradeInProgress as names and endpoints make them, with what is waited for in the
/// messages. Gives up on what has been initializing for too long: no cluster is named any more.
void update_conditions(Draft& draft, std::int32_t endpoints);

}  // namespace manta::controllers::rayservice
