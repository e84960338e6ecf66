#include "controllers/raycluster/follow_edits.h"

#include <gtest/gtest.h>

namespace manta::controllers::raycluster {
namespace {

Json wanted(std::string_view annotations = "{}", std::string_view ports = "[]") {
  return parse_json(R"({"metadata":{"annotations":)" + std::string(annotations) +
                    R"(},"spec":{"ports":)" + std::string(ports) + "}}")
      .value();
}

// A Service as the API server stores what was made by `wanted`, with a record of it or without.
kube::SpecView stored(Json service, bool with_record = true) {
  if (with_record) record_applied(service);
  kube::SpecView view;
  view.meta.uid = "u";
  view.meta.resource_version = 7;
  for (const auto& entry : object_at(service, {"metadata", "annotations"}))
    view.meta.annotations[std::string(entry.key())] = entry.value().get_string();
  JsonArray ports = array_at(service, {"spec", "ports"});
  for (auto& port : ports) {
    auto& fields = port.as_object();
    fields["protocol"] = "TCP";
    fields["targetPort"] = fields.at("port");
  }
  view.spec = JsonObject{{"ports", std::move(ports)}};
  return view;
}

const char* const kPorts = R"([{"name":"a","port":1,"appProtocol":"tcp"},{"name":"b","port":2}])";

std::string names(const Json& patch) {
  std::string text;
  for (const auto& port : array_at(patch, {"spec", "ports"}))
    text += std::string(string_at(port, {"name"})) + " ";
  return text;
}

TEST(ServicePatch, WhatWasMadeAsWantedNeedsNone) {
  EXPECT_TRUE(service_patch(stored(wanted(R"({"k":"v"})", kPorts)), wanted(R"({"k":"v"})", kPorts))
                  .is_null());
}

TEST(ServicePatch, TakesAwayOnlyWhatItHasApplied) {
  auto live = stored(wanted(R"({"ours":"1","kept":"1"})", kPorts));
  live.meta.annotations["theirs"] = "1";
  live.spec.as_object()["ports"].as_array().push_back(JsonObject{{"name", "theirs"}, {"port", 9}});
  const auto patch = service_patch(
      live, wanted(R"({"kept":"2"})", R"([{"name":"a","port":1,"appProtocol":"tcp"}])"));
  EXPECT_EQ(names(patch), "a theirs ");
  const auto& annotations = object_at(patch, {"metadata", "annotations"});
  EXPECT_TRUE(annotations.at("ours").is_null());
  EXPECT_EQ(annotations.at("kept").get_string(), "2");
  EXPECT_FALSE(annotations.contains("theirs"));
  EXPECT_EQ(string_at(patch, {"metadata", "resourceVersion"}), "7");
}

TEST(ServicePatch, OfAServiceFromBeforeTheGateNothingIsTakenAway) {
  const auto live = stored(wanted(R"({"old":"1"})", kPorts), false);
  const auto patch = service_patch(live, wanted("{}", R"([{"name":"c","port":3}])"));
  EXPECT_EQ(names(patch), "c a b ");
  EXPECT_FALSE(object_at(patch, {"metadata", "annotations"}).contains("old"));
}

TEST(ServicePatch, PortsOfNodesStayWhatTheServerChose) {
  auto live = stored(wanted("{}", kPorts));
  live.spec.as_object()["ports"].as_array()[1].as_object()["nodePort"] = 30001;
  EXPECT_TRUE(service_patch(live, wanted("{}", kPorts)).is_null());
  const auto patch = service_patch(
      live, wanted("{}", R"([{"name":"a","port":1,"appProtocol":"tcp"},{"name":"b","port":5}])"));
  EXPECT_EQ(int_at(array_at(patch, {"spec", "ports"}).at(1), {"nodePort"}), 30001);
}

}  // namespace
}  // namespace manta::controllers::raycluster
