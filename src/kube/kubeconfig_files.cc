// Reading and merging kubeconfig files.
#include "base/yaml.h"
#include "kube/kubeconfig.h"
#include "kube/kubeconfig_internal.h"

#include <boost/json/string.hpp>
#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace manta::kube {

namespace kubeconfig_detail {

Result<std::string> read_text_file(const std::string& path) {
  std::error_code ec;
  if (std::filesystem::is_directory(path, ec))
    return failed(ErrorCode::Invalid, fmt::format("{} is a directory", path));
  errno = 0;
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  if (in) text << in.rdbuf();
  if (!in) {
    const int why = errno;
    const auto code = why == ENOENT ? ErrorCode::NotFound : ErrorCode::Invalid;
    return failed(code, fmt::format("cannot read {}: {}", path,
                                    why != 0 ? std::strerror(why) : "read error"));
  }
  return std::move(text).str();
}

}  // namespace kubeconfig_detail

namespace {

// File names count from the folder of the kubeconfig that has them.
void make_absolute(Json& object, std::string_view field, const std::filesystem::path& folder) {
  auto* members = object.if_object();
  auto* value = members ? members->if_contains(field) : nullptr;
  const auto* text = value ? value->if_string() : nullptr;
  if (!text || text->empty()) return;
  const std::filesystem::path path(std::string_view(text->data(), text->size()));
  if (path.is_relative()) *value = (folder / path).lexically_normal().string();
}

void make_paths_absolute(Json& config, const std::filesystem::path& folder) {
  const auto each = [&](std::string_view list, std::string_view inner, auto change) {
    auto* items = config.get_object().if_contains(list);
    if (!items || !items->is_array()) return;
    for (auto& item : items->get_array())
      if (auto* object = item.if_object())
        if (auto* value = object->if_contains(inner)) change(*value);
  };
  each("clusters", "cluster",
       [&](Json& cluster) { make_absolute(cluster, "certificate-authority", folder); });
  each("users", "user", [&](Json& user) {
    for (const auto* field : {"client-certificate", "client-key", "tokenFile"})
      make_absolute(user, field, folder);
    // A bare name is looked up in PATH; only one with a slash is a file.
    if (string_at(user, {"exec", "command"}).find('/') != std::string_view::npos)
      make_absolute(user.get_object()["exec"], "command", folder);
  });
}

// Adds the entries of `from` whose name `into` does not have yet.
void merge_named(JsonObject& into, const JsonObject& from, std::string_view list) {
  const auto* items = from.if_contains(list);
  if (!items || !items->is_array()) return;
  auto& target = into[list];
  if (!target.is_array()) target = JsonArray();
  for (const auto& item : items->get_array()) {
    const auto name = string_at(item, {"name"});
    const bool known =
        std::any_of(target.get_array().begin(), target.get_array().end(),
                    [&](const Json& other) { return string_at(other, {"name"}) == name; });
    if (!known) target.get_array().push_back(item);
  }
}

}  // namespace

Result<Json> load_kubeconfig(const std::vector<std::string>& files, bool must_exist) {
  JsonObject merged;
  for (const auto& file : files) {
    if (file.empty()) continue;
    auto text = kubeconfig_detail::read_text_file(file);
    if (!text) {
      if (text.error().code == ErrorCode::NotFound && !must_exist) continue;
      return failed(text.error().in("kubeconfig"));
    }
    auto documents = parse_yaml(*text);
    if (!documents) return failed(documents.error().in("kubeconfig " + file));
    if (documents->empty()) continue;
    Json& config = documents->front();
    if (documents->size() > 1 || !config.is_object())
      return failed(ErrorCode::Invalid, fmt::format("kubeconfig {} must be one mapping", file));
    std::error_code ec;
    make_paths_absolute(config, std::filesystem::absolute(file, ec).parent_path());
    for (const auto* list : {"clusters", "users", "contexts"})
      merge_named(merged, config.get_object(), list);
    const auto current = string_at(config, {"current-context"});
    if (!current.empty() && !merged.contains("current-context"))
      merged["current-context"] = current;
  }
  return Json(std::move(merged));
}

}  // namespace manta::kube
