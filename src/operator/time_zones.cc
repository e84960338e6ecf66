#include "operator/time_zones.h"

#include "operator/posix_zone.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <vector>

namespace manta::operator_ {
namespace {

using std::chrono::seconds;

struct Zone {
  std::vector<std::int64_t> changes = {};    // instants, ascending
  std::vector<seconds> offsets = {};         // from changes[i] on
  seconds before = {};                       // before the first change
  std::optional<PosixZone> afterwards = {};  // after the last one

  seconds at(Time time) const {
    const auto instant = std::chrono::floor<seconds>(time);
    const auto count = instant.time_since_epoch().count();
    const auto next = std::ranges::upper_bound(changes, count);
    if (next == changes.end() && afterwards) return afterwards->at(instant);
    if (next == changes.begin()) return before;
    return offsets[static_cast<std::size_t>(next - changes.begin()) - 1];
  }
};

class Bytes {
 public:
  explicit Bytes(std::string_view bytes) : rest_(bytes) {}
  bool has(std::size_t count) const { return rest_.size() >= count; }
  void skip(std::size_t count) { rest_.remove_prefix(std::min(count, rest_.size())); }
  std::int64_t number(std::size_t width) {
    std::uint64_t value = rest_.empty() || !(rest_.front() & 0x80) ? 0 : ~std::uint64_t{0};
    for (std::size_t i = 0; i < width && i < rest_.size(); ++i)
      value = value << 8 | static_cast<unsigned char>(rest_[i]);
    skip(width);
    return static_cast<std::int64_t>(value);
  }
  std::string_view rest() const { return rest_; }

 private:
  std::string_view rest_;
};

struct Header {
  char version = 0;
  std::size_t utc_flags = 0, standard_flags = 0, leaps = 0, changes = 0, types = 0, letters = 0;
  std::size_t size(std::size_t width) const {
    return changes * (width + 1) + types * 6 + letters + leaps * (width + 4) + standard_flags +
           utc_flags;
  }
};

std::optional<Header> read_header(Bytes& bytes) {
  constexpr std::size_t kLimit = 1 << 16;
  if (!bytes.has(44) || !bytes.rest().starts_with("TZif")) return std::nullopt;
  Header header{.version = bytes.rest()[4]};
  bytes.skip(20);
  for (auto* count : {&header.utc_flags, &header.standard_flags, &header.leaps, &header.changes,
                      &header.types, &header.letters}) {
    const auto value = bytes.number(4);
    if (value < 0 || static_cast<std::size_t>(value) > kLimit) return std::nullopt;
    *count = static_cast<std::size_t>(value);
  }
  return header;
}

std::optional<Zone> read_table(Bytes& bytes, const Header& header, std::size_t width) {
  if (!bytes.has(header.size(width)) || header.types == 0) return std::nullopt;
  Zone zone;
  for (std::size_t i = 0; i < header.changes; ++i) zone.changes.push_back(bytes.number(width));
  std::vector<std::size_t> kinds;
  for (std::size_t i = 0; i < header.changes; ++i)
    kinds.push_back(static_cast<std::size_t>(bytes.number(1) & 0xff));
  std::vector<seconds> types;
  std::optional<seconds> first_standard;
  for (std::size_t i = 0; i < header.types; ++i) {
    types.push_back(seconds{bytes.number(4)});
    if (bytes.number(1) == 0 && !first_standard) first_standard = types.back();
    bytes.skip(1);
  }
  for (const auto kind : kinds) {
    if (kind >= types.size()) return std::nullopt;
    zone.offsets.push_back(types[kind]);
  }
  zone.before = first_standard.value_or(types.front());
  bytes.skip(header.letters + header.leaps * (width + 4) + header.standard_flags +
             header.utc_flags);
  if (!std::ranges::is_sorted(zone.changes)) return std::nullopt;
  return zone;
}

}  // namespace

Result<ray::ZoneOffset> parse_time_zone(std::string_view text) {
  const auto bad = failed(ErrorCode::Invalid, "not a TZif file");
  Bytes bytes(text);
  auto header = read_header(bytes);
  if (!header) return bad;
  std::optional<Zone> zone;
  if (header->version == 0) {
    zone = read_table(bytes, *header, 4);
  } else {
    if (!bytes.has(header->size(4))) return bad;
    bytes.skip(header->size(4));  // the old table, for old readers
    header = read_header(bytes);
    if (!header) return bad;
    zone = read_table(bytes, *header, 8);
    auto footer = bytes.rest();
    if (footer.starts_with('\n')) footer.remove_prefix(1);
    if (zone) zone->afterwards = parse_posix_zone(footer.substr(0, footer.find('\n')));
  }
  if (!zone) return bad;
  return [shared = std::make_shared<const Zone>(std::move(*zone))](Time time) {
    return shared->at(time);
  };
}

TimeZones::TimeZones(Environment environment, std::vector<std::string> folders)
    : environment_(std::move(environment)), folders_(std::move(folders)) {}

std::optional<ray::ZoneOffset> TimeZones::load(const std::string& path) const {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored)) return std::nullopt;
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  auto zone = parse_time_zone(text.str());
  return zone ? std::optional(std::move(*zone)) : std::nullopt;
}

std::optional<ray::ZoneOffset> TimeZones::local() const {
  if (auto name = environment_("TZ")) {
    if (name->starts_with(':')) name->erase(0, 1);
    if (name->starts_with('/'))
      if (auto zone = load(*name)) return zone;
    for (const auto& folder : folders_)
      if (auto zone = load(folder + "/" + *name)) return zone;
  } else if (auto zone = load("/etc/localtime")) {
    return zone;
  }
  return [](Time) { return seconds{0}; };
}

std::optional<ray::ZoneOffset> TimeZones::find(std::string_view name) {
  if (name.empty() || name == "UTC") return [](Time) { return seconds{0}; };
  if (name.find("..") != std::string_view::npos || name.starts_with('/') ||
      name.find('\\') != std::string_view::npos)
    return std::nullopt;
  if (const auto known = known_.find(name); known != known_.end()) return known->second;
  std::optional<ray::ZoneOffset> zone;
  if (name == "Local") {
    zone = local();
  } else {
    for (const auto& folder : folders_)
      if (!zone) zone = load(folder + "/" + std::string(name));
  }
  if (known_.size() < 1024) known_.emplace(name, zone);  // names come from users
  return zone;
}

}  // namespace manta::operator_
