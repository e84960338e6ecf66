// The validating webhooks: what a kube-apiserver asks about a ray.io object, and our word on it.
// Pure. Source: spec/01 §7, spec/07 §17.
#pragma once

#include "base/json.h"
#include "base/result.h"

#include <string>
#include <string_view>
#include <vector>

namespace manta::operator_ {

/// /validate-ray-io-v1-raycluster, …-rayjob, …-rayservice.
const std::vector<std::string>& admission_paths();

/// An AdmissionReview (v1) with our response. Allowed, denied as Invalid with each field at fault,
/// or an error of code 400 when the request cannot be read; never fails itself.
/// `path` must be one of admission_paths().
Json review_admission(std::string_view path, std::string_view content_type, std::string_view body);

/// The checks alone. Fails as Invalid with the causes that users see.
Result<void> admit_object(std::string_view kind, const Json& object);

}  // namespace manta::operator_
