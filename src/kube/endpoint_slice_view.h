// Who stands behind a Service: of an EndpointSlice only the objects that are ready.
#pragma once

#include "kube/object.h"

#include <string>
#include <vector>

namespace manta::kube {

struct EndpointSliceView {
  ObjectMeta meta = {};
  std::vector<std::string> ready_targets = {};  // targetRef.uid, where there is one
};
Result<EndpointSliceView> project_endpoint_slice(const Json& object);

/// Names the Service of a slice.
inline constexpr std::string_view kLabelServiceName = "kubernetes.io/service-name";

}  // namespace manta::kube
