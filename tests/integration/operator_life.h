// One life of the operator's process: made when it starts, dead when it crashes. From then on
// nothing that it began can write, and all that it knew is lost.
#pragma once

#include "base/async.h"
#include "controllers/settings.h"
#include "kube/api.h"
#include "operator/operator.h"

#include <string>
#include <vector>

namespace manta::integration {

/// A write that the operator sent.
struct WriteCall {
  Time at = {};
  kube::Verb verb = kube::Verb::Create;
  std::string kind = {};
  std::string subresource = {};
  kube::ObjectKey key = {};   // the name of a created object is the answer's
  std::string uid = {};       // of a delete's precondition
  std::string selector = {};  // of a collection's delete
  bool done = false;          // answered without error
  std::string to_string() const;
};
using WriteLog = std::vector<WriteCall>;

bool is_write(const kube::Request& request);

class OperatorLife final : public kube::Api {
 public:
  OperatorLife(Loop& loop, kube::Api& wire, kube::Outside& outside, Random& random,
               const controllers::Settings& settings, WriteLog& log);

  void die();
  bool ended() const { return scope_.running() == 0; }
  bool idle() const { return operator_.synced() && operator_.idle(); }

  Task<Result<kube::Response>> call(kube::Request request) override;
  Task<Result<void>> watch(kube::WatchRequest request, WatchSink sink,
                           std::stop_token stop) override;
  Task<Result<kube::RawResponse>> raw(kube::RawRequest request) override;

 private:
  Loop& loop_;
  kube::Api& wire_;
  WriteLog& log_;
  bool dead_ = false;
  Scope scope_;
  operator_::Operator operator_;
};

}  // namespace manta::integration
