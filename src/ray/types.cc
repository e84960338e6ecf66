#include "ray/types.h"

#include "base/excerpt.h"
#include "ray/labels.h"

#include <algorithm>

namespace manta::ray {

const Condition* find_condition(const std::vector<Condition>& conditions, std::string_view type) {
  const auto it = std::ranges::find(conditions, type, &Condition::type);
  return it == conditions.end() ? nullptr : &*it;
}

bool condition_is_true(const std::vector<Condition>& conditions, std::string_view type) {
  const Condition* condition = find_condition(conditions, type);
  return condition != nullptr && condition->status == "True";
}

bool set_condition(std::vector<Condition>& conditions, Condition wanted, Time now) {
  wanted.message = excerpt(wanted.message, kLongestMessage);
  const auto it = std::ranges::find(conditions, wanted.type, &Condition::type);
  if (!wanted.lastTransitionTime) wanted.lastTransitionTime = now;
  if (it == conditions.end()) {
    conditions.push_back(std::move(wanted));
    return true;
  }
  if (it->status == wanted.status) wanted.lastTransitionTime = it->lastTransitionTime;
  if (*it == wanted) return false;
  *it = std::move(wanted);
  return true;
}

bool remove_condition(std::vector<Condition>& conditions, std::string_view type) {
  return std::erase_if(conditions, [&](const Condition& c) { return c.type == type; }) > 0;
}

bool is_managed_by_us(const Opt<std::string>& managed_by) {
  return !managed_by || *managed_by == kManagedByOperator;
}

}  // namespace manta::ray
