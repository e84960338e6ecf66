#include "operator/log_sink.h"

#include "operator/log_sampler.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

namespace manta::operator_ {
namespace {

std::string_view name_of(log::Level level) {
  switch (level) {
    case log::Level::Debug:
      return "debug";
    case log::Level::Info:
      return "info";
    case log::Level::Warn:
      return "info";  // zap's levels through logr know no warning
    case log::Level::Error:
      return "error";
  }
  return "info";
}

std::string timestamp(Time now) {
  const auto seconds = std::chrono::floor<std::chrono::seconds>(now);
  const auto millis = std::chrono::duration_cast<std::chrono::milliseconds>(now - seconds).count();
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:03}Z",
                     fmt::gmtime(static_cast<std::time_t>(seconds.time_since_epoch().count())),
                     millis);
}

// A line about one object's change, which is made once: none of them is too many to be shown.
bool tells_why(std::initializer_list<log::Field> fields) {
  return std::ranges::any_of(fields, [](const log::Field& field) {
    return field.key == "why" && field.value.is_string() && !field.value.get_string().empty();
  });
}

class ZapSink final : public log::Sink {
 public:
  ZapSink(LogOptions options, std::function<Time()> clock)
      : options_(std::move(options)), clock_(std::move(clock)), file_(options_.file) {}

  Result<void> open() { return has_file() ? file_.open() : Result<void>(); }

  void write(log::Level level, std::string_view message,
             std::initializer_list<log::Field> fields) override {
    const auto now = clock_();
    const bool in_file = has_file() && level >= log::Level::Info;
    const bool on_console =
        options_.console_level && level >= *options_.console_level &&
        (!options_.sampled || tells_why(fields) || sampler_.admit(level, message, now));
    std::string line;
    if (on_console) {
      line = format_log_line(options_.console, level, now, message, fields) + "\n";
      std::fwrite(line.data(), 1, line.size(), stderr);
    }
    if (!in_file) return;
    if (!on_console || options_.file_format != options_.console)
      line = format_log_line(options_.file_format, level, now, message, fields) + "\n";
    file_.write(now, line);
  }

 private:
  bool has_file() const { return !options_.file.path.empty(); }

  LogOptions options_;
  std::function<Time()> clock_;
  LogSampler sampler_ = {};
  LogFile file_;
};

}  // namespace

std::string format_log_line(LogFormat format, log::Level level, Time now, std::string_view message,
                            std::initializer_list<log::Field> fields) {
  JsonObject rest;
  std::string logger;
  for (const auto& field : fields) {
    if (field.key == "logger" && field.value.is_string())
      logger = field.value.get_string();
    else if (!field.value.is_string() || !field.value.get_string().empty())  // "" says nothing
      rest[field.key] = field.value;
  }
  if (auto* error = level == log::Level::Error ? rest.if_contains("error") : nullptr) {
    auto last = std::move(*error);
    rest.erase("error");
    rest["error"] = std::move(last);
  }
  if (format == LogFormat::Console) {
    auto line = fmt::format("{}\t{}", timestamp(now), name_of(level));
    if (!logger.empty()) line += "\t" + logger;
    line += fmt::format("\t{}", message);
    if (!rest.empty()) line += "\t" + dump_json(rest);
    return line;
  }
  JsonObject line{{"level", name_of(level)}, {"ts", timestamp(now)}};
  if (!logger.empty()) line["logger"] = logger;
  line["msg"] = message;
  for (auto& entry : rest) line[entry.key()] = std::move(entry.value());
  return dump_json(line);
}

log::Level lowest_level(const LogOptions& options) {
  const auto console = options.console_level.value_or(log::Level::Error);
  return options.file.path.empty() ? console : std::min(console, log::Level::Info);
}

Result<std::unique_ptr<log::Sink>> make_log_sink(const LogOptions& options,
                                                 std::function<Time()> clock) {
  auto sink = std::make_unique<ZapSink>(options, std::move(clock));
  if (auto opened = sink->open(); !opened) return std::unexpected(opened.error());
  return sink;
}

}  // namespace manta::operator_
