#include "kube/runtime.h"

#include "base/log.h"
#include "kube/runtime_impl.h"

namespace manta::kube {

std::function<std::vector<ObjectKey>(const ObjectMeta&)> owner_of_kind(Resource owner) {
  return [owner = std::move(owner)](const ObjectMeta& meta) -> std::vector<ObjectKey> {
    const OwnerRef* controller = meta.controller_owner();
    if (!controller || controller->kind != owner.kind) return {};
    const std::string_view version = controller->apiVersion;
    const auto slash = version.find('/');
    const auto group = slash == std::string_view::npos ? "" : version.substr(0, slash);
    if (group != owner.group) return {};
    return {{owner.namespaced ? meta.key.namespace_ : std::string(), controller->name}};
  };
}

std::vector<ObjectKey> itself(const ObjectMeta& meta) { return {meta.key}; }

Runtime::Impl::Impl(Loop& l, Api& api, const CacheSet& c, Outside& outside, EventRecorder& e,
                    Random& r, RuntimeOptions options, RuntimeObserver* o)
    : loop(l),
      caches(c),
      events(e),
      random(r),
      observer(o),
      gate(l, options.writes_in_flight, options.writes_in_flight_per_object),
      outside_gate(l, options.outside_in_flight, options.writes_in_flight_per_object),
      writer(l, api, c, outside, r, options.field_manager, stopping.get_token()),
      scope(l),
      poller(l, outside, r, scope) {}

Runtime::Impl::~Impl() {
  MANTA_CHECK(scope.running() == 0);  // run() was not awaited to its end
  quieten();
}

void Runtime::Impl::quieten() {
  for (const auto& controller : controllers)
    for (const auto& [key, object] : controller->objects) {
      loop.cancel(std::exchange(object->wake, 0));
      poller.want(object->facts, {});
    }
}

void Runtime::Impl::add(ControllerSpec spec) {
  MANTA_CHECK(!active && spec.plan);
  if (spec.logger.empty()) spec.logger = "controllers." + spec.primary.kind;
  if (spec.reporting_controller.empty()) spec.reporting_controller = spec.name + "-controller";
  auto& controller = *controllers.emplace_back(std::make_unique<Controller>(std::move(spec)));
  for (const auto& watch : controller.spec.watches) {
    MANTA_CHECK(watch.cache && watch.affected);
    watch.cache->listen([this, life = std::weak_ptr(alive), &controller, &watch](
                            const ObjectMeta* before, const ObjectMeta* after) {
      if (!life.expired()) heard(controller, watch, before, after);
    });
  }
}

void Runtime::Impl::heard(Controller& controller, const ControllerSpec::Watch& watch,
                          const ObjectMeta* before, const ObjectMeta* after) {
  if (watch.frees_quota && !after) retry_refused(controller, before->key.namespace_);
  if (watch.matters && !watch.matters(before, after)) return;
  for (const auto& key : watch.affected(after ? *after : *before)) trigger(controller, key);
  const bool moved =
      before && after && (before->owners != after->owners || before->labels != after->labels);
  if (!moved) return;
  for (const auto& key : watch.affected(*before)) trigger(controller, key);
}

void Runtime::Impl::retry_refused(Controller& controller, const std::string& namespace_) {
  for (auto next = controller.objects.lower_bound({namespace_, {}});
       next != controller.objects.end() && next->first.namespace_ == namespace_; ++next)
    if (next->second->lanes.hurry_what_quota_refused()) {
      next->second->dirty = true;
      start(next->second);
    }
}

void Runtime::Impl::trigger(Controller& controller, const ObjectKey& key) {
  if (stopping.stop_requested()) return;
  auto& object = controller.objects[key];
  if (!object) {
    object = std::make_shared<Object>();
    object->key = key;
    object->controller = &controller;
    object->facts->changed = [this, weak = std::weak_ptr(object)] {
      if (const auto changed = weak.lock()) {
        changed->dirty = true;
        start(changed);
      }
    };
  }
  object->dirty = true;
  start(object);
}

// Each object starts in a turn of the loop of its own: many of them do not hold up I/O.
void Runtime::Impl::start(const ObjectPtr& object) {
  if (!active || object->queued || object->working) return;
  if (object->rest_until > loop.steady()) {
    wake_at(object, object->rest_until);
    return;
  }
  object->queued = true;
  ++queued;
  if (observer) observer->queued(object->controller->spec.name, object->key);
  loop.post([this, life = std::weak_ptr(alive), object] {
    if (life.expired()) return;
    object->queued = false;
    --queued;
    if (!active) return;
    object->working = true;
    ++working;
    scope.spawn("plan", work(object));
  });
}

void Runtime::Impl::wake_at(const ObjectPtr& object, std::optional<Steady> at) {
  loop.cancel(std::exchange(object->wake, 0));
  if (!at || !active) return;
  object->wake = loop.after(*at - loop.steady(),
                            [this, life = std::weak_ptr(alive), weak = std::weak_ptr(object)] {
                              const auto woken = weak.lock();
                              if (life.expired() || !woken) return;
                              woken->wake = 0;
                              woken->dirty = true;
                              start(woken);
                            });
}

void Runtime::Impl::drop(const ObjectPtr& object) {
  wake_at(object, std::nullopt);
  poller.want(object->facts, {});
  object->controller->objects.erase(object->key);
}

void Runtime::Impl::trigger_all() {
  for (const auto& controller : controllers) {
    for (const auto* cache : caches.all())
      if (cache->resource() == controller->spec.primary)
        for (const auto& key : cache->keys()) trigger(*controller, key);
    for (const auto& [key, object] : controller->objects) start(object);
  }
}

Task<bool> Runtime::Impl::wait_for_caches(OneShot<bool> over) {
  auto awaited = caches.all();
  std::erase_if(awaited, [](const auto* cache) { return cache->scope().on_demand; });
  when_all_synced(awaited, [over] { over.set(true); });
  co_return co_await over;
}

Task<void> Runtime::Impl::run(std::stop_token stop) {
  MANTA_CHECK(!stopping.stop_requested());
  OneShot<bool> synced(loop);
  OneShot<bool> stopped(loop);
  std::stop_callback on_stop(stop, [this, synced, stopped] {
    active = false;
    poller.stop();
    stopping.request_stop();
    scope.request_stop();
    synced.set(false);
    stopped.set(true);
  });
  if (co_await wait_for_caches(synced) && !stop.stop_requested()) {
    active = true;
    if (observer)
      for (const auto& controller : controllers) observer->started(controller->spec.name);
    trigger_all();
  }
  co_await stopped;
  co_await scope.join();
  quieten();
}

Runtime::Runtime(Loop& loop, Api& api, const CacheSet& caches, Outside& outside,
                 EventRecorder& events, Random& random, RuntimeOptions options,
                 RuntimeObserver* observer)
    : impl_(std::make_unique<Impl>(loop, api, caches, outside, events, random, std::move(options),
                                   observer)) {}

Runtime::~Runtime() = default;

void Runtime::add(ControllerSpec controller) { impl_->add(std::move(controller)); }

void Runtime::trigger(std::string_view controller, const ObjectKey& key) {
  for (const auto& known : impl_->controllers)
    if (known->spec.name == controller) return impl_->trigger(*known, key);
  MANTA_CHECK(!"trigger() names a controller that was added");
}

Task<void> Runtime::run(std::stop_token stop) { return impl_->run(std::move(stop)); }

bool Runtime::idle() const {
  if (impl_->stopping.stop_requested()) return impl_->scope.running() == 0;
  return impl_->active && impl_->queued == 0 && impl_->working == 0;
}

}  // namespace manta::kube
