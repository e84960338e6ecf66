#include "local/controllers/scheduler.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <tuple>

namespace manta::local {
namespace {

struct Room {
  std::shared_ptr<const NodeView> node;
  Resources used = {};
  std::int64_t pods = 0;
};

/// Why a node does not take a Pod; several for resources.
struct Refusal {
  std::vector<std::string> reasons = {};
  bool resources_only = false;  // taking other Pods away would help
};

bool tolerates(const JsonArray& tolerations, const Json& taint) {
  return std::ranges::any_of(tolerations, [&](const Json& toleration) {
    const auto effect = string_at(toleration, {"effect"});
    if (!effect.empty() && effect != string_at(taint, {"effect"})) return false;
    const auto key = string_at(toleration, {"key"});
    if (string_at(toleration, {"operator"}) == "Exists")
      return key.empty() || key == string_at(taint, {"key"});
    return key == string_at(taint, {"key"}) &&
           string_at(toleration, {"value"}) == string_at(taint, {"value"});
  });
}

bool in_order(std::string_view op, std::string_view have, const JsonArray& values) {
  std::int64_t left = 0;
  std::int64_t right = 0;
  const auto limit = values.empty() || !values[0].is_string()
                         ? std::string_view{}
                         : std::string_view(values[0].as_string());
  const auto read = [](std::string_view text, std::int64_t& into) {
    return std::from_chars(text.data(), text.data() + text.size(), into).ec == std::errc{};
  };
  if (!read(have, left) || !read(limit, right)) return false;
  return op == "Gt" ? left > right : left < right;
}

/// One matchExpressions entry against a label (null: the label is absent).
bool meets(const Json& expression, const std::string* have) {
  const auto op = string_at(expression, {"operator"});
  const auto& values = array_at(expression, {"values"});
  const bool listed = have != nullptr && std::ranges::any_of(values, [&](const Json& value) {
                        return value.is_string() && std::string_view(value.as_string()) == *have;
                      });
  if (op == "In") return listed;
  if (op == "NotIn") return !listed;
  if (op == "Exists") return have != nullptr;
  if (op == "DoesNotExist") return have == nullptr;
  return have != nullptr && in_order(op, *have, values);
}

const std::string* lookup(const kube::StringMap& labels, std::string_view key) {
  const auto found = labels.find(key);
  return found == labels.end() ? nullptr : &found->second;
}

bool matches_term(const Json& term, const NodeView& node) {
  const auto& expressions = array_at(term, {"matchExpressions"});
  const auto& fields = array_at(term, {"matchFields"});
  if (expressions.empty() && fields.empty()) return false;  // an empty term matches no node
  return std::ranges::all_of(expressions,
                             [&](const Json& e) {
                               return meets(e, lookup(node.meta.labels, string_at(e, {"key"})));
                             }) &&
         std::ranges::all_of(fields, [&](const Json& e) {
           return string_at(e, {"key"}) == "metadata.name" && meets(e, &node.meta.key.name);
         });
}

bool wants_node(const PodView& pod, const NodeView& node) {
  for (const auto& [key, value] : pod.node_selector)
    if (const auto* have = lookup(node.meta.labels, key); have == nullptr || *have != value)
      return false;
  return pod.node_terms.empty() || std::ranges::any_of(pod.node_terms, [&](const Json& term) {
           return matches_term(term, node);
         });
}

int factor_of(std::string_view resource, const SchedulerOptions& options) {
  if (resource == "cpu") return options.cpu_factor;
  return resource == "memory" ? options.memory_factor : 1;
}

Quantity amount_of(const Resources& resources, std::string_view name) {
  const auto found = resources.find(name);
  return found == resources.end() ? Quantity{} : found->second;
}

Refusal check(const PodView& pod, const Room& room, const SchedulerOptions& options) {
  const auto& node = *room.node;
  if (node.unschedulable) return {{"node(s) were unschedulable"}};
  for (const auto& taint : node.taints) {
    const auto effect = string_at(taint, {"effect"});
    if (effect == "PreferNoSchedule" || tolerates(pod.tolerations, taint)) continue;
    return {{fmt::format("node(s) had untolerated taint {{{}: {}}}", string_at(taint, {"key"}),
                         string_at(taint, {"value"}))}};
  }
  if (!wants_node(pod, node)) return {{"node(s) didn't match Pod's node affinity/selector"}};
  if (!node.ready) return {{"node(s) were not ready"}};
  Refusal refusal{.resources_only = true};
  if (const auto most = amount_of(node.allocatable, "pods");
      !most.is_zero() && room.pods + 1 > most.value())
    refusal.reasons.push_back("Too many pods");
  for (const auto& [name, wanted] : pod.requests) {
    if (wanted.is_zero()) continue;
    auto after = amount_of(room.used, name);
    after += wanted;
    if (after > amount_of(node.allocatable, name) * factor_of(name, options))
      refusal.reasons.push_back("Insufficient " + name);
  }
  return refusal;
}

std::string oversubscription(const PodView& pod, const Room& room) {
  std::string text;
  for (const auto& [name, wanted] : pod.requests) {
    const auto have = amount_of(room.node->allocatable, name);
    const auto asked = amount_of(room.used, name);
    if (wanted.is_zero() || asked <= have) continue;
    text += fmt::format("{}{} of {} (it has {})", text.empty() ? "" : ", ", asked.to_string(), name,
                        have.to_string());
  }
  if (text.empty()) return text;
  return fmt::format("node {} now has more promised than it has: {}; Pods share it",
                     room.node->meta.key.name, text);
}

/// "0/2 nodes are available: 1 Insufficient cpu, 1 node(s) were unschedulable. preemption: …"
std::string describe(const std::vector<Refusal>& refusals) {
  if (refusals.empty()) return "no nodes available to schedule pods";
  std::map<std::string, int> counts;
  int helped = 0;
  for (const auto& refusal : refusals) {
    helped += refusal.resources_only ? 1 : 0;
    for (const auto& reason : refusal.reasons) ++counts[reason];
  }
  std::string why;
  for (const auto& [reason, count] : counts)
    why += fmt::format("{}{} {}", why.empty() ? "" : ", ", count, reason);
  std::string preemption;
  if (helped > 0)
    preemption = fmt::format("{} No preemption victims found for incoming pod", helped);
  if (const auto rest = int(refusals.size()) - helped; rest > 0)
    preemption += fmt::format("{}{} Preemption is not helpful for scheduling",
                              preemption.empty() ? "" : ", ", rest);
  return fmt::format("0/{0} nodes are available: {1}. preemption: 0/{0} nodes are available: {2}.",
                     refusals.size(), why, preemption);
}

bool waits(const PodView& pod) {
  return pod.node_name.empty() && !pod.deleting() && !pod.finished() &&
         (pod.scheduler_name.empty() || pod.scheduler_name == "default-scheduler");
}

Placement place(const std::shared_ptr<const PodView>& pod, std::vector<Room>& rooms,
                const SchedulerOptions& options) {
  Placement placement{.pod = pod};
  if (pod->gated) {
    placement.reason = "SchedulingGated";
    placement.message = "Scheduling is blocked due to non-empty scheduling gates";
    return placement;
  }
  std::vector<Refusal> refusals;
  for (auto& room : rooms) {
    auto refusal = check(*pod, room, options);
    if (!refusal.reasons.empty()) {
      refusals.push_back(std::move(refusal));
      continue;
    }
    for (const auto& [name, wanted] : pod->requests) room.used[name] += wanted;
    ++room.pods;
    placement.node = room.node->meta.key.name;
    placement.warning = oversubscription(*pod, room);
    return placement;
  }
  placement.reason = "Unschedulable";
  placement.message = describe(refusals);
  return placement;
}

}  // namespace

std::vector<Placement> decide_placements(const SchedulerSeen& seen,
                                         const SchedulerOptions& options) {
  std::vector<Room> rooms;
  for (const auto& node : seen.nodes) rooms.push_back({.node = node});
  std::vector<std::shared_ptr<const PodView>> waiting;
  for (const auto& pod : seen.pods) {
    if (waits(*pod)) waiting.push_back(pod);
    if (pod->node_name.empty() || pod->finished()) continue;
    for (auto& room : rooms) {
      if (room.node->meta.key.name != pod->node_name) continue;
      for (const auto& [name, wanted] : pod->requests) room.used[name] += wanted;
      ++room.pods;
    }
  }
  std::ranges::sort(waiting, [](const auto& a, const auto& b) {
    return std::tuple(-a->priority, a->meta.created, a->meta.key) <
           std::tuple(-b->priority, b->meta.created, b->meta.key);
  });
  std::vector<Placement> placements;
  for (const auto& pod : waiting) placements.push_back(place(pod, rooms, options));
  return placements;
}

}  // namespace manta::local
