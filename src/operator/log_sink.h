// Log lines in the shape of KubeRay's (zap's) encoders, on stderr and in a file. Source: spec/07
// §10.
#pragma once

#include "base/log.h"
#include "base/result.h"
#include "base/time.h"
#include "operator/log_file.h"

#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace manta::operator_ {

enum class LogFormat { Json, Console };

/// One line, without its end. A field named "logger" becomes the logger's name; an error line's
/// "error" stands last.
std::string format_log_line(LogFormat format, log::Level level, Time now, std::string_view message,
                            std::initializer_list<log::Field> fields);

struct LogOptions {
  LogFormat console = LogFormat::Json;
  std::optional<log::Level> console_level = log::Level::Info;  // nothing: no line at all
  bool sampled = false;                                        // the console; a file has every line
  LogFile::Options file = {};                                  // no path: none. Its level is Info
  LogFormat file_format = LogFormat::Json;
};
/// The least level that some stream shows.
log::Level lowest_level(const LogOptions& options);
Result<std::unique_ptr<log::Sink>> make_log_sink(const LogOptions& options,
                                                 std::function<Time()> clock);

}  // namespace manta::operator_
