#include "cli/command_words.h"

#include "base/time.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>
#include <utility>

namespace manta::cli {
namespace {

constexpr std::chrono::seconds kLongest{1'000'000'000};
/// More mistakes than this make another word.
constexpr std::size_t kMistakes = 2;

/// How many letters must be changed, left out or put in to get from one word to the other.
std::size_t distance(std::string_view from, std::string_view to) {
  std::vector<std::size_t> row(to.size() + 1);
  std::iota(row.begin(), row.end(), 0);
  for (std::size_t i = 0; i < from.size(); ++i) {
    auto diagonal = std::exchange(row[0], i + 1);
    for (std::size_t j = 0; j < to.size(); ++j) {
      const auto changed = diagonal + (from[i] == to[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({changed, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row.back();
}

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
  const auto nearest = std::ranges::min_element(
      allowed, {}, [&](const std::string& name) { return distance(word, name); });
  const bool near = nearest != allowed.end() && distance(word, *nearest) <= kMistakes;
  return fmt::format("{0} has no command \"{1}\"{2}; there are {3} (see {0} --help)", parent, word,
                     near ? fmt::format(", is \"{}\" meant?", *nearest) : "",
                     fmt::join(allowed, ", "));
}

}  // namespace manta::cli
