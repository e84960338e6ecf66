#include "operator/crd_check.h"

#include "base/virtual_loop.h"
#include "ray/types.h"

#include <gtest/gtest.h>

#include <deque>

namespace manta::operator_ {
namespace {

using std::chrono::minutes;

// Answers dry runs from a script; the last answer goes on.
struct ScriptedApi final : kube::Api {
  Task<Result<kube::Response>> call(kube::Request request) override {
    asked.push_back(request);
    auto answer = answers.front();
    if (answers.size() > 1) answers.pop_front();
    if (answer.message.empty()) co_return kube::Response{};
    co_return failed(answer);
  }
  Task<Result<void>> watch(kube::WatchRequest, WatchSink, std::stop_token) override {
    co_return Result<void>{};
  }
  Task<Result<kube::RawResponse>> raw(kube::RawRequest) override { co_return kube::RawResponse{}; }
  std::deque<Error> answers = {};
  std::vector<kube::Request> asked = {};
};

const Error kFits = {};
const Error kMissing = {.code = ErrorCode::NotFound,
                        .message = "the server could not find the requested resource",
                        .http_status = 404};

struct Case {
  const char* name;
  std::deque<Error> answers;
  const char* want;  // empty: fits; else a part of the error
};
const Case kCases[] = {
    {"Fits", {kFits}, ""},
    {"InvalidValuesDoNotMatter",
     {{.code = ErrorCode::Invalid, .message = "spec.x: Invalid value", .http_status = 422}},
     ""},
    {"SomebodysWebhookDoesNotMatter",
     {{.code = ErrorCode::BadRequest, .message = "does not support dry run", .http_status = 400}},
     ""},
    {"NoSuchNamespace",
     {{.code = ErrorCode::NotFound, .message = "namespaces \"x\" not found", .http_status = 404}},
     ""},
    {"LacksFields",
     {{.code = ErrorCode::BadRequest,
       .message = R"(strict decoding error: unknown field "spec.a", unknown field "status.b[0].c")",
       .http_status = 400}},
     "rayclusters.ray.io lacks 2 fields that this operator needs: spec.a, status.b[0].c; install"},
    {"LacksOnlyOptionalOnes",
     {{.code = ErrorCode::BadRequest,
       .message = R"(strict decoding error: unknown field "spec.jobTemplate.retryStrategy")",
       .http_status = 400}},
     ""},
    {"ComesLater", {kMissing, kMissing, kFits}, ""},
    {"NeverComes", {kMissing}, "there is no CustomResourceDefinition rayclusters.ray.io; install"},
    {"NoServer",
     {{.code = ErrorCode::Unavailable, .message = "connection refused"}},
     "connection refused"},
};
class HM_01 : public testing::TestWithParam<Case> {};
TEST_P(HM_01, Row) {
  VirtualLoop loop;
  ScriptedApi api;
  api.answers = GetParam().answers;
  const auto fit = loop.run(check_crds(loop, api, "x", {ray::kRayClusters}, {}), minutes{3});
  if (std::string_view(GetParam().want).empty())
    EXPECT_TRUE(fit) << fit.error().message;
  else if (fit)
    ADD_FAILURE() << "fits";
  else
    EXPECT_NE(fit.error().message.find(GetParam().want), std::string::npos) << fit.error().message;
  for (const auto& request : api.asked) {
    EXPECT_TRUE(request.dry_run);
    EXPECT_EQ(request.field_validation, "Strict");
  }
}
INSTANTIATE_TEST_SUITE_P(, HM_01, testing::ValuesIn(kCases), [](auto& c) { return c.param.name; });

TEST(SchemaProbe, HasEveryFieldOfOurs) {
  const auto probe = schema_probe(ray::kRayJobs);
  EXPECT_TRUE(find(probe, {"spec", "rayClusterSpec", "headGroupSpec", "template"}));
  EXPECT_TRUE(find(probe, {"spec", "deletionStrategy", "deletionRules"}));
  EXPECT_TRUE(find(probe, {"status", "rayClusterStatus", "conditions"}));
  const auto& groups = array_at(probe, {"spec", "rayClusterSpec", "workerGroupSpecs"});
  ASSERT_EQ(groups.size(), 1u);
  EXPECT_TRUE(find(groups[0], {"numOfHosts"}));
}

}  // namespace
}  // namespace manta::operator_
