#include "cli/run_journal.h"

#include "base/json.h"
#include "local/images/image_index.h"

#include <unistd.h>

#include <filesystem>
#include <string>
#include <system_error>

namespace manta::cli {
namespace fs = std::filesystem;
namespace {

fs::path folder(const Paths& paths) { return paths.home / "runs"; }

fs::path own_file(const Paths& paths) {
  return folder(paths) / (std::to_string(::getpid()) + ".json");
}

Json to_json(const AppliedObject& applied) {
  const auto& [group, version, plural, kind, namespaced] = applied.resource;
  return JsonObject{{"group", group},           {"version", version},
                    {"plural", plural},         {"kind", kind},
                    {"namespaced", namespaced}, {"namespace", applied.key.namespace_},
                    {"name", applied.key.name}, {"uid", applied.uid}};
}

std::string text_at(const Json& json, std::string_view field) {
  return std::string(string_at(json, {field}));
}

AppliedObject from_json(const Json& json) {
  AppliedObject applied{
      .resource = {text_at(json, "group"), text_at(json, "version"), text_at(json, "plural"),
                   text_at(json, "kind"), bool_at(json, {"namespaced"})},
      .key = {text_at(json, "namespace"), text_at(json, "name")},
      .uid = text_at(json, "uid"),
      .created = true};
  applied.object =
      JsonObject{{"apiVersion", applied.resource.api_version()}, {"kind", applied.resource.kind}};
  return applied;
}

}  // namespace

Result<void> write_journal(const Paths& paths, const std::vector<AppliedObject>& applied) {
  JsonArray objects;
  for (const auto& object : applied)
    if (object.created) objects.push_back(to_json(object));
  std::error_code ignored;
  fs::create_directories(folder(paths), ignored);
  return local::write_file_whole(own_file(paths), pretty_json(objects) + "\n");
}

void erase_journal(const Paths& paths) {
  std::error_code ignored;
  fs::remove(own_file(paths), ignored);
}

std::vector<std::vector<AppliedObject>> read_journals(const Paths& paths) {
  std::vector<std::vector<AppliedObject>> journals;
  std::error_code ignored;
  for (const auto& file : fs::directory_iterator(folder(paths), ignored)) {
    const auto json = parse_json(local::read_file(file.path()).value_or(""));
    if (!json || !json->is_array()) continue;
    auto& journal = journals.emplace_back();
    for (const auto& object : json->get_array()) journal.push_back(from_json(object));
  }
  return journals;
}

void erase_journals(const Paths& paths) {
  std::error_code ignored;
  fs::remove_all(folder(paths), ignored);
}

}  // namespace manta::cli
