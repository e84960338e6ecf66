#include "cli/service_dial.h"

#include <gtest/gtest.h>

namespace manta::cli {
namespace {

TEST(ParseServiceAddress, ClusterNamesOnly) {
  const auto address = parse_service_address("head-svc.ns.svc.cluster.local:8265");
  ASSERT_TRUE(address);
  EXPECT_EQ(address->service, "head-svc");
  EXPECT_EQ(address->namespace_, "ns");
  EXPECT_EQ(address->port, "8265");
  for (const auto* other : {"10.0.0.7:8265", "localhost:80", "head-svc.ns.svc", "example.com:80"})
    EXPECT_FALSE(parse_service_address(other)) << other;
}

const ServiceAddress kAddress{"ns", "svc", "8265"};
const char* const kService =
    R"({"spec":{"ports":[{"name":"gcs","port":6379},{"name":"dashboard","port":8265}]}})";

Result<std::string> pick(const char* endpoints) {
  return pick_endpoint(*parse_json(kService), *parse_json(endpoints), kAddress);
}

TEST(PickEndpoint, MapsThePortByName) {
  EXPECT_EQ(*pick(R"({"subsets":[{"addresses":[{"ip":"10.0.0.1"}],
                      "ports":[{"name":"gcs","port":1},{"name":"dashboard","port":9}]}]})"),
            "10.0.0.1:9");
}

TEST(PickEndpoint, PrefersReadyPods) {
  EXPECT_EQ(*pick(R"({"subsets":[
      {"notReadyAddresses":[{"ip":"10.0.0.1"}],"ports":[{"name":"dashboard","port":9}]},
      {"addresses":[{"ip":"10.0.0.2"}],"ports":[{"name":"dashboard","port":9}]}]})"),
            "10.0.0.2:9");
  EXPECT_EQ(*pick(R"({"subsets":[
      {"notReadyAddresses":[{"ip":"10.0.0.1"}],"ports":[{"name":"dashboard","port":9}]}]})"),
            "10.0.0.1:9");
}

TEST(PickEndpoint, SaysWhatIsMissing) {
  EXPECT_NE(pick("{}").error().message.find("no Pod of Service ns/svc"), std::string::npos);
  EXPECT_NE(pick_endpoint(*parse_json(kService), *parse_json("{}"), {"ns", "svc", "1"})
                .error()
                .message.find("has no port 1"),
            std::string::npos);
}

}  // namespace
}  // namespace manta::cli
