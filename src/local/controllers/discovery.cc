#include "local/controllers/discovery.h"

#include <algorithm>
#include <string>
#include <utility>

namespace manta::local {
namespace {

Task<Result<Json>> read(kube::Api& api, std::string path) {
  auto answer = co_await api.raw({.path = path, .headers = {{"Accept", "application/json"}}});
  if (!answer) co_return failed(answer.error().in("reading " + path));
  if (answer->status != 200)
    co_return failed(ErrorCode::Unavailable,
                     "reading " + path + ": HTTP status " + std::to_string(answer->status));
  co_return parse_json(answer->body);
}

bool has_verbs(const Json& entry, std::initializer_list<std::string_view> wanted) {
  const auto& verbs = array_at(entry, {"verbs"});
  return std::ranges::all_of(wanted, [&](std::string_view verb) {
    return std::ranges::any_of(
        verbs, [&](const Json& v) { return v.is_string() && v.as_string() == verb; });
  });
}

void add_resources(const Json& list, std::vector<kube::Resource>& out) {
  const std::string group_version(string_at(list, {"groupVersion"}));
  const auto slash = group_version.find('/');
  for (const auto& entry : array_at(list, {"resources"})) {
    const auto name = string_at(entry, {"name"});
    if (name.contains('/') || !has_verbs(entry, {"list", "watch", "delete"})) continue;
    kube::Resource resource{.plural = std::string(name),
                            .kind = std::string(string_at(entry, {"kind"})),
                            .namespaced = bool_at(entry, {"namespaced"})};
    if (slash == std::string::npos) {
      resource.version = group_version;
    } else {
      resource.group = group_version.substr(0, slash);
      resource.version = group_version.substr(slash + 1);
    }
    out.push_back(std::move(resource));
  }
}

}  // namespace

Task<Result<std::vector<kube::Resource>>> discover(kube::Api& api) {
  std::vector<std::string> paths{"/api/v1"};
  auto groups = co_await read(api, "/apis");
  if (!groups) co_return failed(groups.error());
  for (const auto& group : array_at(*groups, {"groups"}))
    paths.push_back("/apis/" + std::string(string_at(group, {"preferredVersion", "groupVersion"})));
  std::vector<kube::Resource> resources;
  for (const auto& path : paths) {
    auto list = co_await read(api, path);
    if (!list) co_return failed(list.error());
    add_resources(*list, resources);
  }
  std::ranges::sort(resources);
  co_return resources;
}

}  // namespace manta::local
