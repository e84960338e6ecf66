// Shorthand for writes that every planner makes.
#pragma once

#include "kube/plan.h"
#include "kube/views.h"

#include <string>
#include <string_view>

namespace manta::controllers {

/// Of an object as the builders make it: its namespace is the write's.
kube::Write create(const kube::Resource& resource, Json body, std::string_view lane);
/// Of this object and no successor; one that is gone counts as deleted.
kube::Write remove(const kube::Resource& resource, const kube::ObjectMeta& meta,
                   std::string_view lane);
/// The whole object as `changed` shows it, against the resourceVersion that it carries.
kube::Write update(const kube::Resource& resource, const kube::SpecView& changed,
                   std::string_view lane);
/// Status subresource, against the resourceVersion that the decision saw. The log tells of it when
/// it is another state than `before`.
kube::Write update_status(const kube::Resource& resource, const kube::ObjectMeta& meta,
                          const Json& before, Json status);
/// Merge patch that adds or removes one finalizer, against the resourceVersion seen.
kube::Write set_finalizer(const kube::Resource& resource, const kube::ObjectMeta& meta,
                          std::string_view finalizer, bool present);

/// JSON patch that turns a live Service to another spec, whole: nothing of the old one stays but
/// what cannot change (RS-05).
JsonArray replace_spec(const kube::ServiceView& live, JsonObject spec);

kube::EventNote normal(std::string_view reason, std::string_view action, std::string note);
kube::EventNote warning(std::string_view reason, std::string_view action, std::string note);

/// Plans again after this at the latest. What has come already is not waited for: planning again
/// at once would decide the same, and so without end.
void look_again_within(kube::Plan& plan, Duration wait);

/// "<ns>/<name>" of the object to create.
std::string created_key(const Json& body);

}  // namespace manta::controllers
