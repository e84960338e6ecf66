#include "sim/operator_life.h"

#include <fmt/format.h>

namespace manta::sim {
namespace {

std::unexpected<Error> dead() { return failed(ErrorCode::Cancelled, "the process is dead"); }

}  // namespace

std::string WriteCall::to_string() const {
  return fmt::format("{} {}{}{} {}{}{}", kube::to_string(verb), kind,
                     subresource.empty() ? "" : "/", subresource, key.to_string(), selector,
                     done ? "" : " (refused)");
}

bool is_write(const kube::Request& request) {
  return request.verb != kube::Verb::Get && request.verb != kube::Verb::List;
}

WriteCall to_write_call(const kube::Request& request, Time now) {
  return {.at = now,
          .verb = request.verb,
          .kind = request.resource.kind,
          .subresource = request.subresource,
          .key = {request.namespace_,
                  std::string(string_at(request.body, {"metadata", "name"}, request.name))},
          .uid = request.precondition_uid,
          .selector = request.label_selector};
}

OperatorLife::OperatorLife(Loop& loop, kube::Api& wire, kube::Outside& outside, Random& random,
                           LifeOptions options, WriteLog& log)
    : loop_(loop),
      wire_(wire),
      log_(log),
      options_(std::move(options)),
      scope_(loop),
      operator_(loop, *this, outside, random, {.settings = options_.settings, .observer = this}) {
  if (options_.lease) {
    election_.emplace(loop, *this, random, *options_.lease);
    stand_for_election();
  } else {
    scope_.spawn("operator", operator_.run(scope_.stop_token()));
  }
}

// As src/operator/process.cc does it.
void OperatorLife::stand_for_election() {
  election_->on_started = [this] { scope_.spawn("work", operator_.work(scope_.stop_token())); };
  election_->on_lost = [this] {
    die();
    if (options_.on_exit) options_.on_exit();
  };
  scope_.spawn("watch", operator_.watch(scope_.stop_token()));
  scope_.spawn("election", election_->run(scope_.stop_token()));
}

void OperatorLife::ended(std::string_view controller, const kube::ObjectKey& key,
                         kube::PassEnd end) {
  const std::pair object(std::string(controller), key);
  if (end == kube::PassEnd::Success)
    waiting_.erase(object);
  else
    waiting_.insert(object);
  if (options_.observer) options_.observer->ended(controller, key, end);
}

void OperatorLife::wrote(std::string_view controller, const kube::Write& write,
                         const Result<Json>& answer) {
  if (options_.observer) options_.observer->wrote(controller, write, answer);
}

void OperatorLife::die() {
  dead_ = true;
  scope_.request_stop();
}

bool OperatorLife::idle() const { return operator_.synced() && (!acts() || operator_.idle()); }

Task<Result<kube::Response>> OperatorLife::call(kube::Request request) {
  if (dead_) co_return dead();
  const bool counts = is_write(request) && request.resource.plural != "leases";
  const auto at = log_.size();
  if (counts) {
    if (options_.before_write) options_.before_write(request);
    log_.push_back(to_write_call(request, loop_.now()));
  }
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

}  // namespace manta::sim
