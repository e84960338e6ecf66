#include "kube/object.h"

#include "base/excerpt.h"

#include <boost/json/string.hpp>
#include <fmt/format.h>

#include <charconv>

namespace manta::kube {

const Resource kPods{"", "v1", "pods", "Pod", true};
const Resource kServices{"", "v1", "services", "Service", true};
const Resource kSecrets{"", "v1", "secrets", "Secret", true};
const Resource kConfigMaps{"", "v1", "configmaps", "ConfigMap", true};
const Resource kServiceAccounts{"", "v1", "serviceaccounts", "ServiceAccount", true};
const Resource kEndpoints{"", "v1", "endpoints", "Endpoints", true};
const Resource kNodes{"", "v1", "nodes", "Node", false};
const Resource kNamespaces{"", "v1", "namespaces", "Namespace", false};
const Resource kPersistentVolumeClaims{"", "v1", "persistentvolumeclaims", "PersistentVolumeClaim",
                                       true};
const Resource kCoreEvents{"", "v1", "events", "Event", true};
const Resource kEvents{"events.k8s.io", "v1", "events", "Event", true};
const Resource kJobs{"batch", "v1", "jobs", "Job", true};
const Resource kIngresses{"networking.k8s.io", "v1", "ingresses", "Ingress", true};
const Resource kNetworkPolicies{"networking.k8s.io", "v1", "networkpolicies", "NetworkPolicy",
                                true};
const Resource kRoles{"rbac.authorization.k8s.io", "v1", "roles", "Role", true};
const Resource kRoleBindings{"rbac.authorization.k8s.io", "v1", "rolebindings", "RoleBinding",
                             true};
const Resource kLeases{"coordination.k8s.io", "v1", "leases", "Lease", true};
const Resource kEndpointSlices{"discovery.k8s.io", "v1", "endpointslices", "EndpointSlice", true};
const Resource kCustomResourceDefinitions{"apiextensions.k8s.io", "v1", "customresourcedefinitions",
                                          "CustomResourceDefinition", false};

const OwnerRef* ObjectMeta::controller_owner() const {
  for (const auto& owner : owners)
    if (owner.controller) return &owner;
  return nullptr;
}

namespace {

std::string_view lookup(const StringMap& map, std::string_view key) {
  const auto found = map.find(key);
  return found == map.end() ? std::string_view() : std::string_view(found->second);
}

/// Reads the fields of one object and remembers the first that has a wrong type.
class Reader {
 public:
  Reader(const JsonObject& object, std::string path) : object_(object), path_(std::move(path)) {}

  std::string text(std::string_view key) {
    const Json* value = get(key);
    if (!value) return {};
    if (const auto* s = value->if_string()) return std::string(s->data(), s->size());
    return wrong(key, *value, "a string"), std::string();
  }

  bool flag(std::string_view key) {
    const Json* value = get(key);
    if (!value) return false;
    if (const auto* b = value->if_bool()) return *b;
    return wrong(key, *value, "true or false"), false;
  }

  std::optional<Time> time(std::string_view key) {
    const auto value = text(key);
    if (value.empty()) return std::nullopt;
    const auto time = parse_rfc3339(value);
    if (time) return *time;
    fail(key, time.error().message);
    return std::nullopt;
  }

  StringMap strings(std::string_view key) {
    StringMap map;
    const Json* value = get(key);
    if (!value) return map;
    const auto* object = value->if_object();
    if (!object) return wrong(key, *value, "an object"), map;
    for (const auto& [name, item] : *object) {
      const auto* s = item.if_string();
      // null reads as "": that is what Go makes of it.
      if (!s && !item.is_null())
        return wrong(fmt::format("{}[{}]", key, std::string_view(name)), item, "a string"), map;
      map.emplace(std::string(name), s ? std::string(s->data(), s->size()) : std::string());
    }
    return map;
  }

  const JsonArray* array(std::string_view key) {
    const Json* value = get(key);
    if (!value) return nullptr;
    const auto* array = value->if_array();
    if (!array) wrong(key, *value, "an array");
    return array;
  }

  void wrong(std::string_view key, const Json& value, std::string_view want) {
    constexpr std::size_t kLongestValue = 128;
    fail(key, fmt::format("is {} but must be {}", excerpt(dump_json(value), kLongestValue), want));
  }
  void fail(std::string_view key, std::string what) {
    if (error_) return;
    const auto field = path_ + "." + std::string(key);
    error_ = Error{.code = ErrorCode::Invalid, .message = field + " " + what};
    error_->causes = {
        FieldCause{.field = field, .reason = "FieldValueInvalid", .message = std::move(what)}};
  }
  void adopt(const Reader& inner) {
    if (!error_) error_ = inner.error_;
  }
  const std::optional<Error>& error() const { return error_; }

 private:
  const Json* get(std::string_view key) const {
    const Json* value = object_.if_contains(key);
    return value && !value->is_null() ? value : nullptr;
  }

  const JsonObject& object_;
  std::string path_;
  std::optional<Error> error_ = {};
};

void parse_owners(Reader& reader, std::vector<OwnerRef>& owners) {
  const auto* array = reader.array("ownerReferences");
  if (!array) return;
  for (std::size_t i = 0; i < array->size(); ++i) {
    const auto* object = (*array)[i].if_object();
    if (!object)
      return reader.wrong(fmt::format("ownerReferences[{}]", i), (*array)[i], "an object");
    Reader item(*object, fmt::format("metadata.ownerReferences[{}]", i));
    owners.push_back({.apiVersion = item.text("apiVersion"),
                      .kind = item.text("kind"),
                      .name = item.text("name"),
                      .uid = item.text("uid"),
                      .controller = item.flag("controller"),
                      .blockOwnerDeletion = item.flag("blockOwnerDeletion")});
    reader.adopt(item);
  }
}

}  // namespace

std::string_view ObjectMeta::label(std::string_view name) const { return lookup(labels, name); }
std::string_view ObjectMeta::annotation(std::string_view name) const {
  return lookup(annotations, name);
}
bool ObjectMeta::has_finalizer(std::string_view name) const {
  for (const auto& finalizer : finalizers)
    if (finalizer == name) return true;
  return false;
}

Result<ObjectMeta> parse_meta(const Json& object, KeepAnnotations keep) {
  const Json* metadata = find(object, {"metadata"});
  if (!metadata || !metadata->is_object())
    return failed(ErrorCode::Invalid, "metadata is missing or no object");
  Reader reader(metadata->get_object(), "metadata");
  ObjectMeta meta;
  meta.key = {.namespace_ = reader.text("namespace"), .name = reader.text("name")};
  if (meta.key.name.empty() && !reader.error()) reader.fail("name", "is missing");
  meta.uid = reader.text("uid");
  const auto version = reader.text("resourceVersion");
  if (!version.empty()) {
    const auto* end = version.data() + version.size();
    const auto read = std::from_chars(version.data(), end, meta.resource_version);
    if (read.ec != std::errc{} || read.ptr != end)
      reader.fail("resourceVersion", fmt::format("is {:?} but must be a decimal number", version));
  }
  meta.generation = int_at(*metadata, {"generation"});
  meta.created = reader.time("creationTimestamp").value_or(Time{});
  meta.deleting = reader.time("deletionTimestamp");
  meta.labels = reader.strings("labels");
  if (keep == KeepAnnotations::Yes) meta.annotations = reader.strings("annotations");
  parse_owners(reader, meta.owners);
  if (const auto* finalizers = reader.array("finalizers"))
    for (std::size_t i = 0; i < finalizers->size(); ++i) {
      const auto* s = (*finalizers)[i].if_string();
      if (s)
        meta.finalizers.emplace_back(s->data(), s->size());
      else
        reader.wrong(fmt::format("finalizers[{}]", i), (*finalizers)[i], "a string");
    }
  if (reader.error()) return failed(*reader.error());
  return meta;
}

ObjectKey key_of(const Json& object) {
  return {.namespace_ = std::string(string_at(object, {"metadata", "namespace"})),
          .name = std::string(string_at(object, {"metadata", "name"}))};
}

Json to_json(const OwnerRef& owner) {
  JsonObject object;
  object["apiVersion"] = owner.apiVersion;
  object["kind"] = owner.kind;
  object["name"] = owner.name;
  object["uid"] = owner.uid;
  if (owner.controller) object["controller"] = true;
  if (owner.blockOwnerDeletion) object["blockOwnerDeletion"] = true;
  return object;
}

}  // namespace manta::kube
