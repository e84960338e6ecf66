#include "kube/leader_election.h"

#include "base/async.h"
#include "base/log.h"

#include <fmt/format.h>

namespace manta::kube {
namespace {

// Followers look a little sooner than they must, each at its own pace.
constexpr double kSooner = 0.25;

Duration seconds_of(const Json& lease, Duration fallback) {
  const auto seconds = int_at(lease, {"spec", "leaseDurationSeconds"});
  return seconds > 0 ? Duration{std::chrono::seconds{seconds}} : fallback;
}

}  // namespace

LeaderElection::LeaderElection(Loop& loop, Api& api, Random& random, LeaseOptions options)
    : loop_(loop), api_(api), random_(random), options_(std::move(options)) {
  MANTA_CHECK(!options_.identity.empty() && options_.renew_deadline < options_.duration &&
              options_.retry_period < options_.renew_deadline);
}

LeaderElection::~LeaderElection() {
  loop_.cancel(expiry_);
  loop_.cancel(deadline_);
}

Task<void> LeaderElection::run(std::stop_token stop) {
  if (!co_await acquire(stop)) co_return;
  log::info("became the leader",
            {{"lease", options_.lease.to_string()}, {"identity", options_.identity}});
  if (on_started) on_started();
  co_await announce();
  while (!lost_ && co_await sleep(loop_, options_.retry_period, stop)) {
    if (lost_) co_return;
    co_await try_once();
  }
  // A stop ends our writes too: whoever stops us sees to that.
  loop_.cancel(std::exchange(deadline_, 0));
}

Task<bool> LeaderElection::acquire(std::stop_token stop) {
  while (!stop.stop_requested()) {
    if (co_await try_once()) co_return !lost_;
    if (!co_await wait_for_turn(stop)) break;
  }
  co_return false;
}

Task<bool> LeaderElection::wait_for_turn(std::stop_token stop) {
  const double part = static_cast<double>(random_.next() % 1000) / 1000;
  const double wait = static_cast<double>(options_.retry_period.count()) * (1 - kSooner * part);
  OneShot<bool> over(loop_);
  const auto timer =
      loop_.after(Duration{static_cast<Duration::rep>(wait)}, [over] { over.set(true); });
  wake_ = [over] { over.set(true); };
  std::stop_callback on_stop(stop, [over] { over.set(false); });
  const bool go_on = co_await over;
  wake_ = {};
  loop_.cancel(timer);
  co_return go_on;
}

Task<bool> LeaderElection::try_once() {
  auto got = co_await api_.call({.verb = Verb::Get,
                                 .resource = kLeases,
                                 .namespace_ = options_.lease.namespace_,
                                 .name = options_.lease.name,
                                 .timeout = options_.retry_period});
  if (!got) {
    if (got.error().code == ErrorCode::NotFound) co_return co_await write(std::nullopt);
    log::error("cannot read the leader election Lease",
               {{"lease", options_.lease.to_string()}, {"error", got.error().message}});
    co_return false;
  }
  observe(got->body);
  const bool free = holder_.empty() || holder_ == options_.identity || expired_;
  co_return free&& co_await write(std::move(got->body));
}

Task<bool> LeaderElection::write(std::optional<Json> held) {
  const Time sent = loop_.now();
  const std::string now = format_rfc3339_micro(sent);
  Json lease = held ? *held : JsonObject{{"apiVersion", kLeases.api_version()}, {"kind", "Lease"}};
  ensure(lease, {"metadata", "name"}) = std::string_view(options_.lease.name);
  ensure(lease, {"metadata", "namespace"}) = std::string_view(options_.lease.namespace_);
  const bool renewal = holder_ == options_.identity && held;
  auto& spec = ensure(lease, {"spec"});
  if (!spec.is_object()) spec = JsonObject{};
  auto& fields = spec.as_object();
  const auto transitions = int_at(lease, {"spec", "leaseTransitions"});
  fields["holderIdentity"] = std::string_view(options_.identity);
  fields["leaseDurationSeconds"] =
      std::chrono::duration_cast<std::chrono::seconds>(options_.duration).count();
  fields["renewTime"] = std::string_view(now);
  // The field has 32 bits, and a count that is full must keep nobody from leading.
  fields["leaseTransitions"] =
      held && !renewal ? std::min<std::int64_t>(transitions + 1, INT32_MAX) : transitions;
  if (!renewal || !fields.contains("acquireTime")) fields["acquireTime"] = std::string_view(now);

  // Steady: the deadline counts from before the request, whatever happens to the wall clock.
  bool late = false;
  const auto limit = loop_.after(options_.renew_deadline, [&late] { late = true; });
  auto answer = co_await api_.call({.verb = held ? Verb::Update : Verb::Create,
                                    .resource = kLeases,
                                    .namespace_ = options_.lease.namespace_,
                                    .name = held ? options_.lease.name : std::string(),
                                    .body = std::move(lease),
                                    .timeout = options_.renew_deadline / 2});
  loop_.cancel(limit);
  if (!answer) {
    // Another was faster.
    const bool lost_race = answer.error().code == ErrorCode::Conflict ||
                           answer.error().code == ErrorCode::AlreadyExists;
    (lost_race ? &log::info : &log::error)(
        "cannot write the leader election Lease",
        {{"lease", options_.lease.to_string()}, {"error", answer.error().message}});
    co_return false;
  }
  observe(answer->body);
  // A grant that was so long on its way may have been taken over already.
  if (late || lost_) co_return false;
  renewed(sent);
  co_return true;
}

void LeaderElection::renewed(Time sent) {
  leading_ = true;
  valid_until_ = sent + options_.renew_deadline;
  loop_.cancel(deadline_);
  const Duration spent = std::max(Duration{0}, loop_.now() - sent);
  deadline_ = loop_.after(options_.renew_deadline - spent, [this] {
    deadline_ = 0;
    leading_ = false;
    lost_ = true;
    log::error("leader election lost",
               {{"lease", options_.lease.to_string()}, {"leader", holder_}});
    if (on_lost) on_lost();
  });
}

void LeaderElection::observe(const Json& lease) {
  lease_ = lease;
  const std::string spec = canonical_json(object_at(lease, {"spec"}));
  if (spec == seen_) return;
  seen_ = spec;
  holder_ = string_at(lease, {"spec", "holderIdentity"});
  expired_ = false;
  loop_.cancel(expiry_);
  expiry_ = loop_.after(seconds_of(lease, options_.duration), [this] {
    expiry_ = 0;
    expired_ = true;
    if (wake_) wake_();
  });
}

// Best effort, and in the core API, where client-go's users look for it.
Task<void> LeaderElection::announce() {
  const std::string now = format_rfc3339(loop_.now());
  const std::string name = fmt::format("{}.{:016x}", options_.lease.name, random_.next());
  const std::string message = options_.identity + " became leader";
  JsonObject about = {{"kind", "Lease"}, {"apiVersion", std::string_view(kLeases.api_version())}};
  about["namespace"] = std::string_view(options_.lease.namespace_);
  about["name"] = std::string_view(options_.lease.name);
  about["uid"] = string_at(lease_, {"metadata", "uid"});
  about["resourceVersion"] = string_at(lease_, {"metadata", "resourceVersion"});
  Json event = JsonObject{
      {"apiVersion", "v1"},
      {"kind", "Event"},
      {"metadata", JsonObject{{"name", std::string_view(name)},
                              {"namespace", std::string_view(options_.lease.namespace_)}}},
      {"involvedObject", std::move(about)},
      {"reason", "LeaderElection"},
      {"message", std::string_view(message)},
      {"source", JsonObject{{"component", std::string_view(options_.identity)}}},
      {"firstTimestamp", std::string_view(now)},
      {"lastTimestamp", std::string_view(now)},
      {"count", 1},
      {"type", "Normal"}};
  auto made = co_await api_.call({.verb = Verb::Create,
                                  .resource = kCoreEvents,
                                  .namespace_ = options_.lease.namespace_,
                                  .body = std::move(event),
                                  .timeout = options_.retry_period});
  if (!made) log::debug("cannot record the leader election", {{"error", made.error().message}});
}

Task<Result<Response>> FencedApi::call(Request request) {
  const bool reads = request.verb == Verb::Get || request.verb == Verb::List;
  if (!reads && !may_write_()) co_return failed(ErrorCode::Unavailable, "not the leader any more");
  co_return co_await api_.call(std::move(request));
}

Task<Result<RawResponse>> FencedApi::raw(RawRequest request) {
  const bool reads = request.method == "GET" || request.method == "HEAD";
  if (!reads && !may_write_()) co_return failed(ErrorCode::Unavailable, "not the leader any more");
  co_return co_await api_.raw(std::move(request));
}

}  // namespace manta::kube
