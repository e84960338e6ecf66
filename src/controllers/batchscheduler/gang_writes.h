// What the writes of all schedulers' objects have in common, and whose an object is.
#pragma once

#include "controllers/batchscheduler/gang.h"

#include <string_view>

namespace manta::controllers::batchscheduler {

/// A write of a gang's object, in the gang's lane. A failure is told by an event and, of a cluster,
/// by its ReplicaFailure condition: upstream says nothing, and no Pod appears. BS-05
kube::Write create_gang_object(const kube::Resource& resource, Json body);
kube::Write update_gang_object(const kube::Resource& resource, const kube::SpecView& changed);
kube::Write delete_gang_object(const kube::Resource& resource, const kube::ObjectMeta& meta,
                               std::string_view why);

/// Predecessors: of an owner of this name that is gone, so the garbage collector takes it away.
enum class Belongs { Us, Nobody, Predecessor, Others };
Belongs whose(const kube::ObjectMeta& live, const kube::ObjectMeta& owner, std::string_view kind);

/// Why no Pod may be made beside a predecessor's.
std::string goes_with_owner(const kube::Resource& resource, const kube::ObjectMeta& live);

/// No Pod may be made, and the user has to hear why.
void block(GangDecision& out, kube::EventNote event);

/// The user has to hear of a namesake that will not go by itself.
kube::EventNote collision(const kube::Resource& resource, const kube::ObjectMeta& live,
                          std::string_view owner_kind);

}  // namespace manta::controllers::batchscheduler
