#include "controllers/raycluster/seen.h"

#include "ray/builders/cluster_facts.h"
#include "ray/labels.h"

#include <algorithm>
#include <charconv>

namespace manta::controllers::raycluster {
namespace {

Pods labelled(const Pods& pods, std::string_view key, std::string_view value) {
  Pods out;
  std::ranges::copy_if(pods, std::back_inserter(out),
                       [&](const auto& pod) { return pod->meta.label(key) == value; });
  return out;
}

}  // namespace

Pods pods_of_type(const Pods& pods, std::string_view node_type) {
  return labelled(pods, ray::kLabelNodeType, node_type);
}

Pods pods_of_group(const Pods& pods, std::string_view group) {
  return labelled(pods, ray::kLabelGroup, group);
}

bool is_deleting(const kube::PodView& pod) { return pod.meta.deleting.has_value(); }

Pods living(const Pods& pods) {
  Pods out;
  std::ranges::copy_if(pods, std::back_inserter(out),
                       [](const auto& pod) { return !is_deleting(*pod); });
  return out;
}

std::int32_t label_number(const kube::PodView& pod, std::string_view key) {
  const auto text = pod.meta.label(key);
  std::int32_t number = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc{} && end == text.data() + text.size() ? number : -1;
}

std::string service_account_name(const ray::RayCluster& cluster) {
  const auto named =
      string_at(cluster.spec.headGroupSpec.template_, {"spec", "serviceAccountName"});
  if (!named.empty()) return std::string(named);
  return ray::access_name(cluster);
}

}  // namespace manta::controllers::raycluster
