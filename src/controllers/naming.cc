#include "controllers/naming.h"

#include "base/hash.h"

#include <fmt/format.h>

namespace manta::controllers {

std::string derived_suffix(std::string_view uid, std::string_view salt, Time now) {
  constexpr std::string_view kAlphabet = "bcdfghjklmnpqrstvwxz2456789";  // Kubernetes' own
  auto bits = fnv1a64(fmt::format("{}/{}/{}", uid, salt, now.time_since_epoch().count()));
  bits ^= bits >> 29;  // FNV's low bits alone are weak on short inputs
  bits *= 0xbf58476d1ce4e5b9u;
  bits ^= bits >> 32;
  std::string suffix;
  for (int i = 0; i < 5; ++i, bits /= kAlphabet.size())
    suffix += kAlphabet[bits % kAlphabet.size()];
  return suffix;
}

}  // namespace manta::controllers
