// The RayJob's conditions: what a user should know and no other field of the status tells. A RayJob
// that is well has none. Upstream has no such list.
#pragma once

#include "controllers/rayjob/draft.h"

#include <string>
#include <string_view>

namespace manta::controllers::rayjob {

inline constexpr std::string_view kNameConflict = "NameConflict";    // RJ-09
inline constexpr std::string_view kInvalidUpdate = "InvalidUpdate";  // RJ-21
inline constexpr std::string_view kUnknownMode = "UnknownSubmissionMode";
inline constexpr std::string_view kCleanupNotApplicable = "CleanupNotApplicable";  // RJ-12
inline constexpr std::string_view kSubmitterTrouble = "SubmitterTrouble";
inline constexpr std::string_view kSubmitterEnded = "SubmitterEnded";    // RJ-05
inline constexpr std::string_view kDashboardSilent = "DashboardSilent";  // RJ-10
inline constexpr std::string_view kJobUnknown = "JobUnknown";
inline constexpr std::string_view kWaitingForUser = "WaitingForUser";    // RJ-18
inline constexpr std::string_view kHeadInitFailing = "HeadInitFailing";  // RJ-37

/// Makes the condition True; the first time also a Warning event of that reason.
void give_notice(Draft& draft, std::string_view type, std::string message);
void take_notice_back(Draft& draft, std::string_view type);

}  // namespace manta::controllers::rayjob
