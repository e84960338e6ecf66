// What every Kubernetes object has: a kind of resource, a key, metadata.
#pragma once

#include "base/json.h"
#include "base/time.h"

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace manta::kube {

/// One resource of the API: where its collection lives and what its objects are called.
struct Resource {
  std::string group = {};  // empty for the core group
  std::string version = {};
  std::string plural = {};
  std::string kind = {};
  bool namespaced = true;

  std::string api_version() const { return group.empty() ? version : group + "/" + version; }
  auto operator<=>(const Resource&) const = default;
};

// The built-in resources that our code names.
extern const Resource kPods, kServices, kSecrets, kConfigMaps, kServiceAccounts, kEndpoints, kNodes,
    kNamespaces, kPersistentVolumeClaims, kCoreEvents;
extern const Resource kEvents;  // events.k8s.io/v1
extern const Resource kJobs, kIngresses, kNetworkPolicies, kRoles, kRoleBindings, kLeases,
    kEndpointSlices, kCustomResourceDefinitions;

struct ObjectKey {
  std::string namespace_ = {};  // empty for cluster-scoped objects
  std::string name = {};

  std::string to_string() const { return namespace_.empty() ? name : namespace_ + "/" + name; }
  auto operator<=>(const ObjectKey&) const = default;
};

struct OwnerRef {
  std::string apiVersion = {};
  std::string kind = {};
  std::string name = {};
  std::string uid = {};
  bool controller = false;
  bool blockOwnerDeletion = false;
  bool operator==(const OwnerRef&) const = default;
};

using StringMap = std::map<std::string, std::string, std::less<>>;

/// The part of metadata that decisions and caches use.
struct ObjectMeta {
  ObjectKey key = {};
  std::string uid = {};
  /// Revisions of one store compare as numbers (Kubernetes ≥ 1.35 promises it; etcd always did).
  std::uint64_t resource_version = 0;
  std::int64_t generation = 0;
  Time created = {};
  std::optional<Time> deleting = {};  // deletionTimestamp
  StringMap labels = {};
  StringMap annotations = {};  // left empty by projections that need none
  std::vector<OwnerRef> owners = {};
  std::vector<std::string> finalizers = {};

  /// The owner with controller: true, or null.
  const OwnerRef* controller_owner() const;
  std::string_view label(std::string_view key) const;       // empty when absent
  std::string_view annotation(std::string_view key) const;  // empty when absent
  bool has_finalizer(std::string_view name) const;
};

enum class KeepAnnotations { No, Yes };
/// Reads `metadata`. Fails on an object without name, or with wrong types.
Result<ObjectMeta> parse_meta(const Json& object, KeepAnnotations keep = KeepAnnotations::No);
ObjectKey key_of(const Json& object);
Json to_json(const OwnerRef& owner);

/// A label selector in text form ("a=b,c!=d,e in (f,g),h,!i") and in its structured form
/// (matchLabels/matchExpressions).
class LabelSelector {
 public:
  LabelSelector() = default;  // matches everything
  static LabelSelector equals(StringMap labels);
  static Result<LabelSelector> parse(std::string_view text);
  static Result<LabelSelector> from_json(const Json& selector);

  bool matches(const StringMap& labels) const;
  bool empty() const { return requirements_.empty(); }
  std::string to_string() const;

 private:
  enum class Op { In, NotIn, Exists, DoesNotExist, Greater, Less };
  struct Requirement {
    std::string key;
    Op op;
    std::vector<std::string> values;
  };
  std::vector<Requirement> requirements_ = {};
};

}  // namespace manta::kube
