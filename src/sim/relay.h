// An Api that hands everything on: what stands in between overrides what it changes.
#pragma once

#include "kube/api.h"

#include <utility>

namespace manta::sim {

class Relay : public kube::Api {
 public:
  explicit Relay(kube::Api& inner) : inner_(inner) {}

  Task<Result<kube::Response>> call(kube::Request request) override {
    return inner_.call(std::move(request));
  }
  Task<Result<void>> watch(kube::WatchRequest request, WatchSink sink,
                           std::stop_token stop) override {
    return inner_.watch(std::move(request), std::move(sink), std::move(stop));
  }
  Task<Result<kube::RawResponse>> raw(kube::RawRequest request) override {
    return inner_.raw(std::move(request));
  }

 protected:
  kube::Api& inner() { return inner_; }

 private:
  kube::Api& inner_;
};

}  // namespace manta::sim
