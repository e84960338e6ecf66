#include "ray/schema.h"

#include "ray/crd.h"
#include "ray/testing.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace manta::ray {
namespace {

struct Shorthand {
  const char* name;
  std::string_view shape;
  std::string_view schema;
};
const Shorthand kShorthand[] = {
    {"Text", "str", R"({"type":"string"})"},
    {"Int32", "i32=0 minimum:0", R"({"default":0,"format":"int32","minimum":0,"type":"integer"})"},
    {"Int64", "i64", R"({"format":"int64","type":"integer"})"},
    {"Number", "num", R"({"type":"number"})"},
    {"Time", "time nullable", R"({"format":"date-time","nullable":true,"type":"string"})"},
    {"Enum", "str{B|A}=\"A\"", R"({"default":"A","enum":["B","A"],"type":"string"})"},
    {"IntOrString", "intstr",
     R"({"anyOf":[{"type":"integer"},{"type":"string"}],"x-kubernetes-int-or-string":true})"},
    {"Map", "map<i32>",
     R"({"additionalProperties":{"format":"int32","type":"integer"},"type":"object"})"},
    {"Set", "[str]@s",
     R"({"items":{"type":"string"},"type":"array","x-kubernetes-list-type":"set"})"},
    {"ObjectSortsKeys", "{b!:str, a!:bool, c:str minLength:1}&",
     R"({"properties":{"a":{"type":"boolean"},"b":{"type":"string"},"c":{"minLength":1,"type":"string"}},"required":["a","b"],"type":"object","x-kubernetes-map-type":"atomic"})"},
    {"Reference", "ExecAction",
     R"({"properties":{"command":{"items":{"type":"string"},"type":"array","x-kubernetes-list-type":"atomic"}},"type":"object"})"},
    {"ListMap", "[NameOnly]@m(name) minItems:1",
     R"({"items":{"properties":{"name":{"type":"string"}},"required":["name"],"type":"object"},"minItems":1,"type":"array","x-kubernetes-list-map-keys":["name"],"x-kubernetes-list-type":"map"})"},
    {"Open", "{name!:str} open",
     R"({"properties":{"name":{"type":"string"}},"required":["name"],"type":"object","x-kubernetes-preserve-unknown-fields":true})"},
    {"Cel", "str cel:C2+C3",
     R"({"type":"string","x-kubernetes-validations":[{"message":"the managedBy field is immutable","rule":"self == oldSelf"},{"message":"the managedBy field value must be either 'ray.io/kuberay-operator' or 'kueue.x-k8s.io/multikueue'","rule":"self in ['ray.io/kuberay-operator', 'kueue.x-k8s.io/multikueue']"}]})"},
};
class SchemaShorthand : public testing::TestWithParam<Shorthand> {};
TEST_P(SchemaShorthand, Row) {
  const auto shape = parse_shape(GetParam().shape);
  ASSERT_TRUE(shape) << shape.error().message;
  EXPECT_EQ(dump_json(openapi_schema(*shape)), GetParam().schema);
}
INSTANTIATE_TEST_SUITE_P(, SchemaShorthand, testing::ValuesIn(kShorthand),
                         [](auto& info) { return info.param.name; });

TEST(Shorthand, SaysWhereItCannotBeRead) {
  for (const char* text : {"", "{", "{a}", "{a:}", "[str", "map<str", "str junk", "str minimum:x"})
    EXPECT_FALSE(parse_shape(text).has_value()) << text;
  EXPECT_EQ(parse_shape("{a str}").error().message, "shape: expected ':' at offset 3 (str}…)");
}

int count_nodes(const Json& schema) {
  int count = 1;
  for (const auto& [key, value] : object_at(schema, {"properties"})) count += count_nodes(value);
  if (const Json* items = find(schema, {"items"})) count += count_nodes(*items);
  if (const Json* more = find(schema, {"additionalProperties"})) count += count_nodes(*more);
  return count;
}

const Json& version(const Crd& crd, std::size_t index) {
  return array_at(crd.object, {"spec", "versions"})[index];
}

TEST(Crds, HaveTheReferenceSchemasSizes) {  // schema nodes of the v1 versions, spec/01 §8.1
  const auto crds = ray_crds();
  // Ours on top: RayJob's retryStrategy and conditions, RayCronJob's four policies and conditions.
  const int want[] = {3060, 4373 + 1 + 8, 3212, 4331 + 1 + 4 + 8};
  ASSERT_EQ(crds.size(), std::size(want));
  for (std::size_t i = 0; i < crds.size(); ++i)
    EXPECT_EQ(count_nodes(*find(version(crds[i], 0), {"schema", "openAPIV3Schema"})), want[i])
        << crds[i].file;
}

TEST(Crds, FitKubectlApply) {
  // The annotation holds the object as compact JSON; all annotations together hold 262144 bytes.
  for (const auto& crd : ray_crds()) EXPECT_LT(dump_json(crd.object).size(), 255'000u) << crd.file;
}

TEST(Crds, OldVersionsAreServedWithAWarningAndNotStored) {
  for (const auto& crd : ray_crds()) {
    const auto& versions = array_at(crd.object, {"spec", "versions"});
    EXPECT_EQ(string_at(versions[0], {"name"}), "v1");
    EXPECT_TRUE(bool_at(versions[0], {"storage"}));
    if (versions.size() == 1) {
      EXPECT_EQ(crd.file, "ray.io_raycronjobs.yaml");
      continue;
    }
    EXPECT_EQ(string_at(versions[1], {"name"}), "v1alpha1");
    EXPECT_TRUE(bool_at(versions[1], {"served"}));
    EXPECT_FALSE(bool_at(versions[1], {"storage"}, true));
    const std::string kind(string_at(crd.object, {"spec", "names", "kind"}));
    EXPECT_EQ(string_at(versions[1], {"deprecationWarning"}),
              "ray.io/v1alpha1 " + kind + " is deprecated; use ray.io/v1 " + kind +
                  ". v1alpha1 receives no new fields and will be unavailable in KubeRay 1.9.");
  }
}

const Json& spec_schema(const Crd& crd) {
  return *find(version(crd, 0), {"schema", "openAPIV3Schema", "properties", "spec", "properties"});
}

// Conditions are Kubernetes' own.
void expect_docs(const TypeInfo& type, const std::string& path) {
  if (type.element != nullptr) return expect_docs(*type.element, path);
  if (type.kind != TypeKind::Struct || type.name == "Condition") return;
  EXPECT_FALSE(type.doc.empty()) << path;
  for (const Field& field : type.fields) {
    EXPECT_FALSE(field.doc.empty()) << path << "." << field.name;
    expect_docs(*field.type, path + "." + field.name);
  }
}

TEST(Crds, EveryFieldOfRayIsExplained) {
  expect_docs(type_of<RayClusterSpec>(), "RayCluster.spec");
  expect_docs(type_of<RayClusterStatus>(), "RayCluster.status");
  expect_docs(type_of<RayJobSpec>(), "RayJob.spec");
  expect_docs(type_of<RayJobStatus>(), "RayJob.status");
  expect_docs(type_of<RayServiceSpec>(), "RayService.spec");
  expect_docs(type_of<RayServiceStatus>(), "RayService.status");
  expect_docs(type_of<RayCronJobSpec>(), "RayCronJob.spec");
  expect_docs(type_of<RayCronJobStatus>(), "RayCronJob.status");
}

// SEEN-37 is about live RayJobs; what a RayCronJob makes later may be managed by anyone.
TEST(Crds, ManagedByMayLeaveATemplate) {
  const auto crds = ray_crds();
  const auto rules = [&](const Crd& crd) {
    return dump_json(array_at(version(crd, 0), {"schema", "openAPIV3Schema", "properties", "spec",
                                                "x-kubernetes-validations"}));
  };
  EXPECT_NE(rules(crds[1]).find("!has(oldSelf.managedBy)"), std::string::npos);
  const Json* job = find(spec_schema(crds[3]), {"jobTemplate"});
  ASSERT_NE(job, nullptr);
  EXPECT_EQ(find(*job, {"x-kubernetes-validations"}), nullptr);
}

struct Limit {
  const char* name;
  std::size_t crd;  // 0 RayCluster, 1 RayJob, 2 RayService, 3 RayCronJob
  std::initializer_list<std::string_view> path;
  std::string_view json;
};
const Limit kLimits[] = {
    {"UpgradeType", 0, {"upgradeStrategy", "properties", "type", "enum"}, R"(["Recreate","None"])"},
    {"AuthMode", 0, {"authOptions", "properties", "mode", "enum"}, R"(["disabled","token"])"},
    {"UpscalingMode",
     0,
     {"autoscalerOptions", "properties", "upscalingMode", "enum"},
     R"(["Default","Aggressive","Conservative"])"},
    {"AutoscalerVersion",
     0,
     {"autoscalerOptions", "properties", "version", "enum"},
     R"(["v1","v2"])"},
    {"Backend",
     0,
     {"gcsFaultToleranceOptions", "properties", "backend", "enum"},
     R"(["redis","rocksdb"])"},
    {"DeletionPolicyOfStorage",
     0,
     {"gcsFaultToleranceOptions", "properties", "storage", "properties", "deletionPolicy", "enum"},
     R"(["DeleteWithCluster","Retain"])"},
    {"NetworkMode",
     0,
     {"networkPolicy", "properties", "mode", "enum"},
     R"(["DenyAll","DenyAllIngress","DenyAllEgress"])"},
    {"NetworkModeDefault", 0, {"networkPolicy", "properties", "mode", "default"}, R"("DenyAll")"},
    {"PathType",
     0,
     {"headGroupSpec", "properties", "ingressOptions", "properties", "pathType", "enum"},
     R"(["Exact","Prefix","ImplementationSpecific"])"},
    {"HeadRequired", 0, {"headGroupSpec", "required"}, R"(["template"])"},
    {"GroupRequired",
     0,
     {"workerGroupSpecs", "items", "required"},
     R"(["groupName","maxReplicas","minReplicas","template"])"},
    {"MaxReplicas",
     0,
     {"workerGroupSpecs", "items", "properties", "maxReplicas", "default"},
     "2147483647"},
    {"NumOfHosts", 0, {"workerGroupSpecs", "items", "properties", "numOfHosts", "default"}, "1"},
    {"NetworkGroups",
     0,
     {"networkPolicy", "properties", "workerGroups", "x-kubernetes-list-map-keys"},
     R"(["groupName"])"},
    {"SubmissionMode", 1, {"submissionMode", "default"}, R"("K8sJobMode")"},
    {"PreRunning", 1, {"preRunningDeadlineSeconds", "minimum"}, "1"},
    {"RulesNotEmpty", 1, {"deletionStrategy", "properties", "deletionRules", "minItems"}, "1"},
    {"RulePolicy",
     1,
     {"deletionStrategy", "properties", "deletionRules", "items", "properties", "policy", "enum"},
     R"(["DeleteCluster","DeleteWorkers","DeleteSelf","DeleteNone"])"},
    {"RuleTtl",
     1,
     {"deletionStrategy", "properties", "deletionRules", "items", "properties", "condition",
      "properties", "ttlSeconds", "minimum"},
     "0"},
    {"DeletionDelay", 2, {"rayClusterDeletionDelaySeconds", "minimum"}, "0"},
    {"UpgradeRequired",
     2,
     {"upgradeStrategy", "properties", "clusterUpgradeOptions", "required"},
     R"(["gatewayClassName","intervalSeconds","stepSizePercent"])"},
    {"Surge",
     2,
     {"upgradeStrategy", "properties", "clusterUpgradeOptions", "properties", "maxSurgePercent",
      "default"},
     "100"},
    {"TimeZone", 3, {"timeZone", "minLength"}, "1"},
};
class CrdLimit : public testing::TestWithParam<Limit> {};
TEST_P(CrdLimit, IsInTheSchema) {
  const auto crds = ray_crds();
  const Json* found = find(spec_schema(crds[GetParam().crd]), GetParam().path);
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(dump_json(*found), GetParam().json);
}
INSTANTIATE_TEST_SUITE_P(, CrdLimit, testing::ValuesIn(kLimits),
                         [](auto& info) { return info.param.name; });

TEST(ShapeTable, EveryReferenceHasItsLine) {
  for (const auto& name : shape_names()) openapi_schema(*find_shape(name));  // checks inside
  EXPECT_EQ(find_shape("Nonsense"), nullptr);
}

}  // namespace
}  // namespace manta::ray
