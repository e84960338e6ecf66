// Collects what is wrong with an object's fields, in the API server's words, and turns it into the
// 422 answer. Source of the texts: apimachinery's field.Error.
#pragma once

#include "base/json.h"
#include "base/result.h"
#include "kube/object.h"

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace manta::local {

class FieldErrors {
 public:
  void required(std::string path, std::string_view detail = {});
  /// `value` prints as the server prints Go values: strings quoted, the rest as JSON.
  void invalid(std::string path, const Json& value, std::string_view detail);
  void type_invalid(std::string path, const Json& value, std::string_view detail);
  void not_supported(std::string path, const Json& value, std::vector<std::string> supported);
  void duplicate(std::string path, const Json& value);
  void forbidden(std::string path, std::string_view detail);
  void not_found(std::string path, const Json& value);
  void too_long(std::string path, std::int64_t limit);
  void too_many(std::string path, std::int64_t actual, std::int64_t limit);
  /// Any other, with its own reason: FieldValueInvalid…
  void add(std::string path, std::string reason, std::string message);

  bool empty() const { return causes_.empty(); }
  std::size_t size() const { return causes_.size(); }
  std::vector<FieldCause>& causes() { return causes_; }
  /// `Pod "x" is invalid: …`
  Error to_error(const kube::Resource& resource, std::string_view name) const;

 private:
  std::vector<FieldCause> causes_ = {};
};

/// Go's %q for the strings that reach messages, and %v for the rest.
std::string go_quote(std::string_view text);
std::string go_value(const Json& value);
/// What encoding/json calls a value: "bool", "number".
std::string_view go_kind(const Json& value);

/// "pods", or "rayclusters.ray.io": how messages name a resource and a kind.
std::string qualified_resource(const kube::Resource& resource);
std::string qualified_kind(const kube::Resource& resource);

Error not_found(const kube::Resource& resource, std::string_view name);
Error already_exists(const kube::Resource& resource, std::string_view name);
Error conflict(const kube::Resource& resource, std::string_view name, std::string_view why);
Error forbidden(const kube::Resource& resource, std::string_view name, std::string_view why);
Error bad_request(std::string message);
Error object_modified(const kube::Resource& resource, std::string_view name);

}  // namespace manta::local
