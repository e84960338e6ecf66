// UTF-8, where bytes that others made become text.
#pragma once

#include <cstddef>
#include <string_view>

namespace manta {

/// Bytes of the character at the front of `text`; 0 when there is none (end, overlong forms,
/// surrogates, beyond U+10FFFF, cut off).
std::size_t utf8_length(std::string_view text);
bool is_utf8(std::string_view text);

}  // namespace manta
