// What the API client does, as client-go's families. Source: spec/08 §3, §4.
#pragma once

#include "kube/http_api.h"
#include "operator/metrics/page.h"

#include <map>
#include <string>

namespace manta::operator_ {

class RestMetrics final : public kube::HttpObserver {
 public:
  /// `host` is the API server's host:port.
  explicit RestMetrics(std::string host);

  void exchanged(const Exchange& exchange) override;
  void waited(std::string_view method, Duration took) override;
  void retried(std::string_view method, int status) override;
  void resolved(Duration took) override;

  void write_to(MetricsPage& page) const;

 private:
  struct Method {  // histograms of one verb
    Method();
    Buckets latency, waiting, request_bytes, response_bytes;
    bool has_exchange = false;
  };
  Method& of(std::string_view method);

  std::string host_;
  std::map<std::string, Method, std::less<>> methods_ = {};
  std::map<std::string, double> requests_ = {};  // by labels
  std::map<std::string, double> retries_ = {};
  Buckets resolving_;
  bool has_resolved_ = false;
};

/// host:port of a URL, as client-go shows it.
std::string host_of(std::string_view url);

}  // namespace manta::operator_
