#include "kube/events.h"

#include "base/excerpt.h"
#include "base/log.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <unordered_map>
#include <utility>

namespace manta::kube {
namespace {

constexpr std::size_t kQueued = 4096;
constexpr std::size_t kSeriesKept = 4096;
// So many different warnings of one reason about one object are told; further ones, which say it in
// other words or of other Pods, count as repetitions. As many as client-go lets through at once.
constexpr int kWarningsTold = 25;
constexpr int kInFlight = 8;
constexpr Duration kSeriesEnds = std::chrono::minutes{6};
// How long the news of a creation wait for others like it, to be one write: the Pods of one pass.
constexpr Duration kGathered = std::chrono::milliseconds{500};
// A series is written at its first repetition, then as often as this.
constexpr Duration kSeriesWritten = std::chrono::seconds{30};
constexpr Duration kFirstRetry = std::chrono::seconds{1};
constexpr Duration kLongestRetry = std::chrono::seconds{30};
constexpr int kTries = 8;
constexpr Duration kFarewell = std::chrono::seconds{2};
// Limits of events.k8s.io/v1. Source: Kubernetes API validation of Event.
constexpr std::size_t kLongestNote = 1024;
constexpr std::size_t kLongestWord = 128;
constexpr std::size_t kLongestName = 253;

/// At most `limit` bytes, whole UTF-8 characters.
std::string cut(std::string text, std::size_t limit) {
  if (text.size() <= limit) return text;
  while (limit > 0 && (static_cast<unsigned char>(text[limit]) & 0xC0) == 0x80) --limit;
  text.resize(limit);
  return text;
}

bool is_worth_retrying(const Error& error) {
  switch (error.code) {
    case ErrorCode::Internal:
    case ErrorCode::Timeout:
    case ErrorCode::Unavailable:
    case ErrorCode::TooManyRequests:
    case ErrorCode::Unauthorized:
      return true;  // a token that is being renewed
    default:
      return false;  // no such namespace, one that goes, no permission: never better
  }
}

/// One event and its repetitions.
struct Series {
  std::string identity = {};
  std::string controller = {};
  ObjectRef regarding = {};
  EventNote note = {};
  ObjectKey key = {};  // the Event's own
  Time first = {};
  Time last = {};
  Steady began = {};  // as `first` and `last`, for what waits
  Steady heard = {};
  int count = 1;

  bool created = false;
  bool dirty = true;    // something to write
  bool queued = false;  // waits for others like it or for a request, or is in one
  Steady next_write = {};
};
using SeriesPtr = std::shared_ptr<Series>;

/// The different warnings of one reason about one object.
struct Told {
  SeriesPtr newest = {};
  int notes = 0;
  Steady began = {};
};

Json repetitions_of(const Series& series) {
  const std::string time = format_rfc3339_micro(series.last);
  return JsonObject{{"count", series.count}, {"lastObservedTime", std::string_view(time)}};
}

Json body_of(const Series& series, const std::string& instance) {
  const Resource& resource = series.regarding.resource;
  JsonObject regarding = {{"kind", std::string_view(resource.kind)},
                          {"name", std::string_view(series.regarding.key.name)},
                          {"apiVersion", std::string_view(resource.api_version())}};
  const auto put = [&regarding](std::string_view field, const std::string& value) {
    if (!value.empty()) regarding[field] = std::string_view(value);
  };
  put("namespace", series.regarding.key.namespace_);
  put("uid", series.regarding.uid);
  put("resourceVersion", series.regarding.resource_version);
  const bool warning = series.note.type == EventType::Warning;
  const std::string time = format_rfc3339_micro(series.first);
  JsonObject body = {
      {"apiVersion", "events.k8s.io/v1"},
      {"kind", "Event"},
      {"metadata", JsonObject{{"name", std::string_view(series.key.name)},
                              {"namespace", std::string_view(series.key.namespace_)}}},
      {"eventTime", std::string_view(time)},
      {"reportingController", std::string_view(series.controller)},
      {"reportingInstance", std::string_view(instance)},
      {"action", std::string_view(series.note.action)},
      {"reason", std::string_view(series.note.reason)},
      {"regarding", std::move(regarding)},
      {"note", std::string_view(series.note.note)},
      {"type", warning ? "Warning" : "Normal"}};
  if (series.count > 1) body["series"] = repetitions_of(series);
  return body;
}

/// What was created is there to be seen; of all else the note is the news.
bool tells_of_creation(const EventNote& note) {
  return note.type == EventType::Normal && note.action == "Create";
}

/// What all events of one reason about one object have in common.
std::string subject_of(std::string_view controller, const ObjectRef& regarding,
                       const EventNote& note) {
  return fmt::format("{}\n{}\n{}\n{}\n{}\n{}\n{}", controller, static_cast<int>(note.type),
                     note.reason, note.action, regarding.resource.plural, regarding.key.to_string(),
                     regarding.uid);
}

}  // namespace

struct EventRecorder::Impl {
  Impl(Loop& l, Api& a, Random& r, std::string c, std::string i)
      : loop(l),
        api(a),
        random(r),
        controller(std::move(c)),
        instance(cut(i, kLongestWord)),
        scope(l) {}
  ~Impl() { loop.cancel(gathering); }

  void record(std::string_view from, const ObjectRef& regarding, EventNote note);
  SeriesPtr series_of(const std::string& subject, const std::string& identity);
  SeriesPtr begin(std::string identity, std::string from, const ObjectRef& regarding,
                  EventNote note);
  void enqueue(const SeriesPtr& series);
  void gather(const SeriesPtr& series);
  void enqueue_gathered(Steady until);
  void pump();
  Task<void> write(SeriesPtr series);
  Task<Result<void>> send(SeriesPtr series);
  void sweep(bool all);
  Task<void> run(std::stop_token stop);

  Loop& loop;
  Api& api;
  Random& random;
  std::string controller;
  std::string instance;
  Scope scope;
  bool running = false;
  int in_flight = 0;
  std::deque<SeriesPtr> gathered = {};  // of creations, not written yet, by time
  Loop::TimerId gathering = 0;
  std::deque<SeriesPtr> queue = {};
  std::int64_t dropped = 0;  // since the queue was last empty
  std::unordered_map<std::string, SeriesPtr> known = {};
  std::unordered_map<std::string, Told> warnings = {};  // by subject
};

void EventRecorder::Impl::record(std::string_view from, const ObjectRef& regarding,
                                 EventNote note) {
  if (note.action.empty()) note.action = note.reason;
  note.note = excerpt(note.note, kLongestNote);
  note.reason = cut(std::move(note.reason), kLongestWord);
  note.action = cut(std::move(note.action), kLongestWord);
  const std::string who(from.empty() ? std::string_view(controller) : from);
  const std::string subject = subject_of(who, regarding, note);
  std::string identity =
      subject + "\n" + (tells_of_creation(note) ? regarding.resource_version : note.note);
  const auto series = series_of(subject, identity);
  if (!series) {
    const bool warning = note.type == EventType::Warning;
    const auto first = begin(std::move(identity), who, regarding, std::move(note));
    if (warning) {
      Told& told = warnings.try_emplace(subject, Told{.began = first->began}).first->second;
      ++told.notes;
      told.newest = first;
    }
    return gather(first);
  }
  ++series->count;
  series->last = loop.now();
  series->heard = loop.steady();
  series->dirty = true;
  if (series->heard >= series->next_write) enqueue(series);
}

/// The one that this is a repetition of, or null.
SeriesPtr EventRecorder::Impl::series_of(const std::string& subject, const std::string& identity) {
  const auto found = known.find(identity);
  if (found != known.end() && loop.steady() - found->second->heard <= kSeriesEnds)
    return found->second;
  const auto told = warnings.find(subject);
  if (told == warnings.end()) return nullptr;
  if (loop.steady() - told->second.began > kSeriesEnds) {
    warnings.erase(told);
    return nullptr;
  }
  return told->second.notes >= kWarningsTold ? told->second.newest : nullptr;
}

SeriesPtr EventRecorder::Impl::begin(std::string identity, std::string from,
                                     const ObjectRef& regarding, EventNote note) {
  auto series = std::make_shared<Series>();
  series->identity = identity;
  series->controller = std::move(from);
  series->regarding = regarding;
  series->note = std::move(note);
  series->first = series->last = loop.now();
  series->began = series->heard = loop.steady();
  const auto suffix = fmt::format(".{:016x}", random.next());
  std::string base = regarding.key.name.substr(0, kLongestName - suffix.size());
  while (!base.empty() && (base.back() == '.' || base.back() == '-')) base.pop_back();
  series->key = {regarding.key.namespace_.empty() ? "default" : regarding.key.namespace_,
                 base + suffix};
  if (std::max(known.size(), warnings.size()) >= kSeriesKept) sweep(true);
  known[std::move(identity)] = series;
  return series;
}

void EventRecorder::Impl::enqueue(const SeriesPtr& series) {
  if (series->queued) return;
  series->queued = true;
  queue.push_back(series);
  if (queue.size() > kQueued) {
    if (dropped++ == 0)
      log::error("too many events wait to be written, dropping the oldest",
                 {{"object", queue.front()->regarding.key.to_string()},
                  {"reason", queue.front()->note.reason}});
    known.erase(queue.front()->identity);
    queue.pop_front();
  }
  pump();
}

void EventRecorder::Impl::gather(const SeriesPtr& series) {
  if (!tells_of_creation(series->note)) return enqueue(series);
  series->queued = true;
  gathered.push_back(series);
  enqueue_gathered(gathered.size() > kQueued ? gathered.front()->began : loop.steady() - kGathered);
}

void EventRecorder::Impl::enqueue_gathered(Steady until) {
  while (!gathered.empty() && gathered.front()->began <= until) {
    auto series = std::move(gathered.front());
    gathered.pop_front();
    series->queued = false;
    enqueue(series);
  }
  loop.cancel(std::exchange(gathering, 0));
  if (gathered.empty()) return;
  const Steady next = gathered.front()->began;
  gathering = loop.after(std::min(next + kGathered - loop.steady(), kGathered), [this, next] {
    enqueue_gathered(std::max(next, loop.steady() - kGathered));
  });
}

void EventRecorder::Impl::pump() {
  while (running && in_flight < kInFlight && !queue.empty()) {
    auto series = std::move(queue.front());
    queue.pop_front();
    ++in_flight;
    scope.spawn("event", write(std::move(series)));
  }
  if (queue.empty() && dropped > 0)
    log::error("events were dropped", {{"count", std::exchange(dropped, 0)}});
}

Task<void> EventRecorder::Impl::write(SeriesPtr series) {
  Duration delay = kFirstRetry;
  for (int tried = 1;; ++tried) {
    series->dirty = false;
    auto sent = co_await send(series);
    if (sent) break;
    const bool last = tried == kTries || !is_worth_retrying(sent.error());
    if (last || !co_await sleep(loop, delay, scope.stop_token())) {
      log::debug("dropped an event", {{"object", series->regarding.key.to_string()},
                                      {"reason", series->note.reason},
                                      {"error", sent.error().message}});
      // Repeated, it is a new one.
      if (const auto found = known.find(series->identity);
          found != known.end() && found->second == series)
        known.erase(found);
      series->dirty = false;
      break;
    }
    delay = std::min(delay * 2, kLongestRetry);
  }
  series->queued = false;
  --in_flight;
  if (series->dirty && loop.steady() >= series->next_write) enqueue(series);
  pump();
}

Task<Result<void>> EventRecorder::Impl::send(SeriesPtr series) {
  Request request{.verb = Verb::Create,
                  .resource = kEvents,
                  .namespace_ = series->key.namespace_,
                  .timeout = std::chrono::seconds{10}};
  const int written = series->count;
  if (series->created) {
    request.verb = Verb::Patch;
    request.name = series->key.name;
    request.body = JsonObject{{"series", repetitions_of(*series)}};
  } else {
    request.body = body_of(*series, instance);
  }
  if (written > 1) series->next_write = loop.steady() + kSeriesWritten;
  auto answer = co_await api.call(std::move(request));
  // The name is ours alone: it exists because an earlier reply was lost, and may have had less.
  const bool made_before = !answer && answer.error().code == ErrorCode::AlreadyExists;
  if (!series->created && (answer || made_before)) {
    series->created = true;
    if (made_before && written > 1) series->dirty = true;
    co_return Result<void>{};
  }
  if (!answer) co_return std::unexpected(answer.error());
  co_return Result<void>{};
}

/// Writes what series have gained, forgets those that ended; `all`: forgets every one.
void EventRecorder::Impl::sweep(bool all) {
  std::vector<SeriesPtr> dirty;  // a write that fails at once takes its series out of `known`
  for (const auto& [identity, series] : known)
    if (series->dirty) dirty.push_back(series);
  std::erase_if(known, [&](const auto& entry) {
    return all || loop.steady() - entry.second->heard > kSeriesEnds;
  });
  std::erase_if(warnings, [&](const auto& entry) {
    return all || loop.steady() - entry.second.began > kSeriesEnds;
  });
  for (const auto& series : dirty) enqueue(series);
}

Task<void> EventRecorder::Impl::run(std::stop_token stop) {
  running = true;
  pump();
  while (co_await sleep(loop, kSeriesWritten, stop)) sweep(false);
  enqueue_gathered(loop.steady());
  sweep(false);
  const auto farewell = loop.after(kFarewell, [this] {
    running = false;
    queue.clear();
    scope.request_stop();
  });
  co_await scope.join();
  loop.cancel(farewell);
  running = false;
}

EventRecorder::EventRecorder(Loop& loop, Api& api, Random& random, std::string reporting_controller,
                             std::string reporting_instance)
    : impl_(std::make_unique<Impl>(loop, api, random, std::move(reporting_controller),
                                   std::move(reporting_instance))) {}

EventRecorder::~EventRecorder() = default;

void EventRecorder::record(std::string_view reporting_controller, const ObjectRef& regarding,
                           const EventNote& note) {
  impl_->record(reporting_controller, regarding, note);
}

Task<void> EventRecorder::run(std::stop_token stop) { return impl_->run(std::move(stop)); }

}  // namespace manta::kube
