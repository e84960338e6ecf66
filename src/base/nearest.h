// What somebody may have meant who wrote a word that there is not.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace manta {

/// The one of `allowed` from which `word` differs least, in two letters at most; capitals do not
/// count. Empty when none is that near.
std::string_view nearest(std::string_view word, std::span<const std::string> allowed);

}  // namespace manta
