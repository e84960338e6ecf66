#include "operator/serve_load.h"

#include <gtest/gtest.h>

#include <string>

namespace manta::operator_ {
namespace {

TEST(OngoingRequests, AreThoseOfEveryProxyOverHttpAndGrpc) {
  EXPECT_EQ(ongoing_requests("# HELP ray_serve_num_ongoing_http_requests …\n"
                             "# TYPE ray_serve_num_ongoing_http_requests gauge\n"
                             "ray_serve_num_ongoing_http_requests{node_id=\"a\",x=\"} 9\"} 2.0\n"
                             "ray_serve_num_ongoing_http_requests{node_id=\"b\"} 1.0\n"
                             "ray_serve_num_ongoing_grpc_requests 4\n"
                             "ray_serve_num_ongoing_http_requests_of_somebody_else 100\n"),
            7);
}

// Ray 2.60, a minute after the last request came in.
TEST(OngoingRequests, OfASilentProxyItsRoutersTell) {
  const std::string idle =
      "ray_serve_num_http_requests_total{route=\"/fruit\"} 1.0\n"
      "ray_serve_deployment_queued_queries{application=\"fruit\",deployment=\"Fruit\"} 0.0\n"
      "ray_serve_num_ongoing_requests_at_replicas{application=\"fruit\",handle=\"h\"} ";
  EXPECT_EQ(ongoing_requests(idle + "0.0\n"), 0);
  EXPECT_EQ(ongoing_requests(idle + "1.0\n"), 1);
}

TEST(OngoingRequests, NoneIsNotTheSameAsNotKnown) {
  EXPECT_EQ(ongoing_requests("ray_serve_num_ongoing_http_requests{} 0.0"), 0);
  EXPECT_EQ(ongoing_requests("ray_node_cpu_count 4\n"), std::nullopt);
  EXPECT_EQ(ongoing_requests(""), std::nullopt);
  EXPECT_EQ(ongoing_requests("ray_serve_num_ongoing_http_requests{ 1\n"), std::nullopt);
  EXPECT_EQ(ongoing_requests("ray_serve_num_ongoing_http_requests nan\n"), std::nullopt);
}

}  // namespace
}  // namespace manta::operator_
