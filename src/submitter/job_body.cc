#include "submitter/job_body.h"

namespace manta::submitter {
namespace {

// Adds an object given as JSON text, each of whose values must be `fits`.
Result<void> add_object(JsonObject& body, std::string_view key, std::string_view flag,
                        const std::string& text, bool (*fits)(const Json&), const char* wanted) {
  if (text.empty()) return {};
  auto value = parse_json(text);
  if (!value) return std::unexpected(value.error().in("reading --" + std::string(flag)));
  const auto wrong = [&] {
    return failed(ErrorCode::Invalid,
                  "--" + std::string(flag) + " must be a JSON object of " + wanted);
  };
  if (!value->is_object()) return wrong();
  for (const auto& entry : value->get_object())
    if (!fits(entry.value())) return wrong();
  if (!value->get_object().empty()) body[key] = std::move(*value);
  return {};
}

}  // namespace

Result<Json> job_body(const Arguments& arguments, const std::string& submission_id) {
  JsonObject body;
  if (auto added = add_object(
          body, "runtime_env", "runtime-env-json", arguments.runtime_env_json,
          [](const Json&) { return true; }, "fields of a runtime environment");
      !added)
    return std::unexpected(added.error());
  if (auto added = add_object(
          body, "metadata", "metadata-json", arguments.metadata_json,
          [](const Json& value) { return value.is_string(); }, "strings");
      !added)
    return std::unexpected(added.error());
  if (auto added = add_object(
          body, "entrypoint_resources", "entrypoint-resources", arguments.entrypoint_resources,
          [](const Json& value) { return value.is_number(); }, "numbers");
      !added)
    return std::unexpected(added.error());
  body["entrypoint"] = arguments.entrypoint;
  body["submission_id"] = submission_id;
  if (arguments.entrypoint_num_cpus > 0)
    body["entrypoint_num_cpus"] = arguments.entrypoint_num_cpus;
  if (arguments.entrypoint_num_gpus > 0)
    body["entrypoint_num_gpus"] = arguments.entrypoint_num_gpus;
  return body;
}

}  // namespace manta::submitter
