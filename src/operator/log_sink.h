// Log lines in the shape of KubeRay's (zap's) encoders, on stderr and in a file. Source: spec/07
// §10.
#pragma once

#include "base/log.h"
#include "base/result.h"
#include "base/time.h"

#include <functional>
#include <memory>
#include <string>

namespace manta::operator_ {

enum class LogFormat { Json, Console };

/// One line, without its end. A field named "logger" becomes the logger's name.
std::string format_log_line(LogFormat format, log::Level level, Time now, std::string_view message,
                            std::initializer_list<log::Field> fields);

struct LogOptions {
  LogFormat console = LogFormat::Json;
  std::string file = {};  // empty: none; its folder is made
  LogFormat file_format = LogFormat::Json;
};
Result<std::unique_ptr<log::Sink>> make_log_sink(const LogOptions& options,
                                                 std::function<Time()> clock);

}  // namespace manta::operator_
