// What is held of kinds that a namespace has thousands of for other reasons than Ray: of what may
// be ours as much as planners read, of the rest that it is there, or nothing. PF-04
#pragma once

#include "kube/views.h"

namespace manta::operator_ {

/// Whether it has one of Ray's labels or owners.
bool has_ray_mark(const Json& object);

/// Of ServiceAccounts, Roles and RoleBindings only names and owners decide anything. Any name may
/// be asked for: users give ServiceAccounts, and Roles are named like their clusters.
Result<kube::MetaView> project_bare(const Json& object);

/// Of a claim that a user made for Ray's storage only its being there counts; with its spec come
/// those that are named or marked like ours.
Result<kube::SpecView> project_claim(const Json& object);

/// An Ingress that is ours, or stands where one of ours is to be.
bool concerns_head(const Json& ingress);

}  // namespace manta::operator_
