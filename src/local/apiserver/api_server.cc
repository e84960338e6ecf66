#include "local/apiserver/api_server.h"

#include "base/text.h"
#include "local/apiserver/field_errors.h"
#include "local/apiserver/http_router.h"
#include "local/apiserver/rest.h"

namespace manta::local {

ApiServer::ApiServer(Loop& loop, Random& random, Store& store, ApiServerOptions options)
    : rest_(std::make_unique<Rest>(loop, random, store, std::move(options))),
      router_(std::make_unique<HttpRouter>(*rest_)) {}
ApiServer::~ApiServer() = default;

Task<Result<kube::Response>> ApiServer::call(kube::Request request) {
  // The answer comes on a later turn of the loop, as it would over the network: no caller may come
  // to rely on finishing before others.
  OneShot<bool> turn(rest_->loop());
  rest_->loop().post([turn] { turn.set(true); });
  co_await turn;
  Context context;
  auto body = rest_->run(request, context);
  if (!body) co_return failed(body.error());
  co_return kube::Response{std::move(*body), std::move(context.warnings)};
}

Task<Result<void>> ApiServer::watch(kube::WatchRequest request, WatchSink sink,
                                    std::stop_token stop) {
  if (stop.stop_requested()) co_return Result<void>{};
  auto kind = rest_->kind_of(request.resource);
  if (!kind) co_return failed(kind.error());
  auto opened = rest_->hub().open(*kind, request, {.bookmarks = request.bookmarks});
  if (!opened) co_return failed(opened.error());
  const auto& watcher = *opened;
  Loop& loop = rest_->loop();
  std::weak_ptr<Watcher> weak = watcher;
  auto end = [weak] {
    if (auto live = weak.lock()) live->end();
  };
  // stop may be requested from anywhere on the loop; the stream ends on its own turn.
  std::stop_callback on_stop(stop, [&loop, end] { loop.post(end); });
  const auto timer = loop.after(request.timeout, end);
  while (auto item = co_await watcher->next()) {
    if (stop.stop_requested()) break;
    sink({item->type, *item->object});
  }
  loop.cancel(timer);
  if (watcher->error() && !stop.stop_requested()) co_return failed(*watcher->error());
  co_return Result<void>{};
}

Task<Result<kube::RawResponse>> ApiServer::raw(kube::RawRequest request) {
  OneShot<bool> turn(rest_->loop());
  rest_->loop().post([turn] { turn.set(true); });
  co_await turn;
  HttpRequest http{request.method, request.path, {}, std::move(request.body), {}};
  for (const auto& [name, value] : request.headers) http.headers[lower_case(name)] = value;
  auto answer = router_->handle(std::move(http));
  if (answer.watch || answer.pod_stream || answer.proxy)
    co_return failed(ErrorCode::MethodNotAllowed,
                     "streams and proxied requests go over HTTP: " + request.path);
  kube::RawResponse response{answer.status, {}, std::move(answer.body)};
  response.headers["content-type"] = answer.content_type;
  for (const auto& [name, value] : answer.headers) response.headers[name] = value;
  co_return response;
}

void ApiServer::set_pod_backend(PodBackend* backend) { rest_->backend = backend; }
PodBackend* ApiServer::pod_backend() const { return rest_->backend; }

bool ApiServer::token_is_valid(std::string_view token, Caller* caller) const {
  const auto* found = rest_->caller_of_token(token);
  if (found && caller) *caller = *found;
  return found != nullptr;
}

}  // namespace manta::local
