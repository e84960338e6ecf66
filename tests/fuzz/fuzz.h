// What every fuzzer here shares: checks, and documents made from the fuzzer's bytes.
//
//   FUZZ(data) {                       // one input
//     Input in(data);
//     const Json document = in.json();
//     FUZZ_CHECK(parse_json(dump_json(document)), dump_json(document));
//   }
#pragma once

#include "base/json.h"
#include "base/result.h"

#include <fuzzer/FuzzedDataProvider.h>

#include <concepts>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <string>
#include <string_view>

namespace manta::fuzz {

/// A law is broken: says which and shows the values, then aborts, which libFuzzer records.
[[noreturn]] inline void broken(const char* law, const char* file, int line,
                                std::initializer_list<std::string_view> shown) {
  std::fprintf(stderr, "%s:%d: broken: %s\n", file, line, law);
  for (const auto text : shown)
    std::fprintf(stderr, "  [%.*s]\n", static_cast<int>(text.size()), text.data());
  std::abort();
}
#define FUZZ_CHECK(law, ...) \
  ((law) ? void(0) : ::manta::fuzz::broken(#law, __FILE__, __LINE__, {__VA_ARGS__}))

/// Numbers are compared by value: a double that is whole is written without a point (as Go does),
/// so it reads back as an integer. Everything else as it is; objects without order.
inline bool same(const Json& a, const Json& b) {
  if (a.is_number() && b.is_number()) {
    if (a.is_double() || b.is_double()) {
      const auto real = [](const Json& n) {
        return n.is_double()  ? n.get_double()
               : n.is_int64() ? static_cast<double>(n.get_int64())
                              : static_cast<double>(n.get_uint64());
      };
      return real(a) == real(b);
    }
    return a == b;
  }
  if (a.kind() != b.kind()) return false;
  if (const auto* object = a.if_object()) {
    const auto& other = b.get_object();
    if (object->size() != other.size()) return false;
    for (const auto& [key, value] : *object) {
      const auto* match = other.if_contains(key);
      if (!match || !same(value, *match)) return false;
    }
    return true;
  }
  if (const auto* array = a.if_array()) {
    const auto& other = b.get_array();
    if (array->size() != other.size()) return false;
    for (std::size_t i = 0; i < array->size(); ++i)
      if (!same((*array)[i], other[i])) return false;
    return true;
  }
  return a == b;
}

/// The fuzzer's bytes as a stream of choices. When they run out every choice is the first one.
class Input {
 public:
  explicit Input(std::string_view bytes)
      : bytes_(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()) {}

  bool flag() { return bytes_.ConsumeBool(); }
  /// One time in `n`; never at the end of the bytes.
  bool rarely(unsigned n) { return number(0u, n - 1) == n - 1 && n > 1; }
  template <std::integral T>
  T number(T low, T high) {
    return bytes_.ConsumeIntegralInRange<T>(low, high);
  }
  template <std::integral T>
  T any() {
    return bytes_.ConsumeIntegral<T>();
  }
  double real() { return bytes_.ConsumeFloatingPoint<double>(); }
  std::string bytes(std::size_t limit) { return bytes_.ConsumeRandomLengthString(limit); }
  std::string rest() { return bytes_.ConsumeRemainingBytesAsString(); }
  std::size_t left() { return bytes_.remaining_bytes(); }
  std::string_view one_of(std::span<const std::string_view> words) {
    return words[number<std::size_t>(0, words.size() - 1)];
  }
  std::string_view one_of(std::initializer_list<std::string_view> words) {
    return one_of(std::span(words.begin(), words.size()));
  }

  Json word(std::initializer_list<std::string_view> words) { return Json(one_of(words)); }

  /// Valid UTF-8: short words that parsers know, or bytes with what is no UTF-8 replaced.
  std::string text(std::size_t limit = 24) {
    static constexpr std::string_view kWords[] = {
        "",      "a",     "b",       "ray-head", "x/y",  "true", "null", "1",     "-1",
        "0",     "500m",  "2Gi",     "1e3",      "0.5",  "~",    "<<",   "- a",   "a: b",
        "# c",   "a #b",  "'",       "\"",       "$(A)", "$$",   "`id`", "\\",    "\n",
        "a\nb",  " a\n",  "\n a",    "a\n\n",    "\t",   "yes",  "0x1F", "=",     "2026-01-02",
        "token", "redis", "rocksdb", "{}",       "[",    "*a",   "&a",   "1_000", "\u00e9\u2028"};
    if (!rarely(3)) return std::string(one_of(kWords));
    return utf8(bytes(limit));
  }

  /// Any document, at most `depth` levels deep.
  Json json(int depth = 5) {
    switch (number(0, depth > 0 ? 8 : 6)) {
      case 0:
        return nullptr;
      case 1:
        return flag();
      case 2:
        return number<std::int64_t>(-2, 12);
      case 3:
        return any<std::int64_t>();
      case 4: {
        const double value = real();
        return value == value && value - value == 0 ? Json(value) : Json(nullptr);
      }
      case 5:
      case 6:
        return Json(text());
      case 7: {
        JsonArray array;
        for (int n = number(0, 5); n > 0; --n) array.push_back(json(depth - 1));
        return array;
      }
      default: {
        JsonObject object;
        for (int n = number(0, 5); n > 0; --n) object[text()] = json(depth - 1);
        return object;
      }
    }
  }

  static std::string utf8(std::string text) {
    std::string out;
    for (std::size_t i = 0; i < text.size();) {
      const auto c = static_cast<unsigned char>(text[i]);
      const std::size_t length = c < 0x80 ? 1 : c >= 0xc2 && c < 0xe0 ? 2 : 0;
      bool valid = length == 1 || (length == 2 && i + 1 < text.size() &&
                                   (static_cast<unsigned char>(text[i + 1]) & 0xc0) == 0x80);
      if (valid)
        out.append(text, i, length);
      else
        out += '?';
      i += valid ? length : 1;
    }
    return out;
  }

 private:
  FuzzedDataProvider bytes_;
};

}  // namespace manta::fuzz

#define FUZZ(data)                                                                     \
  static void fuzz_one(std::string_view data);                                         \
  extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) { \
    fuzz_one(std::string_view(reinterpret_cast<const char*>(bytes), size));            \
    return 0;                                                                          \
  }                                                                                    \
  static void fuzz_one(std::string_view data)
