// Digests and their text forms.
#pragma once

#include "base/result.h"

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace manta {

std::string sha256_hex(std::string_view data);
/// SHA-1 in base32 "extended hex" (0-9A-V), 32 characters: KubeRay's spec hashes. spec/01 §0.1
std::string sha1_base32hex(std::string_view data);
std::string base64_encode(std::string_view data);
Result<std::string> base64_decode(std::string_view text);
std::uint64_t fnv1a64(std::string_view data);

}  // namespace manta
