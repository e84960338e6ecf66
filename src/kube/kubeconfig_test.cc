#include "kube/kubeconfig.h"

#include "base/hash.h"
#include "base/yaml.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace manta::kube {
namespace {

class Kubeconfig : public testing::Test {
 protected:
  Kubeconfig() {
    char name[] = "/tmp/kubeconfig_test.XXXXXX";
    folder = mkdtemp(name);
  }
  ~Kubeconfig() override { std::filesystem::remove_all(folder); }
  std::string file(const std::string& name, const std::string& text) {
    const auto path = folder + "/" + name;
    std::filesystem::create_directories(std::filesystem::path(path).parent_path());
    std::ofstream(path) << text;
    return path;
  }
  std::string error(const ConfigSource& source) {
    const auto config = load_client_config(source);
    return config ? "none" : config.error().message;
  }
  /// One cluster c at https://h, one context x, and the given user.
  std::string with_user(const std::string& user) {
    return "current-context: x\nclusters: [{name: c, cluster: {server: 'https://h'}}]\n"
           "contexts: [{name: x, context: {cluster: c, user: u, namespace: n}}]\nusers: [{name: u, "
           "user: " +
           user + "}]\n";
  }

  std::string folder;
};

TEST_F(Kubeconfig, FilesInsideCountFromItsFolder) {
  file("sub/ca.pem", "CA");
  file("sub/cert.pem", "CERT");
  const auto path = file("sub/config", R"(
current-context: x
clusters:
- name: c
  cluster: {server: "https://h:6443/", certificate-authority: ca.pem, tls-server-name: s, proxy-url: "http://p"}
contexts:
- name: x
  context: {cluster: c, user: u, namespace: ns}
users:
- name: u
  user: {client-certificate: cert.pem, client-key-data: )" +
                                           base64_encode("KEY") +
                                           R"(, tokenFile: tok, as: root, as-groups: [g1, g2]}
)");
  const auto config = load_client_config({.kubeconfig_flag = path});
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(config->server, "https://h:6443/");
  EXPECT_EQ(config->namespace_, "ns");
  EXPECT_EQ(config->context, "x");
  EXPECT_EQ(config->ca_pem, "CA");
  EXPECT_EQ(config->client_cert_pem, "CERT");
  EXPECT_EQ(config->client_key_pem, "KEY");
  EXPECT_EQ(config->token_file, folder + "/sub/tok");
  EXPECT_EQ(config->tls_server_name, "s");
  EXPECT_EQ(config->proxy_url, "http://p");
  EXPECT_EQ(config->impersonate_user, "root");
  EXPECT_EQ(config->impersonate_groups, (std::vector<std::string>{"g1", "g2"}));
}

TEST_F(Kubeconfig, OfSeveralFilesTheFirstThatSaysItWins) {
  const auto a = file("a",
                      "current-context: x\nclusters: [{name: c, cluster: {server: "
                      "'https://first'}}]\nusers: [{name: u, user: {token: one}}]\n");
  const auto b =
      file("b",
           "current-context: y\nclusters: [{name: c, cluster: {server: 'https://second'}}]\n"
           "contexts: [{name: x, context: {cluster: c, user: u}}]\nusers: [{name: u, user: {token: "
           "two}}]\n");
  const auto config =
      load_client_config({.environment = {{"KUBECONFIG", folder + "/missing:" + a + "::" + b}}});
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(config->server, "https://first");
  EXPECT_EQ(config->token, "one");
  EXPECT_EQ(config->context, "x");
}

TEST_F(Kubeconfig, JsonIsYaml) {
  const auto path = file(
      "j",
      R"({"current-context":"x","clusters":[{"name":"c","cluster":{"server":"h:80"}}],"contexts":[{"name":"x","context":{"cluster":"c"}}]})");
  EXPECT_EQ(load_client_config({.kubeconfig_flag = path})->server, "http://h:80");
}

TEST_F(Kubeconfig, OrderOfPlaces) {
  const auto flag = file("flag", with_user("{token: flag}"));
  const auto env = file("env", with_user("{token: env}"));
  file("home/.kube/config", with_user("{token: home}"));
  file("sa/token", "pod");
  file("sa/ca.crt", "CA");
  file("sa/namespace", "here\n");
  ConfigSource source{.kubeconfig_flag = flag,
                      .environment = {{"KUBECONFIG", env},
                                      {"HOME", folder + "/home"},
                                      {"KUBERNETES_SERVICE_HOST", "fd00::1"},
                                      {"KUBERNETES_SERVICE_PORT", "443"}},
                      .service_account_dir = folder + "/sa"};
  EXPECT_EQ(load_client_config(source)->token, "flag");
  source.kubeconfig_flag.clear();
  EXPECT_EQ(load_client_config(source)->token, "env");
  source.environment.erase("KUBECONFIG");
  const auto pod = load_client_config(source);
  ASSERT_TRUE(pod);
  EXPECT_EQ(pod->server, "https://[fd00::1]:443");
  EXPECT_EQ(pod->token_file, folder + "/sa/token");
  EXPECT_EQ(pod->ca_pem, "CA");
  EXPECT_EQ(pod->namespace_, "here");
  source.environment.erase("KUBERNETES_SERVICE_HOST");
  EXPECT_EQ(load_client_config(source)->token, "home");
  source.environment["HOME"] = folder + "/nobody";
  const auto message = error(source);
  for (const auto* part :
       {"--kubeconfig", "KUBECONFIG", "KUBERNETES_SERVICE_HOST", "nobody/.kube/config"})
    EXPECT_NE(message.find(part), std::string::npos) << message;
}

TEST_F(Kubeconfig, ErrorsSayWhatIsMissingAndWhere) {
  struct Row {
    std::string text;
    const char* want;
  };
  const Row rows[] = {
      {"clusters: [", "line"},
      {"[]", "must be one mapping"},
      {"contexts: [{name: a}, {name: b}]", "current-context is not set; contexts are: a, b"},
      {"current-context: z\ncontexts: [{name: a}]", "there is no context \"z\"; contexts are: a"},
      {"current-context: a\ncontexts: [{name: a, context: {cluster: q}}]",
       "names cluster \"q\", which is not there; clusters are: none"},
      {"current-context: a\ncontexts: [{name: a, context: {cluster: q}}]\nclusters: [{name: q, "
       "cluster: {}}]",
       "cluster \"q\": server is missing"},
      {"current-context: a\ncontexts: [{name: a, context: {cluster: q, user: w}}]\nclusters: "
       "[{name: q, cluster: {server: 'https://h'}}]",
       "names user \"w\", which is not there"},
      {with_user("{auth-provider: {name: gcp}}"),
       "user \"u\": auth-provider \"gcp\" is not supported"},
      {with_user("{client-certificate-data: '%%'}"), "client-certificate-data: not base64"},
      {with_user("{client-certificate: nofile.pem}"), "nofile.pem: No such file"},
      {with_user("{client-key-data: S0VZ}"), "client-key is given without client-certificate"},
      {with_user("{exec: {command: x, apiVersion: v9}}"), "exec.apiVersion \"v9\" must be"},
      {with_user("{exec: {command: x, apiVersion: client.authentication.k8s.io/v1}}"),
       "exec.interactiveMode is missing"},
      {with_user("{exec: {command: x, apiVersion: client.authentication.k8s.io/v1, "
                 "interactiveMode: Maybe}}"),
       "\"Maybe\" must be"}};
  for (const auto& row : rows) {
    const auto path = file("bad", row.text);
    const auto message = error({.kubeconfig_flag = path});
    EXPECT_NE(message.find(row.want), std::string::npos) << message;
    EXPECT_NE(message.find(path), std::string::npos) << message;
  }
  EXPECT_NE(error({.kubeconfig_flag = folder + "/absent"}).find("absent: No such file"),
            std::string::npos);
  EXPECT_NE(error({.environment = {{"KUBECONFIG", folder + "/absent"}}}).find("absent"),
            std::string::npos);
}

TEST_F(Kubeconfig, ExecPlugins) {
  const auto path = file("e", R"(
current-context: x
clusters: [{name: c, cluster: {server: "https://h", certificate-authority-data: Q0E=, extensions: [{name: client.authentication.k8s.io/exec, extension: {audience: a}}]}}]
contexts: [{name: x, context: {cluster: c, user: u}}]
users:
- name: u
  user:
    exec:
      apiVersion: client.authentication.k8s.io/v1beta1
      command: ./bin/plugin
      args: [get, token]
      env: [{name: A, value: b}]
      installHint: get it
      provideClusterInfo: true
)");
  const auto config = load_client_config({.kubeconfig_flag = path});
  ASSERT_TRUE(config) << config.error().message;
  ASSERT_TRUE(config->exec);
  EXPECT_EQ(config->exec->command, folder + "/bin/plugin");
  EXPECT_EQ(config->exec->args, (std::vector<std::string>{"get", "token"}));
  EXPECT_EQ(config->exec->env[0], std::pair(std::string("A"), std::string("b")));
  EXPECT_EQ(config->exec->interactiveMode, "IfAvailable");
  EXPECT_EQ(
      dump_json(config->exec->cluster),
      R"({"server":"https://h","certificate-authority-data":"Q0E=","config":{"audience":"a"}})");
}

}  // namespace
}  // namespace manta::kube
