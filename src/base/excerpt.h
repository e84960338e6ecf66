// What others wrote, in a length that a status, a condition or an event can hold.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace manta {

/// Of a message in a status: what a person reads. (Kubernetes takes 32,768 bytes in a condition,
/// and an object of 1.5 MiB in all.)
inline constexpr std::size_t kLongestMessage = 8192;

/// `text` itself when it has at most `most` bytes (128 or more). Else its first line, as far as a
/// quarter of them goes, how much is left out, and its end, where a traceback has its error: at
/// most `most` bytes, whole UTF-8 characters.
std::string excerpt(std::string_view text, std::size_t most);

}  // namespace manta
