#include "operator/posix_zone.h"

#include <cctype>
#include <charconv>

namespace manta::operator_ {
namespace {

using std::chrono::seconds;

class Parser {
 public:
  explicit Parser(std::string_view text) : rest_(text) {}

  bool done() const { return rest_.empty(); }
  bool at(char c) const { return !rest_.empty() && rest_.front() == c; }
  bool take(char c) {
    if (!at(c)) return false;
    rest_.remove_prefix(1);
    return true;
  }
  bool name() {
    if (take('<')) {
      const auto end = rest_.find('>');
      if (end == std::string_view::npos) return false;
      rest_.remove_prefix(end + 1);
      return true;
    }
    std::size_t length = 0;
    while (length < rest_.size() && std::isalpha(static_cast<unsigned char>(rest_[length])))
      ++length;
    rest_.remove_prefix(length);
    return length >= 3;
  }
  // Digits; POSIX has no number that is longer than three.
  std::optional<int> number() {
    int value = 0;
    if (at('-')) return std::nullopt;
    const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
    if (error != std::errc{} || value > 999) return std::nullopt;
    rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
    return value;
  }
  // [+-]h[:mm[:ss]]
  std::optional<seconds> time() {
    const bool negative = take('-');
    if (!negative) take('+');
    const auto hours = number();
    if (!hours) return std::nullopt;
    seconds total = std::chrono::hours{*hours};
    for (int unit : {60, 1}) {
      if (!take(':')) break;
      const auto part = number();
      if (!part) return std::nullopt;
      total += seconds{*part * unit};
    }
    return negative ? -total : total;
  }
  std::optional<PosixZone::Change> change() {
    PosixZone::Change out;
    if (!take(',')) return std::nullopt;
    if (take('M')) {
      const auto month = number();
      if (!month || !take('.')) return std::nullopt;
      const auto week = number();
      if (!week || !take('.')) return std::nullopt;
      const auto day = number();
      if (!day || *month < 1 || *month > 12 || *week < 1 || *week > 5 || *day < 0 || *day > 6)
        return std::nullopt;
      out.month = *month, out.week = *week, out.day = *day;
    } else {
      out.kind = take('J') ? PosixZone::Change::Kind::Julian : PosixZone::Change::Kind::DayOfYear;
      const auto day = number();
      if (!day || *day < 0 || *day > 366) return std::nullopt;
      out.day = *day;
    }
    if (take('/')) {
      const auto at = time();
      if (!at) return std::nullopt;
      out.time = *at;
    }
    return out;
  }

 private:
  std::string_view rest_;
};

// Local midnight of the day, as if local time were UTC; plus the time of day.
std::chrono::sys_seconds local_instant(const PosixZone::Change& change, std::chrono::year year) {
  using namespace std::chrono;
  const auto first = sys_days{year / January / 1};
  switch (change.kind) {
    case PosixZone::Change::Kind::Month: {
      const auto wanted = month(static_cast<unsigned>(change.month));
      const weekday day(static_cast<unsigned>(change.day));
      if (change.week == 5) return sys_days{year / wanted / day[last]} + change.time;
      return sys_days{year / wanted / day[static_cast<unsigned>(change.week)]} + change.time;
    }
    case PosixZone::Change::Kind::Julian: {  // 1…365, 29 February never counts
      const bool after_february = year.is_leap() && change.day >= 60;
      return first + days{change.day - 1 + (after_february ? 1 : 0)} + change.time;
    }
    case PosixZone::Change::Kind::DayOfYear:
      return first + days{change.day} + change.time;
  }
  return first;
}

}  // namespace

seconds PosixZone::at(std::chrono::sys_seconds instant) const {
  if (!summer) return standard;
  const auto day = std::chrono::floor<std::chrono::days>(instant + standard);
  const auto year = std::chrono::year_month_day{day}.year();
  const auto begins = local_instant(to_summer, year) - standard;
  const auto ends = local_instant(to_standard, year) - *summer;
  const bool is_summer = begins < ends ? instant >= begins && instant < ends
                                       : instant >= begins || instant < ends;  // the south
  return is_summer ? *summer : standard;
}

std::optional<PosixZone> parse_posix_zone(std::string_view text) {
  Parser parser(text);
  PosixZone zone;
  if (!parser.name()) return std::nullopt;
  const auto west = parser.time();
  if (!west) return std::nullopt;
  zone.standard = -*west;
  if (parser.done()) return zone;
  if (!parser.name()) return std::nullopt;
  zone.summer = zone.standard + std::chrono::hours{1};
  if (!parser.at(',')) {
    const auto summer_west = parser.time();
    if (!summer_west) return std::nullopt;
    zone.summer = -*summer_west;
  }
  const auto begin = parser.change();
  const auto end = begin ? parser.change() : std::nullopt;
  if (!end || !parser.done()) return std::nullopt;
  zone.to_summer = *begin;
  zone.to_standard = *end;
  return zone;
}

}  // namespace manta::operator_
