// Kubeconfig documents: an error, or a server to talk to.
#include "base/yaml.h"
#include "fuzz/fuzz.h"
#include "kube/kubeconfig.h"

using namespace manta;
using namespace manta::fuzz;

static Json named(Input& in, std::string_view kind, JsonObject body) {
  return JsonObject{{"name", in.one_of({"a", "b", ""})},
                    {kind, in.rarely(8) ? in.json(2) : Json(std::move(body))}};
}

static void maybe(Input& in, JsonObject& object, std::string_view key, Json value) {
  if (in.flag()) object[key] = in.rarely(10) ? in.json(2) : std::move(value);
}

static Json kubeconfig(Input& in) {
  JsonArray clusters, users, contexts;
  for (int n = in.number(0, 2); n > 0; --n) {
    JsonObject body;
    maybe(in, body, "server", in.word({"https://a:6443", "http://[::1]:80/x", "b", ""}));
    maybe(in, body, "certificate-authority-data", in.word({"YWJj", "!", ""}));
    maybe(in, body, "insecure-skip-tls-verify", in.flag());
    maybe(in, body, "tls-server-name", "x");
    maybe(in, body, "proxy-url", in.word({"http://p:1", "socks5://p", ""}));
    clusters.push_back(named(in, "cluster", std::move(body)));
  }
  for (int n = in.number(0, 2); n > 0; --n) {
    JsonObject body, exec;
    maybe(in, body, "token", Json(in.text()));
    maybe(in, body, "username", Json(in.text()));
    maybe(in, body, "password", Json(in.text()));
    maybe(in, body, "client-certificate-data", in.word({"YWJj", "?"}));
    maybe(in, body, "client-key-data", "YWJj");
    maybe(in, body, "as", Json(in.text()));
    maybe(in, body, "as-groups", in.json(1));
    maybe(in, exec, "apiVersion", in.word({"client.authentication.k8s.io/v1", "x"}));
    maybe(in, exec, "command", Json(in.text()));
    maybe(in, exec, "args", in.json(1));
    maybe(in, exec, "env", JsonArray{JsonObject{{"name", in.json(0)}, {"value", in.json(0)}}});
    maybe(in, exec, "interactiveMode", in.word({"Never", "Always", "x"}));
    maybe(in, exec, "provideClusterInfo", in.flag());
    maybe(in, body, "exec", std::move(exec));
    users.push_back(named(in, "user", std::move(body)));
  }
  for (int n = in.number(0, 2); n > 0; --n)
    contexts.push_back(named(in, "context",
                             {{"cluster", in.one_of({"a", "b"})},
                              {"user", in.one_of({"a", "b", ""})},
                              {"namespace", in.text()}}));
  JsonObject config;
  maybe(in, config, "clusters", std::move(clusters));
  maybe(in, config, "users", std::move(users));
  maybe(in, config, "contexts", std::move(contexts));
  maybe(in, config, "current-context", in.word({"a", "b", ""}));
  return config;
}

static void check(const Json& config, std::string_view context) {
  const auto client = kube::client_config_from(config, context);
  if (!client) return FUZZ_CHECK(!client.error().message.empty(), dump_json(config));
  FUZZ_CHECK(!client->server.empty(), dump_json(config));
  FUZZ_CHECK(!client->namespace_.empty(), dump_json(config));
  // The context that was asked for, or the document's own.
  FUZZ_CHECK(client->context == context || context.empty(), dump_json(config), client->context);
}

FUZZ(data) {
  if (const auto document = parse_yaml_one(data)) check(*document, "");
  Input in(data);
  const auto config = kubeconfig(in);
  check(config, "");
  check(config, in.one_of({"a", "b", "c"}));
  check(in.json(), "a");
}
