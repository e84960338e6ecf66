// What Ray's dashboard sends on the log stream: the pieces it comes in change nothing.
#include "fuzz/fuzz.h"
#include "submitter/frames.h"

using namespace manta;
using namespace manta::fuzz;
using namespace manta::submitter;

static std::string read_all(std::string_view bytes, std::size_t step) {
  std::string seen;
  FrameReader reader({.on_data = [&](std::string_view data) { seen += data; },
                      .on_ping = [&](std::string_view data) { seen.append("ping ").append(data); },
                      .on_close = [&](std::uint16_t code) { seen += std::to_string(code); }});
  while (!bytes.empty()) {
    const auto piece = bytes.substr(0, step);
    bytes.remove_prefix(piece.size());
    if (const auto fed = reader.feed(piece); !fed) return seen + fed.error().message;
  }
  return seen;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  FUZZ_CHECK(read_all(bytes, 1) == read_all(bytes, size + 1), "pieces", bytes);
  return 0;
}
