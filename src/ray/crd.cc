#include "ray/crd.h"

#include "base/yaml.h"
#include "ray/schema.h"
#include "ray/types.h"

#include <fmt/format.h>

namespace manta::ray {
namespace {

struct Column {
  const char* name;
  const char* type;
  const char* path;
  bool wide = false;  // only with -o wide
};

using Columns = std::vector<Column>;

const Column kAge{"age", "date", ".metadata.creationTimestamp"};

const Columns& cluster_columns() {
  static const Columns columns = {
      {"desired workers", "integer", ".status.desiredWorkerReplicas"},
      {"available workers", "integer", ".status.availableWorkerReplicas"},
      {"cpus", "string", ".status.desiredCPU"},
      {"memory", "string", ".status.desiredMemory"},
      {"gpus", "string", ".status.desiredGPU"},
      {"tpus", "string", ".status.desiredTPU", true},
      {"status", "string", ".status.state"},
      kAge,
      {"head pod IP", "string", ".status.head.podIP", true},
      {"head service IP", "string", ".status.head.serviceIP", true}};
  return columns;
}

const Columns& job_columns() {
  static const Columns columns = {{"job status", "string", ".status.jobStatus"},
                                  {"deployment status", "string", ".status.jobDeploymentStatus"},
                                  {"ray cluster name", "string", ".status.rayClusterName"},
                                  {"start time", "string", ".status.startTime"},
                                  {"end time", "string", ".status.endTime"},
                                  kAge};
  return columns;
}

const Columns& service_columns() {
  static const Columns columns = {{"service status", "string", ".status.serviceStatus"},
                                  {"num serve endpoints", "string", ".status.numServeEndpoints"}};
  return columns;
}

const Columns& cron_job_columns() {
  static const Columns columns = {{"schedule", "string", ".spec.schedule"},
                                  {"timezone", "string", ".spec.timeZone"},
                                  {"last schedule", "date", ".status.lastScheduleTime"},
                                  kAge,
                                  {"suspend", "boolean", ".spec.suspend"}};
  return columns;
}

JsonArray columns_json(const Columns& columns) {
  JsonArray array;
  for (const Column& column : columns) {
    JsonObject entry{{"jsonPath", column.path}, {"name", column.name}};
    if (column.wide) entry["priority"] = 1;
    entry["type"] = column.type;
    array.push_back(std::move(entry));
  }
  return array;
}

JsonObject root_schema(std::string_view doc, const Shape& spec, const Shape& status) {
  JsonObject schema;
  if (!doc.empty()) schema["description"] = doc;
  schema["properties"] = JsonObject{{"apiVersion", {{"type", "string"}}},
                                    {"kind", {{"type", "string"}}},
                                    {"metadata", {{"type", "object"}}},
                                    {"spec", openapi_schema(spec)},
                                    {"status", openapi_schema(status)}};
  schema["type"] = "object";
  return schema;
}

JsonObject version(std::string_view name, JsonObject schema, const Columns& columns, bool storage) {
  JsonObject entry;
  if (!columns.empty()) entry["additionalPrinterColumns"] = columns_json(columns);
  entry["name"] = name;
  entry["schema"] = JsonObject{{"openAPIV3Schema", std::move(schema)}};
  entry["served"] = true;
  entry["storage"] = storage;
  entry["subresources"] = JsonObject{{"status", JsonObject()}};
  return entry;
}

JsonObject v1alpha1(const std::string& kind, const Columns& columns) {
  const Shape* spec = find_shape(kind + "Spec_a1");
  const Shape* status = find_shape(kind + "Status_a1");
  MANTA_CHECK(spec != nullptr && status != nullptr);
  JsonObject entry = version("v1alpha1", root_schema({}, *spec, *status), columns, false);
  entry["deprecated"] = true;
  entry["deprecationWarning"] = fmt::format(
      "ray.io/v1alpha1 {0} is deprecated; use ray.io/v1 {0}. v1alpha1 receives no new "
      "fields and will be unavailable in KubeRay 1.9.",
      kind);
  return entry;
}

Crd crd(const kube::Resource& resource, JsonArray versions) {
  std::string singular = resource.kind;
  for (char& c : singular) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  return {.file = fmt::format("{}_{}.yaml", resource.group, resource.plural),
          .object = JsonObject{{"apiVersion", "apiextensions.k8s.io/v1"},
                               {"kind", "CustomResourceDefinition"},
                               {"metadata", {{"name", resource.plural + "." + resource.group}}},
                               {"spec",
                                {{"group", resource.group},
                                 {"names",
                                  {{"categories", JsonArray{"all"}},
                                   {"kind", resource.kind},
                                   {"listKind", resource.kind + "List"},
                                   {"plural", resource.plural},
                                   {"singular", singular}}},
                                 {"scope", "Namespaced"},
                                 {"versions", std::move(versions)}}}}};
}

/// `rules`: of the spec as a whole where it is an object of its own, not part of another.
template <class Spec, class Status>
JsonObject v1(std::string_view doc, const Columns& columns, std::string_view rules = {}) {
  Shape spec = shape_of(type_of<Spec>());
  MANTA_CHECK(add_rules(spec, rules).has_value());
  return version("v1", root_schema(doc, spec, shape_of(type_of<Status>())), columns, true);
}

}  // namespace

std::vector<Crd> ray_crds() {
  return {
      crd(kRayClusters, {v1<RayClusterSpec, RayClusterStatus>("A Ray cluster.", cluster_columns()),
                         v1alpha1("RayCluster", cluster_columns())}),
      crd(kRayJobs,
          {v1<RayJobSpec, RayJobStatus>("A job on a Ray cluster.", job_columns(), "cel:C8"),
           v1alpha1("RayJob", {})}),
      crd(kRayServices,
          {v1<RayServiceSpec, RayServiceStatus>("A service on Ray Serve.", service_columns()),
           v1alpha1("RayService", {})}),
      crd(kRayCronJobs,
          {v1<RayCronJobSpec, RayCronJobStatus>("RayJobs at set times.", cron_job_columns())})};
}

std::string crd_yaml(const Crd& crd) {
  return "# Written by crdgen from src/ray; edit the descriptions there.\n---\n" +
         dump_yaml(crd.object);
}

}  // namespace manta::ray
