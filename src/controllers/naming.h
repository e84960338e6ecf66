// Names that upstream makes at random, derived from what a plan is a function of.
#pragma once

#include "base/time.h"

#include <string>
#include <string_view>

namespace manta::controllers {

/// Five characters of bcdfghjklmnpqrstvwxz2456789 from (uid, salt, now): the same plan gives the
/// same name, another attempt at another instant another one.
std::string derived_suffix(std::string_view uid, std::string_view salt, Time now);

}  // namespace manta::controllers
