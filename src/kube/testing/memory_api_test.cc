#include "kube/testing/memory_api.h"

#include "base/virtual_loop.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace manta::kube {
namespace {

std::unexpected<Error> refuse(ErrorCode code, std::string message) {
  Error error{.code = code, .message = std::move(message)};
  error.http_status = http_status_of(code);
  return std::unexpected(std::move(error));
}

std::string text_at(const Json& object, std::initializer_list<std::string_view> path) {
  return std::string(string_at(object, path));
}

StringMap labels_of(const Json& object) {
  StringMap labels;
  for (const auto& [key, value] : object_at(object, {"metadata", "labels"}))
    labels.emplace(key, std::string_view(value.as_string()));
  return labels;
}

bool keeps_living(const Json& object) {
  return !array_at(object, {"metadata", "finalizers"}).empty() ||
         int_at(object, {"metadata", "deletionGracePeriodSeconds"}) > 0;
}

}  // namespace

Task<Result<Response>> MemoryApi::call(Request request) {
  requests.push_back(request);
  const Duration way = latency(request);
  const MemoryFault wrong = fault ? fault(request) : MemoryFault{};
  co_await sleep(loop_, way / 2);
  if (wrong.before) {
    if (wrong.commits_after)
      loop_.after(*wrong.commits_after, [this, request] { (void)perform(request); });
    co_return std::unexpected(*wrong.before);
  }
  auto done = perform(request);
  co_await sleep(loop_, way - way / 2);
  if (wrong.after) co_return std::unexpected(*wrong.after);
  if (!done) co_return std::unexpected(done.error());
  co_return Response{.body = std::move(*done)};
}

Task<Result<RawResponse>> MemoryApi::raw(RawRequest request) {
  co_return refuse(ErrorCode::NotFound, "nothing is at " + request.path);
}

Result<Json> MemoryApi::perform(const Request& request) {
  switch (request.verb) {
    case Verb::Get: {
      const Json* found = object(request.resource, {request.namespace_, request.name});
      if (!found) return refuse(ErrorCode::NotFound, request.name + " not found");
      return *found;
    }
    case Verb::List:
      return list(request);
    case Verb::Create:
      return create(request);
    case Verb::Update:
    case Verb::Patch:
      return update(request);
    case Verb::Delete:
      return remove(request);
    case Verb::DeleteCollection:
      return remove_collection(request);
  }
  std::unreachable();
}

Result<Json> MemoryApi::list(const Request& request) {
  std::deque<Json> items;
  std::string revision = std::to_string(revision_);
  if (!request.continue_.empty()) {
    auto page = pages_.extract(request.continue_);
    if (page.empty()) return refuse(ErrorCode::Expired, "the continue token has expired");
    revision = page.mapped().first;
    items = std::move(page.mapped().second);
  } else {
    const auto selector = LabelSelector::parse(request.label_selector);
    for (const auto& [key, item] : objects_[request.resource.plural])
      if ((request.namespace_.empty() || key.namespace_ == request.namespace_) &&
          selector->matches(labels_of(item)))
        items.push_back(item);
  }
  JsonArray page;
  while (!items.empty() &&
         (request.limit == 0 || page.size() < static_cast<std::size_t>(request.limit))) {
    page.push_back(std::move(items.front()));
    items.pop_front();
  }
  JsonObject meta = {{"resourceVersion", std::string_view(revision)}};
  if (!items.empty()) {
    const auto token = fmt::format("{}-{}", revision, random_.next());
    meta["continue"] = std::string_view(token);
    pages_[token] = {revision, std::move(items)};
  }
  return JsonObject{{"kind", std::string_view(request.resource.kind + "List")},
                    {"metadata", std::move(meta)},
                    {"items", std::move(page)}};
}

Result<Json> MemoryApi::create(const Request& request) {
  Json object = request.body;
  std::string name = text_at(object, {"metadata", "name"});
  if (name.empty()) name = text_at(object, {"metadata", "generateName"}) + random_suffix(random_);
  const ObjectKey key{request.namespace_, name};
  if (this->object(request.resource, key))
    return refuse(ErrorCode::AlreadyExists, name + " already exists");
  auto& meta = ensure(object, {"metadata"}).as_object();
  meta["name"] = std::string_view(name);
  if (!key.namespace_.empty()) meta["namespace"] = std::string_view(key.namespace_);
  meta["uid"] = std::string_view(random_uuid(random_));
  meta["creationTimestamp"] = std::string_view(format_rfc3339(loop_.now()));
  meta["generation"] = 1;
  object.as_object()["kind"] = std::string_view(request.resource.kind);
  return commit(request.resource, key, nullptr, std::move(object));
}

Result<Json> MemoryApi::update(const Request& request) {
  const ObjectKey key{request.namespace_, request.name};
  const Json* held = object(request.resource, key);
  if (!held) return refuse(ErrorCode::NotFound, request.name + " not found");
  Json wanted = request.body;
  if (request.verb == Verb::Patch) {
    wanted = *held;
    if (request.patch_type == PatchType::Json) {
      if (auto patched = json_patch(wanted, request.body); !patched)
        return std::unexpected(patched.error());
    } else {
      merge_patch(wanted, request.body);
    }
  }
  for (const auto* field : {"uid", "resourceVersion"}) {
    const auto asked = text_at(wanted, {"metadata", field});
    if (!asked.empty() && asked != text_at(*held, {"metadata", field}))
      return refuse(ErrorCode::Conflict, fmt::format("{} {} is not the newest", field, asked));
  }
  Json next = *held;
  if (request.subresource == "status") {
    next.as_object()["status"] = find(wanted, {"status"}) ? *find(wanted, {"status"}) : Json();
  } else {
    const Json* status = find(*held, {"status"});
    next = wanted;
    next.as_object().erase("status");
    if (status) next.as_object()["status"] = *status;
    next.as_object()["kind"] = std::string_view(request.resource.kind);
    auto& meta = next.at("metadata").as_object();
    for (const auto* kept : {"uid", "creationTimestamp", "generation", "deletionTimestamp",
                             "deletionGracePeriodSeconds", "resourceVersion", "namespace"})
      if (const Json* value = find(*held, {"metadata", kept})) meta[kept] = *value;
    Json before = *held, after = next;
    before.as_object().erase("metadata"), after.as_object().erase("metadata");
    if (before != after) meta["generation"] = int_at(*held, {"metadata", "generation"}) + 1;
  }
  if (next == *held) return next;  // nothing changes: no revision
  if (find(next, {"metadata", "deletionTimestamp"}) && !keeps_living(next)) {
    commit(request.resource, key, *held, nullptr);
    return next;
  }
  return commit(request.resource, key, *held, std::move(next));
}

Result<Json> MemoryApi::remove(const Request& request) {
  const ObjectKey key{request.namespace_, request.name};
  const Json* held = object(request.resource, key);
  if (!held) return refuse(ErrorCode::NotFound, request.name + " not found");
  const auto uid = text_at(*held, {"metadata", "uid"});
  if (!request.precondition_uid.empty() && request.precondition_uid != uid)
    return refuse(ErrorCode::Conflict, "the uid in the precondition is not the object's");
  Json next = *held;
  auto& meta = next.at("metadata").as_object();
  if (!meta.contains("deletionTimestamp")) {
    meta["deletionTimestamp"] = std::string_view(format_rfc3339(loop_.now()));
    // A Pod on a node lives on until its kubelet says otherwise.
    const bool graceful = request.resource == kPods && find(next, {"spec", "nodeName"});
    meta["deletionGracePeriodSeconds"] = graceful ? request.grace_period_seconds.value_or(30) : 0;
  } else if (request.grace_period_seconds == 0) {
    meta["deletionGracePeriodSeconds"] = 0;
  }
  if (keeps_living(next))
    return next == *held ? next : commit(request.resource, key, *held, std::move(next));
  const Json last = *held;
  commit(request.resource, key, last, nullptr);
  if (request.resource == kPods) return last;
  return JsonObject{{"kind", "Status"},
                    {"status", "Success"},
                    {"details", JsonObject{{"uid", std::string_view(uid)}}}};
}

Result<Json> MemoryApi::remove_collection(const Request& request) {
  Request all = request;
  all.limit = 0;
  auto listed = list(all);
  for (const auto& item : array_at(*listed, {"items"})) {
    Request one = request;
    one.name = text_at(item, {"metadata", "name"});
    one.namespace_ = text_at(item, {"metadata", "namespace"});
    (void)remove(one);
  }
  return listed;
}

Json MemoryApi::commit(const Resource& resource, const ObjectKey& key, Json before, Json after) {
  ++revision_;
  const std::string revision = std::to_string(revision_);
  auto& collection = objects_[resource.plural];
  if (after.is_null()) {
    collection.erase(key);
    ended.insert(key.name);
  } else {
    ensure(after, {"metadata", "resourceVersion"}) = std::string_view(revision);
    collection[key] = after;
  }
  history_.push_back({revision_, resource, std::move(before), after});
  for (const auto& watcher : std::vector(watchers_)) deliver(watcher, history_.back());
  return after;
}

void MemoryApi::deliver(const std::shared_ptr<Watcher>& watcher, const Change& change) {
  if (change.revision <= watcher->from || change.resource != watcher->request.resource) return;
  const auto in_scope = [&](const Json& object) {
    return !object.is_null() &&
           (watcher->request.namespace_.empty() ||
            key_of(object).namespace_ == watcher->request.namespace_) &&
           watcher->selector.matches(labels_of(object));
  };
  const bool was = in_scope(change.before), is = in_scope(change.after);
  if (!was && !is) return;
  WatchEvent event{.type = !was ? WatchEventType::Added
                           : is ? WatchEventType::Modified
                                : WatchEventType::Deleted,
                   .object = is ? change.after : change.before};
  ensure(event.object, {"metadata", "resourceVersion"}) =
      std::string_view(std::to_string(change.revision));
  send(watcher, std::move(event));
}

void MemoryApi::send(const std::shared_ptr<Watcher>& watcher, WatchEvent event) {
  watcher->last = std::max(watcher->last, loop_.now() + watch_delay(event));
  loop_.after(watcher->last - loop_.now(),
              [weak = std::weak_ptr(watcher), event = std::move(event)]() mutable {
                const auto alive = weak.lock();
                if (alive && !alive->done.is_set()) alive->sink(std::move(event));
              });
}

Task<Result<void>> MemoryApi::watch(WatchRequest request, WatchSink sink, std::stop_token stop) {
  std::uint64_t from = 0;
  if (!request.resource_version.empty()) from = std::stoull(request.resource_version);
  co_await sleep(loop_, std::chrono::milliseconds{1});
  if (from < compacted_) co_return refuse(ErrorCode::Expired, "too old resource version");
  auto selector = LabelSelector::parse(request.label_selector);
  auto watcher = std::make_shared<Watcher>(
      Watcher{request, std::move(sink), *selector, from, OneShot<bool>(loop_)});
  watchers_.push_back(watcher);
  for (const auto& change : history_) deliver(watcher, change);
  std::stop_callback on_stop(stop, [watcher] { watcher->done.set(true); });
  const auto timer = loop_.after(request.timeout, [watcher] { watcher->done.set(true); });
  co_await watcher->done;
  loop_.cancel(timer);
  std::erase(watchers_, watcher);
  co_return watcher->how;
}

Json MemoryApi::apply_now(Request request) {
  auto done = perform(request);
  if (!done) ADD_FAILURE() << done.error().message;
  MANTA_CHECK(done.has_value());
  return std::move(*done);
}

Json MemoryApi::create_now(const Resource& resource, Json object) {
  const auto namespace_ = key_of(object).namespace_;
  return apply_now({.verb = Verb::Create,
                    .resource = resource,
                    .namespace_ = namespace_,
                    .body = std::move(object)});
}

Json MemoryApi::merge_now(const Resource& resource, const ObjectKey& key, Json patch,
                          std::string subresource) {
  return apply_now({.verb = Verb::Patch,
                    .resource = resource,
                    .namespace_ = key.namespace_,
                    .name = key.name,
                    .subresource = std::move(subresource),
                    .body = std::move(patch)});
}

void MemoryApi::delete_now(const Resource& resource, const ObjectKey& key) {
  apply_now(
      {.verb = Verb::Delete, .resource = resource, .namespace_ = key.namespace_, .name = key.name});
}

void MemoryApi::purge_now(const Resource& resource, const ObjectKey& key) {
  const Json* held = object(resource, key);
  MANTA_CHECK(held);
  commit(resource, key, Json(*held), nullptr);
}

std::vector<Json> MemoryApi::objects(const Resource& resource) const {
  std::vector<Json> all;
  if (const auto found = objects_.find(resource.plural); found != objects_.end())
    for (const auto& [key, object] : found->second) all.push_back(object);
  return all;
}

const Json* MemoryApi::object(const Resource& resource, const ObjectKey& key) const {
  const auto collection = objects_.find(resource.plural);
  if (collection == objects_.end()) return nullptr;
  const auto found = collection->second.find(key);
  return found == collection->second.end() ? nullptr : &found->second;
}

void MemoryApi::end_watches(Result<void> how) {
  for (const auto& watcher : watchers_) {
    watcher->how = how;
    watcher->done.set(true);
  }
}

void MemoryApi::compact() {
  compacted_ = revision_;
  history_.clear();
  pages_.clear();
}

void MemoryApi::send_bookmarks() {
  for (const auto& watcher : watchers_) {
    Json bookmark = JsonObject{};
    ensure(bookmark, {"metadata", "resourceVersion"}) = std::string_view(std::to_string(revision_));
    send(watcher, {WatchEventType::Bookmark, std::move(bookmark)});
  }
}

std::size_t MemoryApi::count(Verb verb, const Resource& resource) const {
  std::size_t n = 0;
  for (const auto& request : requests) n += request.verb == verb && request.resource == resource;
  return n;
}

TEST(MemoryApi, KeepsRevisionsAndFinalizersAsKubernetesDoes) {
  VirtualLoop loop;
  SeededRandom random(1);
  MemoryApi api(loop, random);
  api.create_now(kPods, *parse_json(R"({"metadata": {"name": "a", "namespace": "n",
      "finalizers": ["x/y"]}, "spec": {"x": 1}})"));
  const ObjectKey key{"n", "a"};
  api.delete_now(kPods, key);
  ASSERT_NE(api.object(kPods, key), nullptr);
  EXPECT_FALSE(string_at(*api.object(kPods, key), {"metadata", "deletionTimestamp"}).empty());
  auto stale = loop.run(api.patch(kPods, key, PatchType::Merge,
                                  *parse_json(R"({"metadata": {"resourceVersion": "1"}})")));
  EXPECT_EQ(stale.error().code, ErrorCode::Conflict);
  api.merge_now(kPods, key, *parse_json(R"({"metadata": {"finalizers": null}})"));
  EXPECT_EQ(api.object(kPods, key), nullptr);
}

}  // namespace manta::kube
