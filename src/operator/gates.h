// Feature gates: names, defaults, and the --feature-gates text. Source: spec/07 §6.
#pragma once

#include "base/result.h"
#include "controllers/settings.h"

#include <map>
#include <string>
#include <string_view>

namespace manta::operator_ {

using Gates = std::map<std::string, bool, std::less<>>;

Gates default_gates();
/// "Name=bool,…": applied left to right; AllAlpha and AllBeta move the gates of that stage that are
/// not named. Fails naming the gate and what is wrong.
Result<Gates> parse_gates(std::string_view text);
void apply_gates(const Gates& gates, controllers::Settings& settings);

}  // namespace manta::operator_
