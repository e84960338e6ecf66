// Keeping a cache equal to the API server: list, watch, resume, list again.
#include "base/log.h"
#include "kube/cache.h"

#include <algorithm>
#include <charconv>

namespace manta::kube {
namespace {

constexpr Duration kFirstDelay = std::chrono::milliseconds{800};
constexpr Duration kLongestDelay = std::chrono::seconds{30};
// To ask a server that cannot be reached costs it nothing, and when it is back all wait for us.
constexpr Duration kLongestUnreachable = std::chrono::seconds{3};
// A page is parsed whole: 500 Pods would be some 20 MiB for a moment that the process keeps for
// good.
constexpr std::int64_t kPage = 100;
// A store that compacts faster than we page is listed in one piece.
constexpr int kExpiredPagings = 2;
// A server that has just started may refuse anybody until it knows the roles. To believe it at once
// is to take what is there for gone.
constexpr int kRefusalsBelieved = 3;

double fraction(Random& random) { return static_cast<double>(random.next() >> 11) * 0x1p-53; }

bool is_unreachable(const Error& error) {
  return error.code == ErrorCode::Unavailable && error.http_status == 0;
}

/// 0.8 s doubling to 30 s (3 s while nobody answers), each stretched by up to its half.
class Backoff {
 public:
  explicit Backoff(Random& random) : random_(random) {}
  void reset() { next_ = kFirstDelay; }
  Duration next(Duration longest = kLongestDelay) {
    const auto delay = std::min(next_, longest);
    next_ = std::min(next_ * 2, longest);
    const auto stretched = delay.count() * (1 + 0.5 * fraction(random_));
    return std::min(Duration{static_cast<Duration::rep>(stretched)}, longest);
  }
  Duration next(const Error& error) {
    return next(is_unreachable(error) ? kLongestUnreachable : kLongestDelay);
  }

 private:
  Random& random_;
  Duration next_ = kFirstDelay;
};

class Reflector {
 public:
  Reflector(Loop& loop, Api& api, CacheBase& cache, Random& random, std::stop_token stop)
      : loop_(loop), api_(api), cache_(cache), random_(random), backoff_(random), stop_(stop) {
    cache_.on_refresh([this] { round_.request_stop(); });
  }
  ~Reflector() { cache_.on_refresh({}); }
  Reflector(const Reflector&) = delete;
  Reflector& operator=(const Reflector&) = delete;

  Task<void> run() {
    const std::stop_callback ended(stop_, [this] { round_.request_stop(); });
    while (!stop_.stop_requested()) {
      round_ = {};
      auto listed = co_await list_all();
      if (!listed) {
        if (is_missing(listed.error())) {
          report_missing(listed.error());
          cache_.end_replace(0);  // of what is held nothing is gone
        } else {
          report("listing", listed.error());
        }
        co_await sleep(loop_, backoff_.next(listed.error()), round_.get_token());
        continue;
      }
      backoff_.reset();
      last_error_.clear();
      refusals_ = 0;
      co_await watch_on();
    }
  }

 private:
  bool is_missing(const Error& error) {
    if (!cache_.scope().may_be_missing || cache_.synced()) return false;
    if (error.code == ErrorCode::Forbidden) return ++refusals_ >= kRefusalsBelieved;
    return error.code == ErrorCode::NotFound;
  }

  /// Pages until the end; sets revision_. Expired in the middle starts over.
  Task<Result<void>> list_all() {
    int expired = 0;
    while (true) {
      auto listed = co_await list_pages(expired < kExpiredPagings ? kPage : 0);
      if (listed || listed.error().code != ErrorCode::Expired || ++expired > kExpiredPagings)
        co_return listed;
    }
  }

  Task<Result<void>> list_pages(std::int64_t limit) {
    Request request{.verb = Verb::List,
                    .resource = cache_.resource(),
                    .namespace_ = cache_.scope().namespace_,
                    .label_selector = cache_.scope().label_selector,
                    .field_selector = cache_.scope().field_selector,
                    .limit = limit};
    cache_.begin_replace();
    while (true) {
      auto page = co_await api_.call(request);
      if (round_.stop_requested()) co_return failed(ErrorCode::Cancelled, "stopped");
      if (!page) co_return std::unexpected(page.error());
      for (const auto& item : array_at(page->body, {"items"})) cache_.replace_item(item);
      revision_ = string_at(page->body, {"metadata", "resourceVersion"});
      request.continue_ = string_at(page->body, {"metadata", "continue"});
      if (request.continue_.empty()) break;
    }
    std::uint64_t revision = 0;
    std::from_chars(revision_.data(), revision_.data() + revision_.size(), revision);
    cache_.end_replace(revision);
    co_return Result<void>{};
  }

  /// Watches from revision_ on until that has expired or the round ends.
  Task<void> watch_on() {
    const auto stop = round_.get_token();
    while (!stop.stop_requested()) {
      bool heard = false;
      const Steady began = loop_.steady();
      auto ended = co_await api_.watch(
          watch_request(), [&](WatchEvent event) { heard = take(event); }, stop);
      if (stop.stop_requested()) co_return;
      if (heard) backoff_.reset();
      if (!ended && ended.error().code == ErrorCode::Expired) {
        // A server that expires what it has just listed is asked again no faster than any other.
        if (!heard) co_await sleep(loop_, backoff_.next(), stop);
        co_return;
      }
      const bool cut_short = !heard && loop_.steady() - began < std::chrono::seconds{1};
      if (!ended && !cut_short)
        log::info("a watch broke, going on",
                  {{"resource", cache_.resource().plural}, {"error", ended.error().message}});
      else if (!ended)
        report("watching", ended.error());
      if (!ended)
        co_await sleep(loop_, backoff_.next(ended.error()), stop);
      else if (cut_short)
        co_await sleep(loop_, backoff_.next(), stop);
    }
  }

  WatchRequest watch_request() {
    return {
        .resource = cache_.resource(),
        .namespace_ = cache_.scope().namespace_,
        .label_selector = cache_.scope().label_selector,
        .field_selector = cache_.scope().field_selector,
        .resource_version = revision_,
        .timeout = std::chrono::seconds{300 + static_cast<std::int64_t>(300 * fraction(random_))}};
  }

  bool take(const WatchEvent& event) {
    const auto revision = string_at(event.object, {"metadata", "resourceVersion"});
    if (!revision.empty()) revision_ = revision;
    switch (event.type) {
      case WatchEventType::Added:
      case WatchEventType::Modified:
        cache_.observe(event.object);
        break;
      case WatchEventType::Deleted: {
        std::uint64_t as_of = 0;
        std::from_chars(revision.data(), revision.data() + revision.size(), as_of);
        cache_.observe_gone(key_of(event.object), string_at(event.object, {"metadata", "uid"}),
                            as_of);
        break;
      }
      case WatchEventType::Bookmark:
        break;  // only moves revision_ on
    }
    return true;
  }

  void report_missing(const Error& error) {
    last_error_ = error.message;
    log::info("the server has no such resource or does not show it; what needs it waits",
              {{"resource", cache_.resource().plural}, {"error", error.message}});
  }

  // Told once, not at each attempt, until a list succeeds or the reason is another.
  void report(std::string_view doing, const Error& error) {
    if (error.code == ErrorCode::Cancelled) return;  // we stop
    const bool known = std::exchange(last_error_, error.message) == error.message;
    (known ? &log::debug : &log::error)(
        "cannot follow a resource, trying again",
        {{"resource", cache_.resource().plural}, {"doing", doing}, {"error", error.message}});
  }

  Loop& loop_;
  Api& api_;
  CacheBase& cache_;
  Random& random_;
  Backoff backoff_;
  std::stop_token stop_;
  std::stop_source round_ = {};  // a list and its watches: until stop, or until the cache asks anew
  std::string revision_ = {};
  std::string last_error_ = {};
  int refusals_ = 0;
};

}  // namespace

Task<void> reflect(Loop& loop, Api& api, CacheBase& cache, Random& random, std::stop_token stop) {
  Reflector reflector(loop, api, cache, random, std::move(stop));
  co_await reflector.run();
}

}  // namespace manta::kube
