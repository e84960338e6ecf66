// UTF-8, where bytes that others made become text.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace manta {

/// Bytes of the character at the front of `text`; 0 when there is none (end, overlong forms,
/// surrogates, beyond U+10FFFF, cut off).
std::size_t utf8_length(std::string_view text);
bool is_utf8(std::string_view text);

/// JSON text in which everything that is no character is U+FFFD, as Go's decoder reads it: each
/// byte that is no UTF-8, each \uXXXX that is half of a pair. Python writes such halves for the
/// names of files that are no UTF-8, and strict parsers refuse the whole document for one of them.
/// Valid JSON is given back as it is; linear.
std::string mend_json_text(std::string_view json);

}  // namespace manta
