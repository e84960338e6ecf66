#include "local/node/testing/tiny_api.h"

#include <fmt/format.h>

namespace manta::local::testing {

using kube::Verb;

static kube::ObjectKey key_of_request(const kube::Request& r) { return {r.namespace_, r.name}; }

static std::unexpected<Error> not_found(const kube::Request& r) {
  return failed(ErrorCode::NotFound, fmt::format("{} \"{}\" not found", r.resource.plural, r.name));
}

void TinyApi::tell(const std::string& plural, kube::WatchEventType type, const Json& object) {
  for (const auto& [key, watcher] : watchers_)
    if (watcher.plural == plural)
      loop_.post([this, id = key, event = kube::WatchEvent{type, object}] {
        if (const auto found = watchers_.find(id); found != watchers_.end())
          found->second.sink(event);
      });
}

void TinyApi::put(const kube::Resource& resource, Json object) {
  const auto key = kube::key_of(object);
  auto& meta = ensure(object, {"metadata"}).as_object();
  const bool fresh = !objects_.contains({resource.plural, key});
  ++version_;
  if (!meta.contains("uid")) meta["uid"] = fmt::format("00000000-0000-4000-8000-{:012}", version_);
  if (!meta.contains("creationTimestamp")) meta["creationTimestamp"] = format_rfc3339(loop_.now());
  meta["resourceVersion"] = std::to_string(version_);
  objects_[{resource.plural, key}] = object;
  tell(resource.plural, fresh ? kube::WatchEventType::Added : kube::WatchEventType::Modified,
       object);
}

const Json* TinyApi::find_object(const kube::Resource& resource, const kube::ObjectKey& key) const {
  const auto found = objects_.find({resource.plural, key});
  return found == objects_.end() ? nullptr : &found->second;
}

std::size_t TinyApi::count(const kube::Resource& resource) const {
  std::size_t n = 0;
  for (const auto& [key, object] : objects_) n += key.first == resource.plural;
  return n;
}

Result<Json> TinyApi::create(const kube::Request& r) {
  Json object = r.body;
  if (!r.subresource.empty())  // serviceaccounts/token
    return Json(JsonObject{{"status", JsonObject{{"token", fmt::format("token-of-{}", r.name)}}}});
  auto& meta = ensure(object, {"metadata"}).as_object();
  if (r.resource.namespaced && !meta.contains("namespace")) meta["namespace"] = r.namespace_;
  const auto key = kube::key_of(object);
  if (objects_.contains({r.resource.plural, key}))
    return failed(ErrorCode::AlreadyExists, key.name + " already exists");
  put(r.resource, std::move(object));
  return objects_.at({r.resource.plural, key});
}

Result<Json> TinyApi::patch(const kube::Request& r) {
  const auto found = objects_.find({r.resource.plural, key_of_request(r)});
  if (found == objects_.end()) return not_found(r);
  Json object = found->second;
  merge_patch(object, r.body);
  put(r.resource, std::move(object));
  return objects_.at({r.resource.plural, key_of_request(r)});
}

Result<Json> TinyApi::remove(const kube::Request& r) {
  const auto found = objects_.find({r.resource.plural, key_of_request(r)});
  if (found == objects_.end()) return not_found(r);
  Json object = found->second;
  const auto grace = r.grace_period_seconds.value_or(
      int_at(object, {"spec", "terminationGracePeriodSeconds"}, 30));
  if (r.resource.plural == "pods" && grace > 0) {
    auto& meta = object.as_object()["metadata"].as_object();
    meta["deletionTimestamp"] = format_rfc3339(loop_.now() + std::chrono::seconds{grace});
    meta["deletionGracePeriodSeconds"] = grace;
    put(r.resource, object);
    return object;
  }
  objects_.erase(found);
  tell(r.resource.plural, kube::WatchEventType::Deleted, object);
  return object;
}

Task<Result<kube::Response>> TinyApi::call(kube::Request r) {
  Result<Json> body = failed(ErrorCode::MethodNotAllowed, "not in this test's API");
  switch (r.verb) {
    case Verb::Get:
      if (const auto* object = find_object(r.resource, key_of_request(r)))
        body = *object;
      else
        body = not_found(r);
      break;
    case Verb::List: {
      JsonArray items;
      for (const auto& [key, object] : objects_)
        if (key.first == r.resource.plural) items.push_back(object);
      body =
          Json(JsonObject{{"metadata", JsonObject{{"resourceVersion", std::to_string(version_)}}},
                          {"items", std::move(items)}});
      break;
    }
    case Verb::Create:
      body = create(r);
      break;
    case Verb::Patch:
      body = patch(r);
      break;
    case Verb::Delete:
      body = remove(r);
      break;
    default:
      break;
  }
  if (!body) co_return failed(body.error());
  co_return kube::Response{std::move(*body)};
}

Task<Result<void>> TinyApi::watch(kube::WatchRequest request, WatchSink sink,
                                  std::stop_token stop) {
  const int id = next_watcher_++;
  watchers_[id] = {request.resource.plural, std::move(sink)};
  OneShot<bool> ended(loop_);
  std::stop_callback on_stop(stop, [ended] { ended.set(true); });
  co_await ended;
  watchers_.erase(id);
  co_return Result<void>{};
}

Task<Result<kube::RawResponse>> TinyApi::raw(kube::RawRequest) {
  co_return failed(ErrorCode::MethodNotAllowed, "not in this test's API");
}

}  // namespace manta::local::testing
