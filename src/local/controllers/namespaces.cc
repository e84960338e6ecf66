#include "local/controllers/namespaces.h"

#include "base/log.h"
#include "local/controllers/discovery.h"

#include <utility>

namespace manta::local {
namespace {

/// Contents end gracefully (Pods), so we look again this often.
constexpr Duration kLookAgain = std::chrono::milliseconds{300};

}  // namespace

NamespaceController::NamespaceController(Loop& loop, kube::Api& api,
                                         kube::Cache<NamespaceView>& namespaces)
    : loop_(loop), api_(api), namespaces_(namespaces), wake_(loop) {
  namespaces_.listen([this](const auto*, const auto*) { wake_.set(true); });
}

Task<void> NamespaceController::run(std::stop_token stop) {
  Scope scope(loop_);
  std::stop_callback forward(stop, [&] {
    scope.request_stop();
    wake_.set(true);
  });
  while (!stop.stop_requested()) {
    wake_ = OneShot<bool>(loop_);
    for (const auto& view : namespaces_.list("")) {
      const auto& name = view->meta.key.name;
      if (view->meta.deleting && terminating_.insert(name).second)
        scope.spawn("terminate namespace", terminate(name, scope.stop_token()));
    }
    if (!stop.stop_requested()) co_await wake_;
  }
  co_await scope.join();
}

Task<void> NamespaceController::terminate(std::string name, std::stop_token stop) {
  while (!stop.stop_requested()) {
    auto left = co_await delete_contents(name);
    if (left && *left == 0) {
      auto done = co_await finalize(name);
      if (done) break;
      left = failed(done.error());
    }
    if (!left)
      log::warn("emptying a namespace failed, will retry",
                {{"namespace", name}, {"error", left.error().message}});
    if (!co_await sleep(loop_, kLookAgain, stop)) break;
  }
  terminating_.erase(name);
}

Task<Result<std::int64_t>> NamespaceController::delete_contents(std::string name) {
  auto resources = co_await discover(api_);
  if (!resources) co_return failed(resources.error());
  std::int64_t left = 0;
  for (const auto& resource : *resources) {
    if (!resource.namespaced) continue;
    auto list = co_await api_.list(resource, name);
    if (!list) co_return failed(list.error().in("listing " + resource.plural));
    const auto count = std::int64_t(array_at(*list, {"items"}).size());
    left += count;
    if (count == 0) continue;
    kube::Request request{
        .verb = kube::Verb::DeleteCollection, .resource = resource, .namespace_ = name};
    request.propagation = kube::Propagation::Background;
    auto answer = co_await api_.call(std::move(request));
    if (!answer && answer.error().code != ErrorCode::NotFound)
      co_return failed(answer.error().in("deleting " + resource.plural));
  }
  co_return left;
}

Task<Result<void>> NamespaceController::finalize(std::string name) {
  auto live = co_await api_.get(kube::kNamespaces, {"", name});
  if (!live && live.error().code == ErrorCode::NotFound) co_return Result<void>{};
  if (!live) co_return failed(live.error());
  if (find(*live, {"metadata", "deletionTimestamp"}) == nullptr) co_return Result<void>{};
  JsonArray rest;
  for (const auto& finalizer : array_at(*live, {"spec", "finalizers"}))
    if (finalizer.is_string() && finalizer.as_string() != "kubernetes") rest.push_back(finalizer);
  auto& fields = live->as_object();
  if (!fields["spec"].is_object()) fields["spec"] = JsonObject{};
  fields["spec"].as_object()["finalizers"] = std::move(rest);
  auto answer = co_await api_.update(kube::kNamespaces, std::move(*live), "finalize");
  if (!answer && answer.error().code != ErrorCode::NotFound) co_return failed(answer.error());
  co_return Result<void>{};
}

}  // namespace manta::local
