#include "cli/command_words.h"

#include "base/nearest.h"
#include "base/time.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace manta::cli {
namespace {

constexpr std::chrono::seconds kLongest{1'000'000'000};

}  // namespace

Result<std::chrono::seconds> parse_timeout(std::string_view text) {
  const bool plain =
      !text.empty() && text.find_first_not_of("0123456789.") == std::string_view::npos;
  const auto time = parse_go_duration(plain ? std::string(text) + "s" : std::string(text));
  if (!time || *time <= Duration{} || *time > kLongest)
    return failed(ErrorCode::Invalid,
                  fmt::format("\"{}\" is no time to wait; allowed are seconds (600) and durations "
                              "(90s, 10m, 1h30m), from above 0 to {} s",
                              text, kLongest.count()));
  return std::chrono::ceil<std::chrono::seconds>(*time);
}

std::string unknown_command(std::string_view parent, std::string_view word,
                            const std::vector<std::string>& allowed) {
  const auto near = nearest(word, allowed);
  return fmt::format("{0} has no command \"{1}\"{2}; there are {3} (see {0} --help)", parent, word,
                     near.empty() ? "" : fmt::format(", is \"{}\" meant?", near),
                     fmt::join(allowed, ", "));
}

}  // namespace manta::cli
