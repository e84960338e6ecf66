// What a custom resource's schema may say, before it is compiled: the parts of JSON Schema that
// Kubernetes has, and a type for everything. Source: apiextensions-apiserver, validation of
// structural schemas.
#pragma once

#include "base/json.h"
#include "local/apiserver/field_errors.h"

#include <string>

namespace manta::local {

/// Errors are reported under `path`.
void check_schema(const Json& schema, const std::string& path, FieldErrors& errors);

}  // namespace manta::local
