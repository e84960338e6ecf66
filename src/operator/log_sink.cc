#include "operator/log_sink.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <cstdio>
#include <filesystem>

namespace manta::operator_ {
namespace {

constexpr std::uintmax_t kRotateBytes = 500u << 20;
constexpr int kBackups = 10;

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

struct FileCloser {
  void operator()(std::FILE* file) const { std::fclose(file); }
};

class LogFile {
 public:
  explicit LogFile(std::string path) : path_(std::move(path)) {}

  Result<void> open() {
    std::error_code ignored;
    std::filesystem::create_directories(std::filesystem::path(path_).parent_path(), ignored);
    file_.reset(std::fopen(path_.c_str(), "ae"));
    if (!file_) return failed(ErrorCode::Internal, fmt::format("cannot write log file {}", path_));
    bytes_ = std::filesystem::file_size(path_, ignored);
    return {};
  }
  void write(const std::string& line) {
    if (!file_) return;
    if (bytes_ + line.size() > kRotateBytes) rotate();
    std::fwrite(line.data(), 1, line.size(), file_.get());
    std::fflush(file_.get());
    bytes_ += line.size();
  }

 private:
  // path.1 is the youngest backup; the oldest falls off.
  void rotate() {
    std::error_code ignored;
    for (int i = kBackups - 1; i > 0; --i)
      std::filesystem::rename(fmt::format("{}.{}", path_, i), fmt::format("{}.{}", path_, i + 1),
                              ignored);
    file_.reset();
    std::filesystem::rename(path_, path_ + ".1", ignored);
    (void)open();
  }

  std::string path_;
  std::unique_ptr<std::FILE, FileCloser> file_ = {};
  std::uintmax_t bytes_ = 0;
};

class ZapSink final : public log::Sink {
 public:
  ZapSink(LogOptions options, std::function<Time()> clock)
      : options_(std::move(options)), clock_(std::move(clock)), file_(options_.file) {}

  Result<void> open() { return options_.file.empty() ? Result<void>() : file_.open(); }

  void write(log::Level level, std::string_view message,
             std::initializer_list<log::Field> fields) override {
    const auto now = clock_();
    auto line = format_log_line(options_.console, level, now, message, fields) + "\n";
    std::fwrite(line.data(), 1, line.size(), stderr);
    if (options_.file.empty()) return;
    if (options_.file_format != options_.console)
      line = format_log_line(options_.file_format, level, now, message, fields) + "\n";
    file_.write(line);
  }

 private:
  LogOptions options_;
  std::function<Time()> clock_;
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
    else
      rest[field.key] = field.value;
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

Result<std::unique_ptr<log::Sink>> make_log_sink(const LogOptions& options,
                                                 std::function<Time()> clock) {
  auto sink = std::make_unique<ZapSink>(options, std::move(clock));
  if (auto opened = sink->open(); !opened) return std::unexpected(opened.error());
  return sink;
}

}  // namespace manta::operator_
