#include "local/apiserver/discovery.h"

#include "fmt/format.h"

namespace manta::local {
namespace {

JsonArray texts(const std::vector<std::string>& list) {
  JsonArray array;
  for (const auto& text : list) array.push_back(Json(text));
  return array;
}

std::string api_version(std::string_view group, std::string_view version) {
  return group.empty() ? std::string(version) : fmt::format("{}/{}", group, version);
}

}  // namespace

Json Discovery::core_versions() const {
  return JsonObject{{"kind", "APIVersions"},
                    {"versions", JsonArray{"v1"}},
                    {"serverAddressByClientCIDRs", JsonArray{}}};
}

Json Discovery::group_entry(std::string_view name) const {
  JsonArray versions;
  for (const auto& version : kinds_.versions(name))
    versions.push_back(
        JsonObject{{"groupVersion", api_version(name, version)}, {"version", version}});
  Json preferred = versions.empty() ? Json() : versions.front();
  return JsonObject{{"name", name},
                    {"versions", std::move(versions)},
                    {"preferredVersion", std::move(preferred)}};
}

Json Discovery::groups() const {
  JsonArray groups;
  for (const auto& name : kinds_.groups())
    if (!name.empty()) groups.push_back(group_entry(name));
  return JsonObject{{"kind", "APIGroupList"}, {"apiVersion", "v1"}, {"groups", std::move(groups)}};
}

std::optional<Json> Discovery::group(std::string_view name) const {
  if (name.empty() || kinds_.versions(name).empty()) return std::nullopt;
  auto entry = group_entry(name);
  JsonObject document{{"kind", "APIGroup"}, {"apiVersion", "v1"}};
  for (auto& [key, value] : entry.get_object()) document[key] = std::move(value);
  return Json(std::move(document));
}

std::optional<Json> Discovery::resources(std::string_view group, std::string_view version) const {
  const auto found = kinds_.in(group, version);
  if (found.empty()) return std::nullopt;
  JsonArray list;
  for (const auto& kind : found) {
    JsonObject entry{{"name", kind->resource.plural},
                     {"singularName", kind->singular},
                     {"namespaced", kind->resource.namespaced},
                     {"kind", kind->resource.kind},
                     {"verbs", texts(kind->verbs)}};
    if (!kind->short_names.empty()) entry["shortNames"] = texts(kind->short_names);
    if (!kind->categories.empty()) entry["categories"] = texts(kind->categories);
    list.push_back(std::move(entry));
    for (const auto& sub : kinds_.subresources(group, version, kind->resource.plural)) {
      JsonObject below{{"name", fmt::format("{}/{}", kind->resource.plural, sub.name)},
                       {"singularName", ""},
                       {"namespaced", sub.namespaced},
                       {"kind", sub.kind},
                       {"verbs", texts(sub.verbs)}};
      if (!sub.version.empty()) {
        below["group"] = sub.group;
        below["version"] = sub.version;
      }
      list.push_back(std::move(below));
    }
  }
  return Json(JsonObject{{"kind", "APIResourceList"},
                         {"apiVersion", "v1"},
                         {"groupVersion", api_version(group, version)},
                         {"resources", std::move(list)}});
}

Json Discovery::aggregated(bool core) const {
  JsonArray items;
  for (const auto& name : kinds_.groups()) {
    if (name.empty() != core) continue;
    JsonArray versions;
    for (const auto& version : kinds_.versions(name)) {
      JsonArray resources;
      for (const auto& kind : kinds_.in(name, version)) {
        auto response = [&](std::string_view of, std::string_view group, std::string_view at) {
          return JsonObject{{"group", group}, {"version", at}, {"kind", of}};
        };
        JsonObject entry{{"resource", kind->resource.plural},
                         {"responseKind", response(kind->resource.kind, name, version)},
                         {"scope", kind->resource.namespaced ? "Namespaced" : "Cluster"},
                         {"singularResource", kind->singular},
                         {"verbs", texts(kind->verbs)}};
        if (!kind->short_names.empty()) entry["shortNames"] = texts(kind->short_names);
        if (!kind->categories.empty()) entry["categories"] = texts(kind->categories);
        JsonArray below;
        for (const auto& sub : kinds_.subresources(name, version, kind->resource.plural))
          below.push_back(
              JsonObject{{"subresource", sub.name},
                         {"responseKind", response(sub.kind, sub.version.empty() ? name : sub.group,
                                                   sub.version.empty() ? version : sub.version)},
                         {"verbs", texts(sub.verbs)}});
        if (!below.empty()) entry["subresources"] = std::move(below);
        resources.push_back(std::move(entry));
      }
      versions.push_back(JsonObject{
          {"version", version}, {"resources", std::move(resources)}, {"freshness", "Current"}});
    }
    items.push_back(
        JsonObject{{"metadata", JsonObject{{"name", name}}}, {"versions", std::move(versions)}});
  }
  return JsonObject{{"kind", "APIGroupDiscoveryList"},
                    {"apiVersion", "apidiscovery.k8s.io/v2"},
                    {"metadata", JsonObject{}},
                    {"items", std::move(items)}};
}

}  // namespace manta::local
