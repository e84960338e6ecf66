// What is sent to Ray Serve: the user's YAML as JSON. Source: spec/05 §5.4.
#pragma once

#include "base/json.h"

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>

namespace manta::controllers::rayservice {

/// A mapping; text without a document is {}. Fails with "line L, column C: …" on what is no YAML,
/// and on a list or scalar.
Result<JsonObject> parse_serve_config(std::string_view text);
/// True when the text holds no document, so that sending it would delete every application.
bool is_blank_config(std::string_view text);

/// The config with Serve's target_capacity set, or without one.
JsonObject with_capacity(JsonObject config, std::optional<std::int32_t> capacity);
std::optional<std::int64_t> capacity_of(const JsonObject& config);

/// Equal for Serve: order of keys and spelling of the YAML do not count.
bool same_config(const JsonObject& left, const JsonObject& right);

/// Names of the configured applications; one without a name is called "default".
std::set<std::string> application_names(const JsonObject& config);

}  // namespace manta::controllers::rayservice
