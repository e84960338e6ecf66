#include "kube/endpoint_slice_view.h"

namespace manta::kube {

Result<EndpointSliceView> project_endpoint_slice(const Json& object) {
  auto meta = parse_meta(object);
  if (!meta) return std::unexpected(meta.error());
  EndpointSliceView view{.meta = std::move(*meta)};
  for (const auto& endpoint : array_at(object, {"endpoints"})) {
    if (!bool_at(endpoint, {"conditions", "ready"})) continue;  // absent counts as not ready
    const auto uid = string_at(endpoint, {"targetRef", "uid"});
    if (!uid.empty()) view.ready_targets.emplace_back(uid);
  }
  return view;
}

}  // namespace manta::kube
