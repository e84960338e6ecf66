// The answer to GET /metrics, from whoever has something to tell.
#pragma once

#include "operator/http/http_server.h"
#include "operator/metrics/page.h"

#include <functional>
#include <vector>

namespace manta::operator_ {

class Exposition {
 public:
  /// Asked at each scrape, while this lives.
  void add(std::function<void(MetricsPage&)> source) { sources_.push_back(std::move(source)); }
  /// Text or OpenMetrics as Accept says, gzip when it may be.
  HttpAnswer answer(const ServedRequest& request) const;

 private:
  std::vector<std::function<void(MetricsPage&)>> sources_ = {};
};

/// Nothing when it cannot be compressed.
std::optional<std::string> gzip(std::string_view text);

}  // namespace manta::operator_
