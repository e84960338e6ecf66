#include "operator/metrics/rest_metrics.h"

#include <gtest/gtest.h>

namespace manta::operator_ {
namespace {

std::string text_of(const RestMetrics& metrics) {
  MetricsPage page(MetricsFormat::Text);
  metrics.write_to(page);
  return std::move(page).finish();
}

TEST(RestMetrics, AreClientGos) {
  RestMetrics metrics("10.0.0.1:443");
  metrics.exchanged({.method = "GET",
                     .status = 200,
                     .took = std::chrono::milliseconds{30},
                     .request_bytes = 0,
                     .response_bytes = 1000});
  metrics.exchanged({.method = "GET", .status = 0});
  metrics.exchanged({.method = "GET", .status = 200, .is_watch = true});
  metrics.waited("PUT", std::chrono::seconds{3});
  metrics.retried("PUT", 429);
  const auto text = text_of(metrics);
  for (
      const auto* line :
      {R"(rest_client_requests_total{code="200",host="10.0.0.1:443",method="GET"} 2)",
       R"(rest_client_requests_total{code="<error>",host="10.0.0.1:443",method="GET"} 1)",
       R"(rest_client_request_duration_seconds_bucket{host="10.0.0.1:443",verb="GET",le="0.025"} 1)",
       R"(rest_client_request_duration_seconds_count{host="10.0.0.1:443",verb="GET"} 2)",
       R"(rest_client_response_size_bytes_bucket{host="10.0.0.1:443",verb="GET",le="1024"} 2)",
       R"(rest_client_rate_limiter_duration_seconds_bucket{host="10.0.0.1:443",verb="PUT",le="4"} 1)",
       R"(rest_client_request_retries_total{code="429",host="10.0.0.1:443",verb="PUT"} 1)"})
    EXPECT_NE(text.find(std::string(line) + "\n"), std::string::npos) << line << "\n" << text;
  EXPECT_EQ(text.find("request_duration_seconds_count{host=\"10.0.0.1:443\",verb=\"PUT\"}"),
            std::string::npos);
  EXPECT_EQ(text.find("dns"), std::string::npos);
}

TEST(RestMetrics, NameLookUpsHaveNoBucketAt60) {
  RestMetrics metrics("api:6443");
  metrics.resolved(std::chrono::milliseconds{1});
  const auto text = text_of(metrics);
  EXPECT_NE(text.find(R"(dns_resolution_duration_seconds_bucket{host="api:6443",le="30"} 1)"),
            std::string::npos);
  EXPECT_EQ(text.find(R"(le="60")"), std::string::npos);
}

TEST(HostOf, IsHostAndPort) {
  EXPECT_EQ(host_of("https://10.0.0.1:443"), "10.0.0.1:443");
  EXPECT_EQ(host_of("https://api.example:6443/k8s/x"), "api.example:6443");
}

}  // namespace
}  // namespace manta::operator_
