// However the network cuts what arrives, it is read the same.
#pragma once

#include "fuzz/fuzz.h"

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

namespace manta::fuzz {

/// How many bytes come next.
using PieceSize = std::function<std::size_t()>;

/// `read` gives what was read of the bytes, as text: whole, byte by byte, and in pieces of any
/// size.
inline void check_cuts(std::string_view bytes, Input& in,
                       const std::function<std::string(std::string_view, PieceSize)>& read) {
  const auto whole = read(bytes, [&] { return bytes.size(); });
  const auto single = read(bytes, [] { return std::size_t{1}; });
  const auto some = read(bytes, [&] { return in.number<std::size_t>(1, 40); });
  FUZZ_CHECK(single == whole, bytes, single, whole);
  FUZZ_CHECK(some == whole, bytes, some, whole);
}

}  // namespace manta::fuzz
