#include "operator/startup.h"

#include "base/virtual_loop.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace manta::operator_ {
namespace {

// A server by its answers to GET; what is not there is 404.
struct Server final : kube::Api {
  Task<Result<kube::Response>> call(kube::Request) override { co_return kube::Response{}; }
  Task<Result<void>> watch(kube::WatchRequest, WatchSink, std::stop_token) override {
    co_return Result<void>{};
  }
  Task<Result<kube::RawResponse>> raw(kube::RawRequest request) override {
    const auto found = pages.find(request.path);
    if (found == pages.end()) co_return kube::RawResponse{.status = 404, .body = "no such page"};
    co_return kube::RawResponse{.status = 200, .body = found->second};
  }
  std::map<std::string, std::string, std::less<>> pages = {{"/apis", R"({"groups":[]})"}};
};

struct Case {
  const char* name;
  const char* version;  // gitVersion; empty: the server does not tell
  const char* want;     // the log line of the failure; empty: it starts
};
const Case kCases[] = {
    {"NewEnough", "v1.35.0", ""},
    {"Newer", "v1.41.3+k3s1", ""},
    {"Vendors", "v1.35.2-gke.1", ""},
    {"BeforeTheRelease", "v1.35.0-alpha.1", ""},
    {"Older", "v1.34.9", "SidecarSubmitterRestart feature gate requires K8s 1.35+"},
    {"Unreadable", "latest", "Failed to compare K8s version."},
    {"Unknown", "",
     "SidecarSubmitterRestart feature gate enabled but unable to detect K8s version. Feature "
     "requires K8s 1.35+."},
};
class SubmitterRestart : public testing::TestWithParam<Case> {};
TEST_P(SubmitterRestart, Row) {
  VirtualLoop loop;
  Server server;
  if (*GetParam().version)
    server.pages["/version"] = std::string(R"({"gitVersion":")") + GetParam().version + "\"}";
  controllers::Settings settings;
  settings.build.sidecar_submitter_restart = true;
  const auto started = loop.run(complete_settings(
      server, settings, [](std::string_view) { return std::optional<std::string>(); }));
  EXPECT_EQ(started ? "" : started.error().what, GetParam().want);
}
INSTANTIATE_TEST_SUITE_P(, SubmitterRestart, testing::ValuesIn(kCases),
                         [](auto& c) { return c.param.name; });

controllers::Settings found_on(std::string_view groups, std::string_view ingress = "") {
  VirtualLoop loop;
  Server server;
  server.pages["/apis"] = R"({"groups":[)" + std::string(groups) + "]}";
  controllers::Settings settings;
  EXPECT_TRUE(loop.run(complete_settings(server, settings, [&](std::string_view name) {
    return name == "USE_INGRESS_ON_OPENSHIFT" ? std::optional(std::string(ingress)) : std::nullopt;
  })));
  return settings;
}

TEST(Discovery, SeesOpenShift) {
  const auto* group = R"({"name":"config.openshift.io","versions":[{"version":"v1"}]})";
  EXPECT_FALSE(found_on("").openshift_routes);
  EXPECT_TRUE(found_on(group).openshift_routes);
  EXPECT_FALSE(found_on(group, "tRuE").openshift_routes);
  EXPECT_TRUE(found_on(group, "yes").openshift_routes);
}

TEST(Discovery, SeesCertManager) {
  EXPECT_TRUE(found_on(R"({"name":"cert-manager.io","versions":[{"version":"v1"}]})").cert_manager);
  EXPECT_FALSE(
      found_on(R"({"name":"cert-manager.io","versions":[{"version":"v1alpha2"}]})").cert_manager);
}

TEST(Discovery, MustBePossible) {
  VirtualLoop loop;
  Server server;
  server.pages.clear();
  controllers::Settings settings;
  const auto started = loop.run(complete_settings(
      server, settings, [](std::string_view) { return std::optional<std::string>(); }));
  ASSERT_FALSE(started);
  EXPECT_EQ(started.error().what, "unable to detect cluster type (OpenShift vs Kubernetes)");
  EXPECT_NE(started.error().error.message.find("HTTP status 404"), std::string::npos);
}

TEST(ElectionNamespace, IsTheFlagsOrThePods) {
  std::string pattern = testing::TempDir() + "accountXXXXXX";
  const std::filesystem::path folder = ::mkdtemp(pattern.data());
  const kube::ConfigSource source{.service_account_dir = folder};
  const auto none = election_namespace({}, source);
  ASSERT_FALSE(none);
  EXPECT_NE(none.error().error.message.find("not running in-cluster"), std::string::npos);
  std::ofstream(folder / "namespace") << "ray-system";
  EXPECT_EQ(election_namespace({}, source).value(), "ray-system");
  EXPECT_EQ(election_namespace({.leader_election_namespace = "other"}, source).value(), "other");
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace manta::operator_
