// The HTTP face, without a socket.
#include "local/apiserver/http_router.h"

#include "base/virtual_loop.h"
#include "local/apiserver/http_streams.h"
#include "local/apiserver/http_text.h"
#include "local/apiserver/table.h"

#include <gtest/gtest.h>

namespace manta::local {
namespace {

struct World {
  VirtualLoop loop;
  SeededRandom random{5};
  std::unique_ptr<Store> store = std::move(*Store::open({}));
  ApiServer api{loop, random, *store};

  HttpAnswer send(std::string method, std::string target, std::string body = {},
                  std::map<std::string, std::string> headers = {}) {
    if (!body.empty() && !headers.contains("content-type"))
      headers["content-type"] = "application/json";
    return api.router().handle(
        {std::move(method), std::move(target), std::move(headers), std::move(body), {}});
  }
  Json json(const HttpAnswer& answer) { return *parse_json(answer.body); }
  void pod(const std::string& name) {
    auto made = send("POST", "/api/v1/namespaces/default/pods",
                     R"({"metadata":{"name":")" + name +
                         R"("},"spec":{"containers":[{"name":"c","image":"i"}]}})");
    ASSERT_EQ(made.status, 201) << made.body;
  }
};

TEST(HttpRouter, TableShowsWhatKubectlGetShows) {
  World world;
  world.pod("p");
  const auto table = world.json(
      world.send("GET", "/api/v1/namespaces/default/pods", "",
                 {{"accept", "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"}}));
  EXPECT_EQ(string_at(table, {"kind"}), "Table");
  EXPECT_EQ(dump_json(*find(array_at(table, {"rows"})[0], {"cells"})),
            R"(["p","0/1","Pending","0","0s","<none>","<none>","<none>","<none>"])");
}

TEST(HttpRouter, UnknownFieldsWarnOrAreRefusedAsAsked) {
  World world;
  const std::string body =
      R"({"metadata":{"name":"p"},"spec":{"containers":[{"name":"c","image":"i","foo":1}]}})";
  const auto strict =
      world.send("POST", "/api/v1/namespaces/default/pods?fieldValidation=Strict", body);
  EXPECT_EQ(strict.status, 400);
  EXPECT_EQ(string_at(world.json(strict), {"message"}),
            "Pod in version \"v1\" cannot be handled as a Pod: strict decoding error: unknown "
            "field \"spec.containers[0].foo\"");
  const auto warned = world.send("POST", "/api/v1/namespaces/default/pods", body);
  EXPECT_EQ(warned.status, 201);
  EXPECT_EQ(warned.warnings, std::vector<std::string>{"unknown field \"spec.containers[0].foo\""});
}

TEST(HttpRouter, WhatNothingHereRunsIsTakenWithAWarning) {
  World world;
  const auto made = world.send(
      "POST", "/apis/apps/v1/namespaces/default/deployments",
      R"({"metadata":{"name":"d"},"spec":{"selector":{"matchLabels":{"a":"b"}},"template":{
      "metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i"}]}}}})");
  EXPECT_EQ(made.status, 201) << made.body;
  EXPECT_EQ(made.warnings,
            std::vector<std::string>{
                "no controller here runs Deployments: it is stored, and no Pod comes of it"});
  const auto job =
      world.send("POST", "/apis/batch/v1/namespaces/default/jobs",
                 R"({"metadata":{"name":"j"},"spec":{"template":{"spec":{"restartPolicy":"Never",
      "containers":[{"name":"c","image":"i"}]}}}})");
  EXPECT_EQ(job.status, 201) << job.body;
  EXPECT_TRUE(job.warnings.empty());
}

TEST(HttpRouter, StatusNamesTheObjectAtFault) {
  World world;
  const auto answer = world.send("GET", "/api/v1/namespaces/default/pods/none");
  EXPECT_EQ(answer.status, 404);
  EXPECT_EQ(
      answer.body,
      "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},\"status\":\"Failure\","
      "\"message\":\"pods \\\"none\\\" not found\","
      "\"reason\":\"NotFound\",\"details\":{\"name\":\"none\",\"kind\":\"pods\"},\"code\":404}\n");
}

TEST(HttpRouter, DryRunLeavesNothingBehind) {
  World world;
  EXPECT_EQ(world
                .send("POST", "/api/v1/namespaces/default/configmaps?dryRun=All",
                      R"({"metadata":{"name":"m"}})")
                .status,
            201);
  EXPECT_EQ(world.send("GET", "/api/v1/namespaces/default/configmaps/m").status, 404);
}

TEST(HttpRouter, ProtobufBodiesAreRead) {
  World world;
  // runtime.Unknown{typeMeta{v1, ConfigMap}, raw: ConfigMap{metadata{name: m}, data{a: b}}}
  const std::string meta = std::string("\x0a\x01", 2) + "m";
  const std::string entry = std::string("\x0a\x01", 2) + "a" + std::string("\x12\x01", 2) + "b";
  const std::string raw = std::string("\x0a\x03", 2) + meta + std::string("\x12\x06", 2) + entry;
  const std::string type =
      std::string("\x0a\x02", 2) + "v1" + std::string("\x12\x09", 2) + "ConfigMap";
  const std::string body = std::string("k8s\0", 4) + std::string("\x0a\x0f", 2) + type + '\x12' +
                           static_cast<char>(raw.size()) + raw;
  const auto made = world.send("POST", "/api/v1/namespaces/default/configmaps", body,
                               {{"content-type", "application/vnd.kubernetes.protobuf"}});
  ASSERT_EQ(made.status, 201) << made.body;
  EXPECT_EQ(string_at(world.json(made), {"data", "a"}), "b");
  const auto cut =
      world.send("POST", "/api/v1/namespaces/default/configmaps", body.substr(0, body.size() - 3),
                 {{"content-type", "application/vnd.kubernetes.protobuf"}});
  EXPECT_EQ(cut.status / 100, 4);
}

TEST(HttpRouter, DiscoveryAndOpenApiNameEveryKind) {
  World world;
  const auto core = world.json(world.send("GET", "/api/v1"));
  bool log = false;
  for (const auto& entry : array_at(core, {"resources"}))
    log |= string_at(entry, {"name"}) == "pods/log";
  EXPECT_TRUE(log);
  const auto document = world.json(world.send("GET", "/openapi/v3/api/v1"));
  EXPECT_EQ(string_at(document, {"components", "schemas", "io.k8s.api.core.v1.Pod", "properties",
                                 "spec", "$ref"}),
            "#/components/schemas/io.k8s.api.core.v1.PodSpec");
  EXPECT_EQ(world.send("GET", "/openapi/v2").body, std::string("\n\x03"
                                                               "2.0"
                                                               "\x12\x0e\n\x0a"
                                                               "Kubernetes\x12\0",
                                                               21))
      << "kubectl apply of a List needs it";
}

TEST(HttpRouter, OpenApiTellsWhatDefinitionsSayOfTheirFields) {
  World world;
  const auto made =
      world.send("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", R"({
"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"probes.x.io"},
"spec":{"group":"x.io","names":{"kind":"Probe","plural":"probes"},"scope":"Namespaced","versions":[
{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object","description":"Looks.",
"properties":{"spec":{"type":"object","description":"Where to look.","properties":{"n":{"type":"integer","description":"How often.","maximum":3}}}}}}}]}})");
  ASSERT_EQ(made.status, 201) << made.body;
  const auto document = world.json(world.send("GET", "/openapi/v3/apis/x.io/v1"));
  const auto* probe = find(document, {"components", "schemas", "io.x.v1.Probe"});
  ASSERT_NE(probe, nullptr);
  EXPECT_EQ(string_at(*probe, {"description"}), "Looks.");
  EXPECT_EQ(string_at(*probe, {"properties", "spec", "description"}), "Where to look.");
  EXPECT_EQ(dump_json(*find(*probe, {"properties", "spec", "properties", "n"})),
            R"({"description":"How often.","type":"integer","maximum":3})");
  EXPECT_EQ(string_at(*probe, {"properties", "metadata", "$ref"}),
            "#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta");
}

// What a real kube-apiserver answers to each.
TEST(HttpRouter, SubresourcesHaveTheirOwnVerbs) {
  World world;
  world.pod("p");
  const std::string pod = "/api/v1/namespaces/default/pods/p/";
  for (const auto& [method, sub] :
       std::initializer_list<std::pair<const char*, const char*>>{{"GET", "eviction"},
                                                                  {"PUT", "eviction"},
                                                                  {"DELETE", "eviction"},
                                                                  {"GET", "binding"},
                                                                  {"PUT", "binding"},
                                                                  {"DELETE", "binding"},
                                                                  {"POST", "log"},
                                                                  {"PUT", "log"},
                                                                  {"DELETE", "log"},
                                                                  {"DELETE", "exec"},
                                                                  {"PUT", "exec"},
                                                                  {"PATCH", "attach"},
                                                                  {"DELETE", "portforward"},
                                                                  {"DELETE", "status"}})
    EXPECT_EQ(world.send(method, pod + sub, "{}").status, 405) << method << " " << sub;
  EXPECT_EQ(world.send("POST", pod + "eviction", R"({"metadata":{"name":"q"}})").status, 400);
  EXPECT_EQ(
      world.send("POST", pod + "binding", R"({"metadata":{"name":"q"},"target":{"name":"n"}})")
          .status,
      400);
  const auto here = world.json(world.send("GET", "/api/v1/namespaces/default/pods/p"));
  EXPECT_EQ(string_at(here, {"metadata", "name"}), "p");
  EXPECT_EQ(find(here, {"metadata", "deletionTimestamp"}), nullptr);
  EXPECT_EQ(world.send("DELETE", "/api/v1/namespaces/default/finalize", "{}").status / 100, 4);
  EXPECT_EQ(world.send("GET", "/api/v1/namespaces/default/finalize").status, 405);
  EXPECT_EQ(world.send("GET", "/api/v1/namespaces/default/serviceaccounts/default/token").status,
            405);
}

TEST(HttpRouter, OptionsThatAreNoneAreRefused) {
  World world;
  world.pod("p");
  const std::string pods = "/api/v1/namespaces/default/pods";
  for (const auto* query :
       {"resourceVersionMatch=Exact", "resourceVersionMatch=Foo", "sendInitialEvents=true",
        "resourceVersion=0&resourceVersionMatch=Exact",
        "resourceVersion=1&resourceVersionMatch=Exact&continue=a", "watch=1&sendInitialEvents=true",
        "watch=1&resourceVersionMatch=NotOlderThan"})
    EXPECT_EQ(world.send("GET", pods + "?" + query).status, 422) << query;
  EXPECT_EQ(world.send("GET", pods + "?timeoutSeconds=abc").status, 400);
  // None of these may delete it.
  for (const auto* body :
       {R"({"dryRun":["all"]})", R"({"dryRun":[1]})", R"({"propagationPolicy":"Foo"})",
        R"({"propagationPolicy":"Orphan","orphanDependents":true})"})
    EXPECT_EQ(world.send("DELETE", pods + "/p", body).status, 422) << body;
  EXPECT_EQ(world.send("DELETE", pods + "/p?propagationPolicy=Foo").status, 422);
  EXPECT_EQ(world.send("GET", pods + "/p").status, 200);
}

TEST(HttpRouter, WhoeverAppliesNamesThemselvesAndTheirKind) {
  World world;
  const std::string at = "/api/v1/namespaces/default/configmaps/m";
  const std::map<std::string, std::string> apply{{"content-type", "application/apply-patch+yaml"}};
  const std::string body = R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"m"}})";
  EXPECT_EQ(world.send("PATCH", at, body, apply).status, 422);
  EXPECT_EQ(world.send("PATCH", at + "?fieldManager=" + std::string(129, 'x'), body, apply).status,
            422);
  EXPECT_EQ(world.send("PATCH", at + "?fieldManager=x", body, apply).status, 201);
  const auto other =
      world.send("PATCH", at + "?fieldManager=x",
                 R"({"apiVersion":"v1","kind":"Secret","metadata":{"name":"m"}})", apply);
  EXPECT_EQ(other.status, 400);
  EXPECT_NE(other.body.find("invalid object type: /v1, Kind=Secret"), std::string::npos)
      << other.body;
}

TEST(HttpRouter, LogNeedsANodeToAnswer) {
  World world;
  world.pod("p");
  EXPECT_EQ(world.send("GET", "/api/v1/namespaces/default/pods/p/log").status, 503);
}

TEST(HttpStreams, WarningsHaveALimit) {
  HttpAnswer answer;
  answer.warnings.assign(100'000, "unknown field \"spec.a\"");
  const auto head = head_of(answer, "", true);
  EXPECT_LT(head.size(), 16'000u);
  EXPECT_NE(head.find("Warning: 299 - \"unknown field \\\"spec.a\\\"\""), std::string::npos)
      << head;
}

TEST(HttpText, TargetsAreTakenApart) {
  const auto target = split_target("/api/v1/a%2Fb/?labelSelector=x%3Dy+z&watch=1&empty");
  EXPECT_EQ(target.segments, (std::vector<std::string>{"api", "v1", "a/b"}));
  EXPECT_TRUE(target.trailing_slash);
  EXPECT_EQ(target.query.at("labelSelector").front(), "x=y z");
  EXPECT_EQ(target.query.at("empty").front(), "");
}

TEST(HumanDuration, ShowsTwoUnitsAtMost) {
  using std::chrono::seconds;
  const std::pair<int, const char*> rows[] = {{0, "0s"},
                                              {119, "119s"},
                                              {120, "2m"},
                                              {130, "2m10s"},
                                              {600, "10m"},
                                              {3 * 3600, "3h"},
                                              {3 * 3600 + 60, "3h1m"},
                                              {50 * 3600, "2d2h"},
                                              {10 * 86400, "10d"}};
  for (const auto& [span, text] : rows) EXPECT_EQ(human_duration(seconds{span}), text);
}

}  // namespace
}  // namespace manta::local
