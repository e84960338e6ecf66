#include "operator_life.h"

#include <fmt/format.h>

namespace manta::integration {
namespace {

std::string_view name_of_verb(kube::Verb verb) {
  switch (verb) {
    case kube::Verb::Create:
      return "create";
    case kube::Verb::Update:
      return "update";
    case kube::Verb::Patch:
      return "patch";
    case kube::Verb::Delete:
      return "delete";
    case kube::Verb::DeleteCollection:
      return "deletecollection";
    case kube::Verb::Get:
    case kube::Verb::List:
      break;
  }
  return "read";
}

std::unexpected<Error> dead() { return failed(ErrorCode::Cancelled, "the process is dead"); }

}  // namespace

std::string WriteCall::to_string() const {
  return fmt::format("{} {}{}{} {}{}{}", name_of_verb(verb), kind, subresource.empty() ? "" : "/",
                     subresource, key.to_string(), selector, done ? "" : " (refused)");
}

bool is_write(const kube::Request& request) {
  return request.verb != kube::Verb::Get && request.verb != kube::Verb::List;
}

OperatorLife::OperatorLife(Loop& loop, kube::Api& wire, kube::Outside& outside, Random& random,
                           const controllers::Settings& settings, WriteLog& log)
    : loop_(loop),
      wire_(wire),
      log_(log),
      scope_(loop),
      operator_(loop, *this, outside, random, {.settings = settings}) {
  scope_.spawn("operator", operator_.run(scope_.stop_token()));
}

void OperatorLife::die() {
  dead_ = true;
  scope_.request_stop();
}

Task<Result<kube::Response>> OperatorLife::call(kube::Request request) {
  if (dead_) co_return dead();
  const bool counts = is_write(request);
  const auto at = log_.size();
  if (counts)
    log_.push_back({.at = loop_.now(),
                    .verb = request.verb,
                    .kind = request.resource.kind,
                    .subresource = request.subresource,
                    .key = {request.namespace_, request.name},
                    .uid = request.precondition_uid,
                    .selector = request.label_selector});
  auto answer = co_await wire_.call(std::move(request));
  if (dead_) co_return dead();
  if (counts && answer) {
    log_[at].done = true;
    if (log_[at].key.name.empty())
      log_[at].key.name = string_at(answer->body, {"metadata", "name"});
  }
  co_return answer;
}

Task<Result<void>> OperatorLife::watch(kube::WatchRequest request, WatchSink sink,
                                       std::stop_token stop) {
  auto while_alive = [this, sink = std::move(sink)](kube::WatchEvent event) {
    if (!dead_) sink(std::move(event));
  };
  co_return co_await wire_.watch(std::move(request), std::move(while_alive), std::move(stop));
}

Task<Result<kube::RawResponse>> OperatorLife::raw(kube::RawRequest request) {
  if (dead_) co_return dead();
  co_return co_await wire_.raw(std::move(request));
}

}  // namespace manta::integration
