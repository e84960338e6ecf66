// Text taken apart.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace manta {

/// The parts between separators, empty ones too: always one more than there are separators.
std::vector<std::string> split(std::string_view text, char separator);

/// A to Z as a to z; everything else stays.
std::string lower_case(std::string_view text);

/// Without these characters at both ends.
std::string_view trim(std::string_view text, std::string_view blank = " \t");

}  // namespace manta
