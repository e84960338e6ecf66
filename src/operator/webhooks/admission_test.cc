#include "operator/webhooks/admission.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace manta::operator_ {
namespace {

std::string review(std::string_view kind, std::string_view operation, std::string_view object,
                   std::string_view old = "null") {
  return fmt::format(
      R"({{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{{"uid":"u","kind":)"
      R"({{"group":"ray.io","version":"v1","kind":"{}"}},"operation":"{}","object":{},"oldObject":{}}}}})",
      kind, operation, object, old);
}

std::string cluster(std::string_view name, std::string_view groups = "") {
  std::string list;
  for (const char group : groups)
    list += fmt::format(R"({}{{"groupName":"{}","rayStartParams":{{}},"template":{{}}}})",
                        list.empty() ? "" : ",", group);
  return fmt::format(
      R"({{"apiVersion":"ray.io/v1","kind":"RayCluster","metadata":{{"name":"{}","namespace":"n"}},)"
      R"("spec":{{"headGroupSpec":{{"rayStartParams":{{}},"template":{{}}}},"workerGroupSpecs":[{}]}}}})",
      name, list);
}

std::string named(std::string_view kind, std::string_view name, std::string_view annotation = "") {
  return fmt::format(
      R"({{"apiVersion":"ray.io/v1","kind":"{}","metadata":{{"name":"{}","annotations":{{{}}}}},"spec":{{}}}})",
      kind, name, annotation);
}

// "allowed", or the code and the causes' fields.
std::string verdict(std::string_view path, std::string_view body) {
  const auto answer = review_admission(path, "application/json", body);
  const auto* response = find(answer, {"response"});
  if (bool_at(*response, {"allowed"})) return "allowed";
  auto text = std::to_string(int_at(*response, {"status", "code"}));
  for (const auto& cause : array_at(*response, {"status", "details", "causes"}))
    text += " " + std::string(string_at(cause, {"field"}));
  return text;
}

constexpr const char* kCluster = "/validate-ray-io-v1-raycluster";
constexpr const char* kJob = "/validate-ray-io-v1-rayjob";
constexpr const char* kService = "/validate-ray-io-v1-rayservice";

struct Case {
  const char* name;
  const char* path;
  std::string body;
  const char* want;
};
const Case kCases[] = {
    {"Cluster", kCluster, review("RayCluster", "CREATE", cluster("c", "ab")), "allowed"},
    {"ClusterName", kCluster, review("RayCluster", "CREATE", cluster("1c")), "422 metadata.name"},
    {"ClusterNameTooLong", kCluster, review("RayCluster", "CREATE", cluster(std::string(54, 'c'))),
     "422 metadata.name"},
    {"LongestClusterName", kCluster, review("RayCluster", "CREATE", cluster(std::string(53, 'c'))),
     "allowed"},
    {"SameGroups", kCluster, review("RayCluster", "CREATE", cluster("c", "aba")),
     "422 spec.workerGroupSpecs[2]"},
    {"OnlyTheFirstPair", kCluster, review("RayCluster", "CREATE", cluster("c", "aabb")),
     "422 spec.workerGroupSpecs[1]"},
    {"NameAndGroups", kCluster, review("RayCluster", "CREATE", cluster("1c", "aa")),
     "422 metadata.name spec.workerGroupSpecs[1]"},
    {"UpdateJudgesTheNewOne", kCluster,
     review("RayCluster", "UPDATE", cluster("c", "ab"), cluster("c", "aa")), "allowed"},
    {"BadUpdate", kCluster, review("RayCluster", "UPDATE", cluster("c", "aa"), cluster("c", "ab")),
     "422 spec.workerGroupSpecs[1]"},
    {"Delete", kCluster, review("RayCluster", "DELETE", "null", cluster("1c", "aa")), "allowed"},
    {"UnreadableObject", kCluster, review("RayCluster", "CREATE", R"({"spec":[]})"), "400"},
    {"UnreadableOldObject", kCluster,
     review("RayCluster", "UPDATE", cluster("c"), R"({"spec":[]})"), "400"},
    {"NoObject", kCluster, review("RayCluster", "CREATE", "null"), "400"},
    {"UnknownOperation", kCluster, review("RayCluster", "DANCE", cluster("c")), "400"},
    {"Job", kJob, review("RayJob", "CREATE", named("RayJob", "j")), "allowed"},
    {"JobName", kJob, review("RayJob", "CREATE", named("RayJob", std::string(48, 'j'))),
     "422 metadata.name"},
    {"Service", kService, review("RayService", "CREATE", named("RayService", "s")), "allowed"},
    {"ServiceName", kService, review("RayService", "CREATE", named("RayService", "S")),
     "422 metadata.name"},
    {"ServiceTimeout", kService,
     review("RayService", "CREATE",
            named("RayService", "s", R"("ray.io/initializing-timeout":"soon")")),
     "422 metadata.name"},
    {"NotJson", kCluster, "{", "400"},
    {"Empty", kCluster, "", "400"},
    {"OldReview", kCluster, R"({"apiVersion":"admission.k8s.io/v1beta1","kind":"AdmissionReview"})",
     "400"},
    {"NoRequest", kCluster, R"({"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview"})",
     "400"},
};
class Admission : public testing::TestWithParam<Case> {};
TEST_P(Admission, Row) { EXPECT_EQ(verdict(GetParam().path, GetParam().body), GetParam().want); }
INSTANTIATE_TEST_SUITE_P(, Admission, testing::ValuesIn(kCases),
                         [](auto& c) { return c.param.name; });

TEST(AdmissionReview, SaysWhatUsersRead) {
  const auto answer = review_admission(kCluster, "application/json",
                                       review("RayCluster", "CREATE", cluster("c", "aa")));
  EXPECT_EQ(string_at(answer, {"apiVersion"}), "admission.k8s.io/v1");
  EXPECT_EQ(string_at(answer, {"response", "uid"}), "u");
  const auto* status = find(answer, {"response", "status"});
  EXPECT_EQ(string_at(*status, {"reason"}), "Invalid");
  EXPECT_EQ(string_at(*status, {"details", "group"}), "ray.io");
  EXPECT_EQ(string_at(*status, {"details", "kind"}), "RayCluster");
  EXPECT_EQ(string_at(*status, {"details", "name"}), "c");
  const auto message = string_at(*status, {"message"});
  EXPECT_TRUE(message.starts_with(
      R"(RayCluster.ray.io "c" is invalid: spec.workerGroupSpecs[1]: Invalid value: {)"))
      << message;
  EXPECT_TRUE(message.ends_with("}: worker group names must be unique")) << message;
}

TEST(AdmissionReview, ListsSeveralFaults) {
  const auto refused = admit_object("RayCluster", parse_json(cluster("1c", "aa")).value());
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find(R"(is invalid: [metadata.name: Invalid value: "1c": )"),
            std::string::npos)
      << refused.error().message;
  EXPECT_TRUE(refused.error().message.ends_with("must be unique]"));
}

TEST(AdmissionReview, WantsJson) {
  const auto answer =
      review_admission(kCluster, "text/plain", review("RayCluster", "CREATE", cluster("c")));
  EXPECT_FALSE(bool_at(answer, {"response", "allowed"}, true));
  EXPECT_EQ(string_at(answer, {"response", "status", "message"}),
            "contentType=text/plain, expected application/json");
}

}  // namespace
}  // namespace manta::operator_
