#include "base/log.h"

#include <cstdio>

namespace manta::log {
namespace {

std::string_view name_of(Level level) {
  switch (level) {
    case Level::Debug:
      return "DEBUG";
    case Level::Info:
      return "INFO";
    case Level::Warn:
      return "WARN";
    case Level::Error:
      return "ERROR";
  }
  return "INFO";
}

class StderrSink final : public Sink {
 public:
  void write(Level level, std::string_view message, std::initializer_list<Field> fields) override {
    std::string line(name_of(level));
    line.append("\t").append(message);
    for (const auto& field : fields)
      line.append("\t").append(field.key).append("=").append(dump_json(field.value));
    line += '\n';
    std::fwrite(line.data(), 1, line.size(), stderr);
  }
};

struct Setup {
  std::unique_ptr<Sink> sink = std::make_unique<StderrSink>();
  std::optional<Level> level = Level::Info;
};

Setup& setup() {
  static Setup instance;
  return instance;
}

void write(Level level, std::string_view message, std::initializer_list<Field> fields) {
  if (!setup().level || level < *setup().level) return;
  setup().sink->write(level, message, fields);
}

}  // namespace

void set_sink(std::unique_ptr<Sink> sink) {
  setup().sink = sink ? std::move(sink) : std::make_unique<StderrSink>();
}
void set_level(std::optional<Level> level) { setup().level = level; }

void debug(std::string_view message, std::initializer_list<Field> fields) {
  write(Level::Debug, message, fields);
}
void info(std::string_view message, std::initializer_list<Field> fields) {
  write(Level::Info, message, fields);
}
void warn(std::string_view message, std::initializer_list<Field> fields) {
  write(Level::Warn, message, fields);
}
void error(std::string_view message, std::initializer_list<Field> fields) {
  write(Level::Error, message, fields);
}

}  // namespace manta::log
