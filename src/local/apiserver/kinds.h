// Which resources the server has: the built-in ones and those of installed CRDs, each served
// version with its schema and what its kind does differently from the rest.
#pragma once

#include "kube/object.h"
#include "local/apiserver/schema.h"

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace manta::local {

struct CrdVersion;
struct Strategy;

/// One served version of one resource.
struct Kind {
  kube::Resource resource = {};
  std::string singular = {};
  std::string list_kind = {};
  std::vector<std::string> short_names = {};
  std::vector<std::string> categories = {};
  std::vector<std::string> verbs = {};
  std::string prefix = {};           // of the store's keys: "ray.io/rayclusters/"
  std::string storage_version = {};  // apiVersion of the stored text
  const Schema* schema = nullptr;    // of the whole object; null: anything goes
  const Strategy* strategy = nullptr;
  std::shared_ptr<const CrdVersion> crd = {};  // null for built-in kinds
  bool has_status = false;

  bool builtin() const { return crd == nullptr; }
  bool verb(std::string_view name) const;
  std::string key(std::string_view namespace_, std::string_view name) const;
};
using KindPtr = std::shared_ptr<const Kind>;

/// A subresource as discovery lists it ("pods/status").
struct SubresourceInfo {
  std::string name = {};
  std::string kind = {};
  std::string group = {};
  std::string version = {};
  bool namespaced = true;
  std::vector<std::string> verbs = {};
};

class Kinds {
 public:
  explicit Kinds(BuiltinTypes& types);

  KindPtr find(std::string_view group, std::string_view version, std::string_view plural) const;
  /// By apiVersion and kind.
  KindPtr find_kind(std::string_view api_version, std::string_view kind) const;
  /// Replaces every version of a custom resource; an empty list removes it.
  void set_custom(std::string_view group, std::string_view plural, std::vector<KindPtr> versions);

  bool has_custom(std::string_view group, std::string_view plural) const;

  /// Groups in the order that discovery names them; the core group first.
  std::vector<std::string> groups() const;
  /// A group's versions, the preferred one first.
  std::vector<std::string> versions(std::string_view group) const;
  std::vector<KindPtr> in(std::string_view group, std::string_view version) const;
  const std::vector<SubresourceInfo>& subresources(std::string_view group, std::string_view version,
                                                   std::string_view plural) const;
  /// Grows whenever a custom resource changes; OpenAPI's cache key.
  std::uint64_t generation() const { return generation_; }

 private:
  using Key = std::tuple<std::string, std::string, std::string>;
  std::map<Key, KindPtr> kinds_ = {};
  std::map<Key, std::vector<SubresourceInfo>> subresources_ = {};
  std::uint64_t generation_ = 1;
};

}  // namespace manta::local
