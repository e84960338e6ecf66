// Time zones, from the system's database of TZif files.
#pragma once

#include "base/result.h"
#include "operator/options.h"
#include "ray/cron.h"

#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace manta::operator_ {

/// The zone in a TZif file's bytes (RFC 9636, versions 1 to 4), with the rule that its footer gives
/// for the time after its table. Fails on anything else.
Result<ray::ZoneOffset> parse_time_zone(std::string_view bytes);

/// Reads files when first asked for, and keeps them. "" and "UTC" are UTC; "Local" is what TZ
/// names, else /etc/localtime, else UTC. Names with "..", or a leading "/" or "\", are unknown.
class TimeZones {
 public:
  explicit TimeZones(Environment environment, std::vector<std::string> folders = {
                                                  "/usr/share/zoneinfo", "/usr/lib/zoneinfo",
                                                  "/usr/share/lib/zoneinfo", "/etc/zoneinfo"});
  std::optional<ray::ZoneOffset> find(std::string_view name);

 private:
  std::optional<ray::ZoneOffset> load(const std::string& path) const;
  std::optional<ray::ZoneOffset> local() const;

  Environment environment_;
  std::vector<std::string> folders_;
  std::map<std::string, std::optional<ray::ZoneOffset>, std::less<>> known_ = {};
};

}  // namespace manta::operator_
