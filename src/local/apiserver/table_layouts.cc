#include "local/apiserver/table_layouts.h"

#include <algorithm>

namespace manta::local {
namespace {

Column wide(std::string_view name) { return {.name = name, .priority = 1}; }

/// The columns of one kind a row. Source: Kubernetes pkg/printers/internalversion.
const std::vector<Layout>& layouts() {
  static const std::vector<Layout> kLayouts = {
      {"pods",
       {kNameColumn,
        {"Ready"},
        {"Status"},
        {"Restarts"},
        {"Age"},
        wide("IP"),
        wide("Node"),
        wide("Nominated Node"),
        wide("Readiness Gates")},
       pod_cells},
      {"services",
       {kNameColumn,
        {"Type"},
        {"Cluster-IP"},
        {"External-IP"},
        {"Port(s)"},
        {"Age"},
        wide("Selector")},
       service_cells},
      {"jobs",
       {kNameColumn,
        {"Status"},
        {"Completions"},
        {"Duration"},
        {"Age"},
        wide("Containers"),
        wide("Images"),
        wide("Selector")},
       job_cells},
      {"namespaces", {kNameColumn, {"Status"}, {"Age"}}, namespace_cells},
      {"nodes",
       {kNameColumn,
        {"Status"},
        {"Roles"},
        {"Age"},
        {"Version"},
        wide("Internal-IP"),
        wide("External-IP"),
        wide("OS-Image"),
        wide("Kernel-Version"),
        wide("Container-Runtime")},
       node_cells},
      {"events",
       {{"Last Seen"},
        {"Type"},
        {"Reason"},
        {"Object"},
        wide("Subobject"),
        wide("Source"),
        {"Message"},
        wide("First Seen"),
        wide("Count"),
        {"Name", "string", "name", 1}},
       event_cells},
      {"deployments",
       {kNameColumn,
        {"Ready"},
        {"Up-to-date"},
        {"Available"},
        {"Age"},
        wide("Containers"),
        wide("Images"),
        wide("Selector")},
       deployment_cells},
      {"replicasets",
       {kNameColumn,
        {"Desired", "integer"},
        {"Current", "integer"},
        {"Ready", "integer"},
        {"Age"},
        wide("Containers"),
        wide("Images"),
        wide("Selector")},
       replica_set_cells},
      {"configmaps", {kNameColumn, {"Data"}, {"Age"}}, config_map_cells},
      {"secrets", {kNameColumn, {"Type"}, {"Data"}, {"Age"}}, secret_cells},
      {"serviceaccounts", {kNameColumn, {"Secrets"}, {"Age"}}, account_cells},
      {"persistentvolumeclaims",
       {kNameColumn,
        {"Status"},
        {"Volume"},
        {"Capacity"},
        {"Access Modes"},
        {"StorageClass"},
        {"VolumeAttributesClass"},
        {"Age"},
        wide("VolumeMode")},
       claim_cells},
      {"ingresses",
       {kNameColumn, {"Class"}, {"Hosts"}, {"Address"}, {"Ports"}, {"Age"}},
       ingress_cells},
      {"networkpolicies", {kNameColumn, {"Pod-Selector"}, {"Age"}}, policy_cells},
      {"roles", {kNameColumn, {"Created At", "string", "date"}}, created_cells},
      {"clusterroles", {kNameColumn, {"Created At", "string", "date"}}, created_cells},
      {"customresourcedefinitions", {kNameColumn, {"Created At", "string", "date"}}, created_cells},
      {"rolebindings", {kNameColumn, {"Role"}, {"Age"}}, binding_cells},
      {"clusterrolebindings", {kNameColumn, {"Role"}, {"Age"}}, binding_cells},
      {"leases", {kNameColumn, {"Holder"}, {"Age"}}, lease_cells},
      {"endpointslices",
       {kNameColumn, {"AddressType"}, {"Ports"}, {"Endpoints"}, {"Age"}},
       slice_cells},
      {"endpoints", {kNameColumn, {"Endpoints"}, {"Age"}}, endpoints_cells},
      {"priorityclasses",
       {kNameColumn, {"Value"}, {"Global-Default"}, {"Age"}, {"PreemptionPolicy"}},
       priority_cells},
  };
  return kLayouts;
}

}  // namespace

const Layout& layout_of(const Kind& kind) {
  static const Layout kPlain = {"", {kNameColumn, {"Age"}}, plain_cells};
  const auto& all = layouts();
  const auto found = std::ranges::find(all, kind.resource.plural, &Layout::plural);
  return found == all.end() ? kPlain : *found;
}

}  // namespace manta::local
