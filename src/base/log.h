// Structured logs: a constant message and fields, one line an entry.
//
//   log::info("deleted Pod", {{"pod", key.to_string()}, {"why", why}});
//
// Planners do not log. The sink is chosen once in main(); until then lines go to stderr.
#pragma once

#include "base/json.h"

#include <concepts>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace manta::log {

enum class Level { Debug, Info, Warn, Error };

struct Field {
  Field(std::string_view name, Json content) : key(name), value(std::move(content)) {}
  template <class Text>
    requires std::convertible_to<const Text&, std::string_view>
  Field(std::string_view name, const Text& text) : key(name), value(std::string_view(text)) {}

  std::string_view key;
  Json value;
};

/// Where lines go. Called on the loop's thread only.
class Sink {
 public:
  virtual ~Sink() = default;
  virtual void write(Level level, std::string_view message,
                     std::initializer_list<Field> fields) = 0;
};

/// Replaces the process's sink. The one deliberate global: a log line must be possible anywhere.
void set_sink(std::unique_ptr<Sink> sink);
/// The lowest that is written; none: nothing is.
void set_level(std::optional<Level> level);

using Line = void(std::string_view message, std::initializer_list<Field> fields);
void debug(std::string_view message, std::initializer_list<Field> fields = {});
void info(std::string_view message, std::initializer_list<Field> fields = {});
void warn(std::string_view message, std::initializer_list<Field> fields = {});
void error(std::string_view message, std::initializer_list<Field> fields = {});

}  // namespace manta::log
