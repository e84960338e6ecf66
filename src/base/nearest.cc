#include "base/nearest.h"

#include "base/text.h"

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

namespace manta {
namespace {

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

std::string_view nearest(std::string_view word, std::span<const std::string> allowed) {
  const auto wanted = lower_case(word);
  std::string_view found;
  auto least = kMistakes + 1;
  for (const auto& name : allowed) {
    if (name.size() > wanted.size() + kMistakes || wanted.size() > name.size() + kMistakes)
      continue;
    const auto here = distance(wanted, lower_case(name));
    if (here >= least) continue;
    least = here;
    found = name;
  }
  return found;
}

}  // namespace manta
