#include "base/hash.h"

#include <fmt/format.h>
#include <openssl/evp.h>

namespace manta {
namespace {

std::string digest(const EVP_MD* kind, std::string_view data) {
  unsigned char out[EVP_MAX_MD_SIZE];
  unsigned int size = 0;
  MANTA_CHECK(EVP_Digest(data.data(), data.size(), out, &size, kind, nullptr) == 1);
  return std::string(reinterpret_cast<const char*>(out), size);
}

constexpr std::string_view kBase64 =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

}  // namespace

std::string sha256_hex(std::string_view data) {
  std::string text;
  for (const char c : digest(EVP_sha256(), data))
    text += fmt::format("{:02x}", static_cast<unsigned char>(c));
  return text;
}

std::string sha1_base32hex(std::string_view data) {
  static constexpr std::string_view kAlphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUV";
  std::string text;
  std::uint32_t bits = 0;
  int have = 0;
  for (const char c : digest(EVP_sha1(), data)) {  // 160 bits are 32 characters, no padding
    bits = bits << 8 | static_cast<unsigned char>(c);
    for (have += 8; have >= 5; have -= 5) text += kAlphabet[bits >> (have - 5) & 31];
  }
  return text;
}

std::string base64_encode(std::string_view data) {
  std::string text;
  text.reserve((data.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < data.size(); i += 3) {
    const auto left = data.size() - i;
    const auto byte = [&](std::size_t k) -> std::uint32_t {
      return k < left ? static_cast<unsigned char>(data[i + k]) : 0;
    };
    const std::uint32_t bits = byte(0) << 16 | byte(1) << 8 | byte(2);
    text += kBase64[bits >> 18];
    text += kBase64[bits >> 12 & 63];
    text += left > 1 ? kBase64[bits >> 6 & 63] : '=';
    text += left > 2 ? kBase64[bits & 63] : '=';
  }
  return text;
}

Result<std::string> base64_decode(std::string_view text) {
  std::string data;
  data.reserve(text.size() / 4 * 3);
  std::uint32_t bits = 0;
  int have = 0;
  std::size_t count = 0, padding = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '\n' || c == '\r') continue;  // as Go's decoder; kubeconfigs are sometimes wrapped
    ++count;
    if (c == '=') {
      ++padding;
      continue;
    }
    const auto value = kBase64.find(c);
    if (value == std::string_view::npos || padding > 0)
      return failed(ErrorCode::Invalid,
                    fmt::format("not base64: {:?} at byte {}", text.substr(i, 1), i));
    bits = bits << 6 | static_cast<std::uint32_t>(value);
    if ((have += 6) >= 8) data += static_cast<char>(bits >> (have -= 8) & 255);
  }
  if (count % 4 != 0 || padding > 2)
    return failed(ErrorCode::Invalid,
                  "not base64: the length with padding must be a multiple of 4");
  return data;
}

std::uint64_t fnv1a64(std::string_view data) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char c : data) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return hash;
}

}  // namespace manta
