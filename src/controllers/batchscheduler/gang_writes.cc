#include "controllers/batchscheduler/gang_writes.h"

#include "controllers/writes.h"

#include <fmt/format.h>

namespace manta::controllers::batchscheduler {
namespace {

kube::Write tell_failure(kube::Write write, std::string_view verb, std::string_view done_to,
                         const kube::ObjectKey& key) {
  const auto& kind = write.resource.kind;
  write.marker = fmt::format("Failed{}{}", verb, kind);
  write.failed_event =
      warning(fmt::format("FailedTo{}{}", verb, kind), verb,
              fmt::format("Failed to {} {} {}: {{error}}", done_to, kind, key.to_string()));
  return write;
}

}  // namespace

kube::Write create_gang_object(const kube::Resource& resource, Json body) {
  const auto key = kube::key_of(body);
  auto write = tell_failure(create(resource, std::move(body), kGangLane), "Create", "create", key);
  write.why = "the batch scheduler asks for it";
  return write;
}

kube::Write update_gang_object(const kube::Resource& resource, const kube::SpecView& changed) {
  return tell_failure(update(resource, changed, kGangLane), "Update", "update", changed.meta.key);
}

kube::Write delete_gang_object(const kube::Resource& resource, const kube::ObjectMeta& meta,
                               std::string_view why) {
  auto write = tell_failure(remove(resource, meta, kGangLane), "Delete", "delete", meta.key);
  write.why = why;
  write.done_event =
      normal(fmt::format("Deleted{}", resource.kind), "Delete",
             fmt::format("Deleted {} {}: {}", resource.kind, meta.key.to_string(), why));
  return write;
}

Belongs whose(const kube::ObjectMeta& live, const kube::ObjectMeta& owner, std::string_view kind) {
  const auto* controller = live.controller_owner();
  if (!controller) return Belongs::Nobody;
  if (controller->uid == owner.uid) return Belongs::Us;
  const bool namesake = controller->kind == kind && controller->name == owner.key.name;
  return namesake ? Belongs::Predecessor : Belongs::Others;
}

std::string goes_with_owner(const kube::Resource& resource, const kube::ObjectMeta& live) {
  return fmt::format("{} {} goes with its owner", resource.kind, live.key.to_string());
}

void block(GangDecision& out, kube::EventNote event) {
  out.blocked = event.note;
  out.events.push_back(std::move(event));
}

kube::EventNote collision(const kube::Resource& resource, const kube::ObjectMeta& live,
                          std::string_view owner_kind) {
  return warning(fmt::format("{}NameCollision", resource.kind), "Validate",
                 fmt::format("{} {} already exists and is not owned by this {}; rename it or use a "
                             "different {} name to avoid the collision",
                             resource.kind, live.key.to_string(), owner_kind, owner_kind));
}

}  // namespace manta::controllers::batchscheduler
