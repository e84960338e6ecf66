#include "controllers/rayservice/serve_config_faults.h"

#include "base/excerpt.h"
#include "ray/labels.h"

#include <fmt/format.h>

#include <map>
#include <string_view>

namespace manta::controllers::rayservice {
namespace {

constexpr std::size_t kMostTold = 5;
constexpr std::size_t kLongestValue = 128;

class Faults {
 public:
  /// `place`: of the config, "applications[0].name".
  void add(std::string_view place, std::string_view what) {
    if (found_.size() < kMostTold)
      found_.push_back(fmt::format("spec.serveConfigV2.{}: {}", place, what));
  }
  void add(std::string_view place, const Json& value, std::string_view allowed) {
    add(place,
        fmt::format("it is {}, and must be {}", excerpt(dump_json(value), kLongestValue), allowed));
  }
  std::vector<std::string> take() { return std::move(found_); }

 private:
  std::vector<std::string> found_ = {};
};

/// Nothing and null are the same to Ray where it has a default.
const Json* given(const JsonObject& object, std::string_view key) {
  const Json* value = object.if_contains(key);
  return value == nullptr || value->is_null() ? nullptr : value;
}

void check_text(const JsonObject& object, const std::string& place, std::string_view key,
                Faults& faults) {
  const Json* value = given(object, key);
  if (value != nullptr && !value->is_string())
    faults.add(fmt::format("{}.{}", place, key), *value, "a text");
}

void check_deployments(const JsonObject& application, const std::string& place, Faults& faults) {
  const Json* deployments = given(application, "deployments");
  if (deployments == nullptr) return;
  const auto list = place + ".deployments";
  if (!deployments->is_array()) return faults.add(list, *deployments, "a list");
  for (std::size_t i = 0; i < deployments->get_array().size(); ++i) {
    const Json& deployment = deployments->get_array()[i];
    const auto here = fmt::format("{}[{}]", list, i);
    if (!deployment.is_object())
      faults.add(here, deployment, "a mapping with the key name");
    else if (given(deployment.get_object(), "name") == nullptr)
      faults.add(here + ".name", "it is missing");
    else
      check_text(deployment.get_object(), here, "name", faults);
  }
}

void check_application(const JsonObject& application, const std::string& place, Faults& faults) {
  const Json* path = given(application, "import_path");
  if (path == nullptr)
    faults.add(place + ".import_path", "it is missing; it says what is served, as module:app");
  else if (!path->is_string() || path->get_string().find_first_of(":.") == std::string_view::npos)
    faults.add(place + ".import_path", *path, "a text like module:app");
  check_text(application, place, "name", faults);
  check_text(application, place, "route_prefix", faults);
  if (const Json* route = given(application, "route_prefix");
      route != nullptr && route->is_string() && !route->get_string().empty() &&
      !route->get_string().starts_with('/'))
    faults.add(place + ".route_prefix", *route, "a path that begins with /");
  if (const Json* env = given(application, "runtime_env"); env != nullptr && !env->is_object())
    faults.add(place + ".runtime_env", *env, "a mapping");
  check_deployments(application, place, faults);
}

// Ray knows applications by name, and requests find them by route.
void check_unique(const JsonArray& applications, std::string_view key, std::string_view fallback,
                  Faults& faults) {
  std::map<std::string, std::size_t, std::less<>> first;
  for (std::size_t i = 0; i < applications.size(); ++i) {
    if (!applications[i].is_object()) continue;
    const Json* value = applications[i].get_object().if_contains(key);
    if (value != nullptr && !value->is_string()) continue;  // null: no route at all
    const std::string text(value != nullptr ? std::string_view(value->get_string()) : fallback);
    const auto [earlier, is_new] = first.emplace(text, i);
    if (!is_new)
      faults.add(fmt::format("applications[{}].{}", i, key),
                 fmt::format("applications[{}] has {:?} as well", earlier->second, text));
  }
}

}  // namespace

std::vector<std::string> serve_config_faults(const JsonObject& config) {
  Faults faults;
  const Json* applications = config.if_contains("applications");
  if (applications == nullptr)
    faults.add("applications",
               config.contains("import_path")
                   ? "it is missing; an import_path stands in one of its entries, not beside it"
                   : "it is missing; it lists what is served");
  else if (!applications->is_array())
    faults.add("applications", *applications, "a list");
  else if (applications->get_array().empty())
    faults.add("applications", "it is empty, so nothing is served");
  if (applications == nullptr || !applications->is_array()) return faults.take();
  const auto& list = applications->get_array();
  for (std::size_t i = 0; i < list.size(); ++i) {
    const auto place = fmt::format("applications[{}]", i);
    if (list[i].is_object())
      check_application(list[i].get_object(), place, faults);
    else
      faults.add(place, list[i], "a mapping with the key import_path");
  }
  check_unique(list, "name", ray::kDefaultServeApplication, faults);
  check_unique(list, "route_prefix", "/", faults);
  return faults.take();
}

}  // namespace manta::controllers::rayservice
