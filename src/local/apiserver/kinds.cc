#include "local/apiserver/kinds.h"

#include "base/text.h"
#include "fmt/format.h"
#include "local/apiserver/crd.h"
#include "local/apiserver/strategy.h"

#include <algorithm>
#include <set>
#include <tuple>

namespace manta::local {
namespace {

struct Row {
  std::string_view group, version, name, kind;
  bool namespaced;
  std::string_view singular, short_names, categories, verbs, type, sub_group, sub_version;
};
constexpr Row kRows[] = {
#include "local/apiserver/builtin_resources.inc"
};

/// Names behind commas; none in an empty text.
std::vector<std::string> names_in(std::string_view text) {
  return text.empty() ? std::vector<std::string>() : split(text, ',');
}

std::string prefix_of(std::string_view group, std::string_view plural) {
  // Both views of events are one collection.
  if (group == "events.k8s.io") group = "";
  return group.empty() ? fmt::format("{}/", plural) : fmt::format("{}/{}/", group, plural);
}

/// v1 > v2beta1 > v1beta1 > v1alpha1 > anything else by name. Source: apimachinery version order.
std::tuple<int, int, int, std::string> version_rank(const std::string& version) {
  int major = 0, minor = 0, level = 0;
  std::size_t at = 1;
  if (version.size() < 2 || version[0] != 'v' || !std::isdigit(version[1]))
    return {3, 0, 0, version};
  while (at < version.size() && std::isdigit(version[at]))
    major = major * 10 + (version[at++] - '0');
  if (at == version.size()) return {0, -major, 0, version};
  const auto rest = version.substr(at);
  if (rest.starts_with("beta"))
    level = 1, at += 4;
  else if (rest.starts_with("alpha"))
    level = 2, at += 5;
  else
    return {3, 0, 0, version};
  while (at < version.size() && std::isdigit(version[at]))
    minor = minor * 10 + (version[at++] - '0');
  return {level, -major, -minor, version};
}

}  // namespace

bool Kind::verb(std::string_view name) const {
  return std::find(verbs.begin(), verbs.end(), name) != verbs.end();
}

std::string Kind::key(std::string_view namespace_, std::string_view name) const {
  return resource.namespaced ? fmt::format("{}{}/{}", prefix, namespace_, name)
                             : fmt::format("{}{}", prefix, name);
}

Kinds::Kinds(BuiltinTypes& types) {
  for (const auto& row : kRows) {
    const auto slash = row.name.find('/');
    const Key key{row.group, row.version, row.name.substr(0, slash)};
    if (slash != std::string_view::npos) {
      auto& list = subresources_[key];
      list.push_back({std::string(row.name.substr(slash + 1)), std::string(row.kind),
                      std::string(row.sub_group), std::string(row.sub_version), row.namespaced,
                      names_in(row.verbs)});
      if (list.back().name == "status")
        if (auto found = kinds_.find(key); found != kinds_.end())
          std::const_pointer_cast<Kind>(found->second)->has_status = true;
      continue;
    }
    auto kind = std::make_shared<Kind>();
    kind->resource = {std::string(row.group), std::string(row.version), std::string(row.name),
                      std::string(row.kind), row.namespaced};
    kind->singular = row.singular;
    kind->list_kind = std::string(row.kind) + "List";
    kind->short_names = names_in(row.short_names);
    kind->categories = names_in(row.categories);
    kind->verbs = names_in(row.verbs);
    kind->prefix = prefix_of(row.group, row.name);
    kind->storage_version = row.group == "events.k8s.io" ? "v1" : kind->resource.api_version();
    kind->schema = types.find(row.type);
    kind->strategy = find_strategy(row.group, row.name);
    kinds_.emplace(key, std::move(kind));
  }
  // Statuses may come before or after their resource in the table.
  for (auto& [key, list] : subresources_)
    for (const auto& sub : list)
      if (sub.name == "status")
        if (auto found = kinds_.find(key); found != kinds_.end())
          std::const_pointer_cast<Kind>(found->second)->has_status = true;
}

KindPtr Kinds::find(std::string_view group, std::string_view version,
                    std::string_view plural) const {
  auto found = kinds_.find(Key{group, version, plural});
  return found == kinds_.end() ? nullptr : found->second;
}

KindPtr Kinds::find_kind(std::string_view api_version, std::string_view kind) const {
  for (const auto& [key, candidate] : kinds_)
    if (candidate->resource.kind == kind && candidate->resource.api_version() == api_version)
      return candidate;
  return nullptr;
}

void Kinds::set_custom(std::string_view group, std::string_view plural,
                       std::vector<KindPtr> versions) {
  std::erase_if(kinds_, [&](const auto& entry) {
    return std::get<0>(entry.first) == group && std::get<2>(entry.first) == plural &&
           !entry.second->builtin();
  });
  std::erase_if(subresources_, [&](const auto& entry) {
    return std::get<0>(entry.first) == group && std::get<2>(entry.first) == plural;
  });
  for (auto& kind : versions) {
    const Key key{std::string(group), kind->resource.version, std::string(plural)};
    auto& list = subresources_[key];
    if (kind->has_status)
      list.push_back({"status",
                      kind->resource.kind,
                      "",
                      "",
                      kind->resource.namespaced,
                      {"get", "patch", "update"}});
    if (kind->crd->scale)
      list.push_back({"scale",
                      "Scale",
                      "autoscaling",
                      "v1",
                      kind->resource.namespaced,
                      {"get", "patch", "update"}});
    kinds_[key] = std::move(kind);
  }
  ++generation_;
}

bool Kinds::has_custom(std::string_view group, std::string_view plural) const {
  for (const auto& [key, kind] : kinds_)
    if (std::get<0>(key) == group && std::get<2>(key) == plural && !kind->builtin()) return true;
  return false;
}

std::vector<std::string> Kinds::groups() const {
  std::set<std::string> seen;
  for (const auto& [key, kind] : kinds_) seen.insert(std::get<0>(key));
  return {seen.begin(), seen.end()};
}

std::vector<std::string> Kinds::versions(std::string_view group) const {
  std::set<std::string> seen;
  for (const auto& [key, kind] : kinds_)
    if (std::get<0>(key) == group) seen.insert(std::get<1>(key));
  std::vector<std::string> sorted(seen.begin(), seen.end());
  std::sort(sorted.begin(), sorted.end(),
            [](const auto& a, const auto& b) { return version_rank(a) < version_rank(b); });
  return sorted;
}

std::vector<KindPtr> Kinds::in(std::string_view group, std::string_view version) const {
  std::vector<KindPtr> found;
  for (const auto& [key, kind] : kinds_)
    if (std::get<0>(key) == group && std::get<1>(key) == version) found.push_back(kind);
  return found;
}

const std::vector<SubresourceInfo>& Kinds::subresources(std::string_view group,
                                                        std::string_view version,
                                                        std::string_view plural) const {
  static const std::vector<SubresourceInfo> kNone;
  auto found = subresources_.find(Key{group, version, plural});
  return found == subresources_.end() ? kNone : found->second;
}

}  // namespace manta::local
