// How kubectl shows a span.
#include "local/apiserver/table.h"

#include <fmt/format.h>

namespace manta::local {

std::string human_duration(Duration span) {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(span).count();
  if (seconds < -1) return "<invalid>";
  if (seconds < 0) return "0s";
  if (seconds < 2L * 60) return fmt::format("{}s", seconds);
  const auto minutes = seconds / 60;
  if (minutes < 10)
    return seconds % 60 ? fmt::format("{}m{}s", minutes, seconds % 60)
                        : fmt::format("{}m", minutes);
  if (minutes < 3L * 60) return fmt::format("{}m", minutes);
  const auto hours = minutes / 60;
  if (hours < 8)
    return minutes % 60 ? fmt::format("{}h{}m", hours, minutes % 60) : fmt::format("{}h", hours);
  if (hours < 48) return fmt::format("{}h", hours);
  const auto days = hours / 24;
  if (hours < 8L * 24)
    return hours % 24 ? fmt::format("{}d{}h", days, hours % 24) : fmt::format("{}d", days);
  if (days < 2L * 365) return fmt::format("{}d", days);
  const auto years = days / 365;
  if (days < 8L * 365)
    return days % 365 ? fmt::format("{}y{}d", years, days % 365) : fmt::format("{}y", years);
  return fmt::format("{}y", years);
}

}  // namespace manta::local
