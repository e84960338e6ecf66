#include "operator/serve_details.h"

#include <gtest/gtest.h>

namespace manta::operator_ {
namespace {

std::string kept(std::string_view details) {
  return dump_json(serve_essentials(parse_json(details).value()));
}

TEST(ServeDetails, OfReplicasAndProxiesNothingIsKept) {
  EXPECT_EQ(kept(R"({"controller_info":{"pid":1},"proxies":{"n":{"status":"HEALTHY"}},
      "applications":{"a":{"name":"a","route_prefix":"/","status":"RUNNING","message":"m",
        "deployed_app_config":{"name":"a","x":1},
        "deployments":{"D":{"name":"D","status":"HEALTHY","message":"",
                            "replicas":[{"replica_id":"r","state":"RUNNING"}]}}}}})"),
            R"({"applications":{"a":{"status":"RUNNING","message":"m",)"
            R"("deployed_app_config":{"name":"a","x":1},)"
            R"("deployments":{"D":{"status":"HEALTHY","message":""}}}}})");
}

TEST(ServeDetails, WhatHasAnotherTypeIsLeftOut) {
  EXPECT_EQ(kept("{}"), R"({"applications":{}})");
  EXPECT_EQ(kept(R"({"applications":[1]})"), R"({"applications":{}})");
  EXPECT_EQ(kept(R"({"applications":{"a":7,"b":{"status":1,"message":null,
      "deployed_app_config":"x","deployments":[]}}})"),
            R"({"applications":{"a":{},"b":{}}})");
}

}  // namespace
}  // namespace manta::operator_
