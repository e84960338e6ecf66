#include "controllers/rayservice/gateway_api.h"

#include <gtest/gtest.h>

namespace manta::controllers::rayservice {
namespace {

Json json(std::string_view text) { return *parse_json(text); }

// ---- what counts as equal: spec/05 §6.1, §6.2

struct Pair {
  const char* name;
  const char* live;
  const char* wanted;
  bool same;
};
std::string name_of_pair(const ::testing::TestParamInfo<Pair>& info) { return info.param.name; }

class SameGateway : public ::testing::TestWithParam<Pair> {};
TEST_P(SameGateway, Row) {
  EXPECT_EQ(same_gateway(json(GetParam().live), json(GetParam().wanted)), GetParam().same);
}
#define LISTENERS(...) R"({"gatewayClassName":"edge","listeners":[)" __VA_ARGS__ "]}"
#define HTTP R"({"name":"http","protocol":"HTTP","port":80})"
INSTANTIATE_TEST_SUITE_P(
    , SameGateway,
    ::testing::Values(
        Pair{"AsWritten", LISTENERS(HTTP), LISTENERS(HTTP), true},
        Pair{
            "Defaulted",
            LISTENERS(
                R"({"name":"http","protocol":"HTTP","port":80,"allowedRoutes":{"namespaces":{"from":"Same"}}})"),
            LISTENERS(HTTP), true},
        Pair{"AnotherClass", R"({"gatewayClassName":"other","listeners":[)" HTTP "]}",
             LISTENERS(HTTP), false},
        Pair{"AnotherPort", LISTENERS(R"({"name":"http","protocol":"HTTP","port":81})"),
             LISTENERS(HTTP), false},
        Pair{"AnotherProtocol", LISTENERS(R"({"name":"http","protocol":"HTTPS","port":80})"),
             LISTENERS(HTTP), false},
        Pair{"OneMore", LISTENERS(HTTP "," HTTP), LISTENERS(HTTP), false}),
    name_of_pair);

class SameRoute : public ::testing::TestWithParam<Pair> {};
TEST_P(SameRoute, Row) {
  EXPECT_EQ(same_route(json(GetParam().live), json(GetParam().wanted)), GetParam().same);
}
#define ROUTE(backends)                                                    \
  R"({"parentRefs":[{"name":"g","namespace":"ns"}],"rules":[{"matches":[)" \
  R"({"path":{"type":"PathPrefix","value":"/"}}],"backendRefs":[)" backends "]}]}"
#define A(weight) R"({"name":"a","namespace":"ns","port":8000,"weight":)" weight "}"
INSTANTIATE_TEST_SUITE_P(
    , SameRoute,
    ::testing::Values(
        Pair{"AsWritten", ROUTE(A("100")), ROUTE(A("100")), true},
        Pair{"OtherWeight", ROUTE(A("90")), ROUTE(A("100")), false},
        Pair{"WeightLeftOutIsOne", ROUTE(R"({"name":"a","namespace":"ns","port":8000})"),
             ROUTE(A("1")), true},
        Pair{
            "GroupAndKindAreDefaulted",
            ROUTE(
                R"({"group":"","kind":"Service","name":"a","namespace":"ns","port":8000,"weight":100})"),
            ROUTE(A("100")), true},
        Pair{"OneBackendMore", ROUTE(A("100") "," A("0")), ROUTE(A("100")), false},
        Pair{"NoHostsAtAll", R"({"hostnames":[],"parentRefs":[],"rules":[]})",
             R"({"parentRefs":[],"rules":[]})", true},
        Pair{"AHostOfSomebody", R"({"hostnames":["x"],"parentRefs":[],"rules":[]})",
             R"({"parentRefs":[],"rules":[]})", false},
        Pair{
            "OtherMatch",
            R"({"rules":[{"matches":[{"path":{"type":"Exact","value":"/"}}],"backendRefs":[]}]})",
            R"({"rules":[{"matches":[{"path":{"type":"PathPrefix","value":"/"}}],"backendRefs":[]}]})",
            false}),
    name_of_pair);

// ---- what counts as in service

kube::SpecView with_status(std::string_view status) { return {.status = json(status)}; }
#define SAYS(type, status) R"({"type":")" type R"(","status":")" status R"("})"

TEST(MissingGatewayCondition, NamesTheFirstThatIsNotTrue) {
  const auto missing = [](std::string_view conditions) {
    return missing_gateway_condition(
               with_status("{\"conditions\":[" + std::string(conditions) + "]}"))
        .value_or("");
  };
  EXPECT_EQ(missing(""), "Accepted");
  EXPECT_EQ(missing(SAYS("Accepted", "True")), "Programmed");
  EXPECT_EQ(missing(SAYS("Programmed", "True") "," SAYS("Accepted", "Unknown")), "Accepted");
  EXPECT_EQ(missing(SAYS("Programmed", "True") "," SAYS("Accepted", "True")), "");
}

struct RouteRow {
  const char* name;
  const char* parents;
  bool ready;
};
class RouteReady : public ::testing::TestWithParam<RouteRow> {};
TEST_P(RouteReady, Row) {
  const auto route = with_status("{\"parents\":[" + std::string(GetParam().parents) + "]}");
  EXPECT_EQ(is_route_ready(route, {"ns", "g"}), GetParam().ready);
}
#define BOTH "\"conditions\":[" SAYS("Accepted", "True") "," SAYS("ResolvedRefs", "True") "]"
INSTANTIATE_TEST_SUITE_P(
    , RouteReady,
    ::testing::Values(
        RouteRow{"NobodyHasSeenIt", "", false},
        RouteRow{"OurGateway", R"({"parentRef":{"name":"g"},)" BOTH "}", true},
        RouteRow{"OurGatewayByNamespace", R"({"parentRef":{"name":"g","namespace":"ns"},)" BOTH "}",
                 true},
        RouteRow{"OneOfAnotherNamespace",
                 R"({"parentRef":{"name":"g","namespace":"other"},)" BOTH "}", false},
        RouteRow{"AnotherGateway", R"({"parentRef":{"name":"h"},)" BOTH "}", false},
        RouteRow{"BackendsUnknown",
                 R"({"parentRef":{"name":"g"},"conditions":[)" SAYS("Accepted", "True") "]}",
                 false},
        RouteRow{"TheSecondParentIsOurs",
                 R"({"parentRef":{"name":"h"}},{"parentRef":{"name":"g"},)" BOTH "}", true}),
    [](const auto& info) { return info.param.name; });

TEST(WeightOf, IsOfTheFirstRuleAndOneWhereItIsLeftOut) {
  const auto route = json(
      R"({"rules":[{"backendRefs":[{"name":"a","weight":70},{"name":"b"}]},{"backendRefs":[{"name":"c","weight":3}]}]})");
  EXPECT_EQ(weight_of(route, "a"), 70);
  EXPECT_EQ(weight_of(route, "b"), 1);
  EXPECT_EQ(weight_of(route, "c"), std::nullopt);
  EXPECT_EQ(weight_of(json("{}"), "a"), std::nullopt);
}

}  // namespace
}  // namespace manta::controllers::rayservice
