// The one place where text is quoted for a shell.
#pragma once

#include <string>
#include <string_view>

namespace manta {

/// The text as one word of a POSIX shell: unchanged when it only has characters that no shell
/// reads specially, else in single quotes. Any byte string without NUL comes back from a shell
/// unchanged.
std::string shell_quote(std::string_view text);

}  // namespace manta
