#include "kube/kubeconfig_exec.h"

#include <gtest/gtest.h>
#include <signal.h>

#include <filesystem>
#include <fstream>

namespace manta::kube {
namespace {

using namespace std::chrono_literals;

class ExecPluginRun : public testing::Test {
 protected:
  ExecPluginRun() {
    char name[] = "/tmp/kubeconfig_exec_test.XXXXXX";
    folder = mkdtemp(name);
  }
  ~ExecPluginRun() override { std::filesystem::remove_all(folder); }

  Result<ExecCredential> run(const std::string& script, Duration limit = 30s) {
    const auto path = folder + "/plugin";
    std::ofstream(path, std::ios::trunc) << "#!/bin/sh\n" << script << "\n";
    std::filesystem::permissions(path, std::filesystem::perms::owner_all);
    plugin.command = "plugin";
    return run_to_end(
        loop, run_exec_plugin(loop, plugin, {{"PATH", folder + ":/usr/bin:/bin"}, {"KEPT", "yes"}},
                              limit));
  }
  std::string error(const std::string& script, Duration limit = 30s) {
    const auto credential = run(script, limit);
    return credential ? "none" : credential.error().message;
  }
  static std::string print(const std::string& status) {
    return R"(echo '{"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1","status":{)" +
           status + "}}'";
  }

  std::string folder;
  AsioLoop loop;
  ExecPlugin plugin{.apiVersion = "client.authentication.k8s.io/v1",
                    .args = {"a b", "c'd"},
                    .env = {{"EXTRA", "x"}},
                    .interactiveMode = "Never"};
};

TEST_F(ExecPluginRun, GivesATokenUntilItExpires) {
  const auto credential = run(print(R"("token":"t","expirationTimestamp":"2030-01-02T03:04:05Z")"));
  ASSERT_TRUE(credential) << credential.error().message;
  EXPECT_EQ(credential->token, "t");
  EXPECT_EQ(format_rfc3339(*credential->expires), "2030-01-02T03:04:05Z");
}

TEST_F(ExecPluginRun, SeesArgumentsEnvironmentAndExecInfo) {
  const auto credential =
      run("test \"$1\" = 'a b' && test \"$2\" = \"c'd\" && test \"$EXTRA$KEPT\" = xyes || exit 9\n"
          "case \"$KUBERNETES_EXEC_INFO\" in *'\"interactive\":false'*) ;; *) exit 8;; esac\n" +
          print(R"("token":"t")"));
  EXPECT_TRUE(credential) << credential.error().message;
}

TEST_F(ExecPluginRun, ErrorsNameThePluginAndNeverItsOutput) {
  EXPECT_EQ(error("echo secret; exit 3"), "credential plugin plugin: it failed with exit code 3");
  EXPECT_EQ(error("echo secret"),
            "credential plugin plugin: it did not print an ExecCredential in JSON");
  EXPECT_NE(error(print(R"("x":"y")")).find("neither status.token nor"), std::string::npos);
  EXPECT_NE(error(print(R"("clientCertificateData":"c")")).find("only one of"), std::string::npos);
  EXPECT_NE(error("echo '{\"kind\":\"ExecCredential\",\"apiVersion\":\"v0\"}'")
                .find("must print ExecCredential client.authentication"),
            std::string::npos);
  EXPECT_EQ(error("kill -9 $$"), "credential plugin plugin: it was ended by signal 9");
  EXPECT_NE(error("exec sleep 100", 50ms).find("it did not end within 50ms"), std::string::npos);
}

TEST_F(ExecPluginRun, LargeOutputAndForgottenChildrenDoNotBlock) {
  const auto credential = run("sleep 100 & echo $! > " + folder + "/pid\n" +
                              print(R"("token":"'$(head -c 200000 /dev/zero | tr '\0' x)'")"));
  ASSERT_TRUE(credential) << credential.error().message;
  EXPECT_EQ(credential->token.size(), 200'000u);
  int pid = 0;
  std::ifstream(folder + "/pid") >> pid;
  ASSERT_GT(pid, 1);
  kill(pid, SIGKILL);
}

TEST_F(ExecPluginRun, AMissingProgramShowsTheHint) {
  plugin.command = "no-such-plugin";
  plugin.installHint = "install it with magic";
  const auto credential = run_to_end(loop, run_exec_plugin(loop, plugin, {{"PATH", folder}}, 30s));
  ASSERT_FALSE(credential);
  EXPECT_NE(credential.error().message.find("no such program\n\ninstall it with magic"),
            std::string::npos);
}

}  // namespace
}  // namespace manta::kube
