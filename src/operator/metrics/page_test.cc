#include "operator/metrics/page.h"

#include <gtest/gtest.h>

namespace manta::operator_ {
namespace {

constexpr double kBounds[] = {1e-8, 0.5, 1, 16777216};

std::string sample_page(MetricsFormat format) {
  MetricsPage page(format);
  Buckets buckets(kBounds);
  for (const double value : {0.5, 0.6, 2.0, 1e9}) buckets.observe(value);
  page.family("b_seconds", MetricType::Histogram, "how long");
  page.sample(metric_labels({{"verb", "GET"}}), buckets);
  page.family("a_total", MetricType::Counter, "how many");
  page.sample("", 3);
  page.family("c", MetricType::Gauge, "how much");
  page.sample(metric_labels({{"k", "a\"b\\c\nd"}}), 0.25);
  page.family("a_total", MetricType::Counter, "how many");
  page.sample(metric_labels({{"x", "y"}}), 1e21);
  return std::move(page).finish();
}

TEST(MetricsPage, IsPrometheusText) {
  EXPECT_EQ(sample_page(MetricsFormat::Text),
            "# HELP a_total how many\n# TYPE a_total counter\n"
            "a_total 3\n"
            "a_total{x=\"y\"} 1e+21\n"
            "# HELP b_seconds how long\n# TYPE b_seconds histogram\n"
            "b_seconds_bucket{verb=\"GET\",le=\"1e-08\"} 0\n"
            "b_seconds_bucket{verb=\"GET\",le=\"0.5\"} 1\n"
            "b_seconds_bucket{verb=\"GET\",le=\"1\"} 2\n"
            "b_seconds_bucket{verb=\"GET\",le=\"1.6777216e+07\"} 3\n"
            "b_seconds_bucket{verb=\"GET\",le=\"+Inf\"} 4\n"
            "b_seconds_sum{verb=\"GET\"} 1000000003.1\n"
            "b_seconds_count{verb=\"GET\"} 4\n"
            "# HELP c how much\n# TYPE c gauge\n"
            "c{k=\"a\\\"b\\\\c\\nd\"} 0.25\n");
}

TEST(MetricsPage, IsOpenMetrics) {
  const auto text = sample_page(MetricsFormat::OpenMetrics);
  EXPECT_TRUE(text.starts_with("# HELP a how many\n# TYPE a counter\na_total 3\n")) << text;
  EXPECT_NE(text.find("le=\"1.0\"} 2\n"), std::string::npos);
  EXPECT_TRUE(text.ends_with("# EOF\n"));
}

TEST(MetricsPage, FollowsTheAcceptHeader) {
  EXPECT_EQ(accepted_format(""), MetricsFormat::Text);
  EXPECT_EQ(accepted_format("text/plain;version=0.0.4"), MetricsFormat::Text);
  EXPECT_EQ(accepted_format("application/openmetrics-text;version=1.0.0;q=0.5,text/plain;q=0.3"),
            MetricsFormat::OpenMetrics);
}

}  // namespace
}  // namespace manta::operator_
