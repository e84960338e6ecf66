#include "operator/metrics/page.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

namespace manta::operator_ {
namespace {

// As Go's 'g' with the shortest precision, which is how Prometheus' clients print bounds.
std::string number_text(double value) {
  if (value == 1) return "1";  // of all values by far the most frequent
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "+Inf" : "-Inf";
  std::array<char, 400> text{};
  const auto print = [&](std::chars_format format) {
    const auto end = std::to_chars(text.data(), text.data() + text.size(), value, format).ptr;
    return std::string(text.data(), end);
  };
  auto scientific = print(std::chars_format::scientific);
  int exponent = 0;
  const auto mark = scientific.find('e') + 1;
  const auto digits = mark + (scientific[mark] == '+' ? 1 : 0);
  std::from_chars(scientific.data() + digits, scientific.data() + scientific.size(), exponent);
  if (value != 0 && (exponent < -4 || exponent >= 21)) return scientific;
  return print(std::chars_format::fixed);
}

// Bounds are label values, so their very text counts.
std::string bound_text(double value, MetricsFormat format) {
  auto text = number_text(value);
  if (value >= 1e6 && text.find('e') == std::string::npos) {
    std::array<char, 32> scientific{};
    const auto end = std::to_chars(scientific.data(), scientific.data() + scientific.size(), value,
                                   std::chars_format::scientific)
                         .ptr;
    text.assign(scientific.data(), end);
  }
  const bool whole = text.find_first_of(".eI") == std::string::npos;
  return whole && format == MetricsFormat::OpenMetrics ? text + ".0" : text;
}

void append_escaped(std::string& out, std::string_view text) {
  if (text.find_first_of("\n\\\"") == std::string_view::npos) {
    out += text;
    return;
  }
  for (const char c : text) {
    if (c == '\n')
      out += "\\n";
    else if (c == '\\' || c == '"')
      out.append("\\").push_back(c);
    else
      out += c;
  }
}

std::string_view name_of(MetricType type) {
  switch (type) {
    case MetricType::Counter:
      return "counter";
    case MetricType::Gauge:
      return "gauge";
    case MetricType::Histogram:
      return "histogram";
  }
  std::unreachable();
}

}  // namespace

MetricsFormat accepted_format(std::string_view accept) {
  return accept.find("application/openmetrics-text") != std::string_view::npos
             ? MetricsFormat::OpenMetrics
             : MetricsFormat::Text;
}

std::string_view content_type_of(MetricsFormat format) {
  return format == MetricsFormat::OpenMetrics
             ? "application/openmetrics-text; version=1.0.0; charset=utf-8"
             : "text/plain; version=0.0.4; charset=utf-8";
}

std::string metric_labels(
    std::initializer_list<std::pair<std::string_view, std::string_view>> labels) {
  std::string out;
  std::size_t size = 0;
  for (const auto& [name, value] : labels) size += name.size() + value.size() + 4;
  out.reserve(size);
  for (const auto& [name, value] : labels) {
    if (!out.empty()) out += ',';
    out.append(name).append("=\"");
    append_escaped(out, value);
    out += '"';
  }
  return out;
}

void Buckets::observe(double value) {
  const auto bucket = std::ranges::lower_bound(bounds_, value) - bounds_.begin();
  if (static_cast<std::size_t>(bucket) < counts_.size())
    ++counts_[static_cast<std::size_t>(bucket)];
  ++count_;
  sum_ += value;
}

void MetricsPage::family(std::string_view name, MetricType type, std::string_view help) {
  name_ = name;
  const auto [entry, first] = families_.try_emplace(std::string(name));
  text_ = &entry->second;
  if (!first) return;
  auto shown = name;
  // OpenMetrics names a counter without its suffix.
  if (format_ == MetricsFormat::OpenMetrics && type == MetricType::Counter &&
      shown.ends_with("_total"))
    shown.remove_suffix(6);
  text_->append("# HELP ").append(shown).append(" ").append(help);
  text_->append("\n# TYPE ").append(shown).append(" ").append(name_of(type)).append("\n");
}

void MetricsPage::line(std::string_view suffix, std::string_view labels, std::string_view bound,
                       double value) {
  text_->append(name_).append(suffix);
  if (!labels.empty() || !bound.empty()) {
    text_->append("{").append(labels);
    if (!bound.empty())
      text_->append(labels.empty() ? "" : ",").append("le=\"").append(bound).append("\"");
    text_->append("}");
  }
  text_->append(" ").append(number_text(value)).append("\n");
}

void MetricsPage::sample(std::string_view labels, double value) { line("", labels, "", value); }

void MetricsPage::sample(std::string_view labels, const Buckets& histogram) {
  std::uint64_t below = 0;
  for (std::size_t i = 0; i < histogram.bounds_.size(); ++i) {
    below += histogram.counts_[i];
    line("_bucket", labels, bound_text(histogram.bounds_[i], format_), static_cast<double>(below));
  }
  const auto count = static_cast<double>(histogram.count_);
  line("_bucket", labels, "+Inf", count);
  line("_sum", labels, "", histogram.sum_);
  line("_count", labels, "", count);
}

std::string MetricsPage::finish() && {
  std::size_t size = 0;
  for (const auto& [name, text] : families_) size += text.size();
  std::string page;
  page.reserve(size + 8);
  for (const auto& [name, text] : families_) page += text;
  if (format_ == MetricsFormat::OpenMetrics) page += "# EOF\n";
  return page;
}

}  // namespace manta::operator_
