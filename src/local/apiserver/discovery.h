// What the server has, as clients ask for it: /api, /apis and below, both the old documents and the
// aggregated one.
#pragma once

#include "base/result.h"
#include "local/apiserver/kinds.h"

#include <functional>
#include <optional>
#include <string>
#include <utility>

namespace manta::local {

class Discovery {
 public:
  explicit Discovery(const Kinds& kinds) : kinds_(kinds) {}

  Json core_versions() const;  // /api
  Json groups() const;         // /apis
  std::optional<Json> group(std::string_view name) const;
  std::optional<Json> resources(std::string_view group, std::string_view version) const;
  /// apidiscovery.k8s.io/v2 APIGroupDiscoveryList of /api (core) or /apis.
  Json aggregated(bool core) const;

 private:
  Json group_entry(std::string_view name) const;
  const Kinds& kinds_;
};

/// /openapi/v3: the documents that kubectl's explain, apply and validation read.
class OpenApi {
 public:
  /// The custom resource definition of that name. Schemas are given as they are written there, with
  /// their descriptions; a kind without a stored definition is described by what is checked.
  using Definition = std::function<Result<Json>(const std::string& name)>;

  OpenApi(const Kinds& kinds, BuiltinTypes& types, Definition definition)
      : kinds_(kinds), types_(types), definition_(std::move(definition)) {}
  Json index() const;
  std::optional<Json> document(std::string_view group, std::string_view version) const;

 private:
  Json custom_schema(const Kind& kind) const;

  const Kinds& kinds_;
  BuiltinTypes& types_;
  Definition definition_;
};

}  // namespace manta::local
