// A page of metrics as Prometheus reads them, in its text format or in OpenMetrics.
//
//   MetricsPage page(MetricsFormat::Text);
//   page.family("kuberay_job_info", MetricType::Gauge, "RayJobs that exist");
//   page.sample(metric_labels({{"name", "j"}, {"namespace", "default"}}), 1);
//   std::string text = std::move(page).finish();   // families by name
#pragma once

#include <cstdint>
#include <initializer_list>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace manta::operator_ {

enum class MetricsFormat { Text, OpenMetrics };
/// What an Accept header asks for.
MetricsFormat accepted_format(std::string_view accept);
std::string_view content_type_of(MetricsFormat format);

enum class MetricType { Counter, Gauge, Histogram };

/// name="value",… with values escaped. Names must come in alphabetical order, as Prometheus'
/// clients print them and tests match them.
std::string metric_labels(
    std::initializer_list<std::pair<std::string_view, std::string_view>> labels);

/// Counts of observations by bucket. `bounds` must outlive it.
class Buckets {
 public:
  explicit Buckets(std::span<const double> bounds) : bounds_(bounds), counts_(bounds.size()) {}
  void observe(double value);

 private:
  friend class MetricsPage;
  std::span<const double> bounds_;
  std::vector<std::uint64_t> counts_;  // each bucket's own
  std::uint64_t count_ = 0;
  double sum_ = 0;
};

class MetricsPage {
 public:
  explicit MetricsPage(MetricsFormat format) : format_(format) {}

  /// What follows belongs to it; a family may be begun again. A counter's name ends in _total.
  void family(std::string_view name, MetricType type, std::string_view help);
  void sample(std::string_view labels, double value);
  void sample(std::string_view labels, const Buckets& histogram);
  std::string finish() &&;

 private:
  void line(std::string_view suffix, std::string_view labels, std::string_view bound, double value);

  MetricsFormat format_;
  std::map<std::string, std::string, std::less<>> families_ = {};  // their text
  std::string name_ = {};
  std::string* text_ = nullptr;
};

}  // namespace manta::operator_
