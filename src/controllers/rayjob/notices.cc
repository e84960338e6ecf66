#include "controllers/rayjob/notices.h"

#include "controllers/writes.h"

namespace manta::controllers::rayjob {

void give_notice(Draft& draft, std::string_view type, std::string message) {
  // Once, not at every look: an event that repeats is a write each time.
  if (!ray::condition_is_true(draft.job().status.conditions, type))
    draft.plan.events.push_back(warning(type, "Reconcile", message));
  ray::set_condition(draft.status.conditions,
                     {.type = std::string(type),
                      .status = "True",
                      .observedGeneration = draft.job().meta.generation,
                      .reason = std::string(type),
                      .message = std::move(message)},
                     draft.now());
}

void take_notice_back(Draft& draft, std::string_view type) {
  ray::remove_condition(draft.status.conditions, type);
}

}  // namespace manta::controllers::rayjob
