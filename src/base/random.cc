#include "base/random.h"

#include "base/result.h"

#include <fmt/format.h>
#include <sys/random.h>

namespace manta {

std::uint64_t SystemRandom::next() {
  std::uint64_t value = 0;
  MANTA_CHECK(getentropy(&value, sizeof value) == 0);
  return value;
}

std::uint64_t SeededRandom::next() {
  std::uint64_t z = state_ += 0x9e3779b97f4a7c15;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
  z = (z ^ z >> 27) * 0x94d049bb133111eb;
  return z ^ z >> 31;
}

std::string random_suffix(Random& random, std::size_t length) {
  static constexpr std::string_view kAlphabet = "bcdfghjklmnpqrstvwxz2456789";
  std::string text;
  for (std::size_t i = 0; i < length; ++i) text += kAlphabet[random.next() % kAlphabet.size()];
  return text;
}

std::string random_uuid(Random& random) {
  const std::uint64_t a = (random.next() & ~0xf000ull) | 0x4000;           // version 4
  const std::uint64_t b = (random.next() & ~(3ull << 62)) | (2ull << 62);  // RFC 4122 variant
  return fmt::format("{:08x}-{:04x}-{:04x}-{:04x}-{:012x}", a >> 32, a >> 16 & 0xffff, a & 0xffff,
                     b >> 48, b & 0xffffffffffff);
}

}  // namespace manta
