#include "kube/runtime_facts.h"

#include <algorithm>
#include <utility>

namespace manta::kube {
namespace {

constexpr int kInFlight = 64;
constexpr int kInFlightPerObject = 8;
constexpr int kFailuresToOpen = 3;
constexpr Duration kLongestProbe = std::chrono::seconds{60};

/// Whether this answer speaks for a system that works, whatever it says.
bool is_alive(const Result<Json>& answer) {
  if (answer) return true;
  switch (answer.error().code) {
    case ErrorCode::Internal:
    case ErrorCode::Timeout:
    case ErrorCode::Unavailable:
    case ErrorCode::TooManyRequests:
    case ErrorCode::Cancelled:
      return false;
    default:
      return true;
  }
}

bool same_answer(const Result<Json>& left, const Result<Json>& right) {
  if (left.has_value() != right.has_value()) return false;
  return left ? *left == *right : left.error().code == right.error().code;
}

}  // namespace

struct FactCircuit {
  int failures = 0;  // in a row
  bool probing = false;
  Duration wait = {};
  Steady next_probe = {};
  Time failing_since = {};
  Time failed_at = {};
  Error error = {};

  bool is_open() const { return failures >= kFailuresToOpen; }
};

struct ObjectFacts::Poll {
  FactRequest request = {};
  std::shared_ptr<FactCircuit> circuit = {};
  Loop::TimerId timer = 0;
  bool asking = false;
  bool outdated = false;  // what is being asked was asked too early
  bool ended = false;
};

FactPoller::FactPoller(Loop& loop, Outside& outside, Random& random, Scope& scope)
    : loop_(loop),
      outside_(outside),
      random_(random),
      scope_(scope),
      gate_(loop, kInFlight, kInFlightPerObject) {}

FactPoller::~FactPoller() = default;

void FactPoller::want(const std::shared_ptr<ObjectFacts>& facts,
                      const std::vector<FactRequest>& requests) {
  std::vector<std::string> unwanted;
  for (const auto& [name, poll] : facts->polls)
    if (std::ranges::find(requests, name, &FactRequest::name) == requests.end())
      unwanted.push_back(name);
  for (const auto& name : unwanted) end(*facts, name);

  for (const auto& request : requests) {
    const auto known = facts->polls.find(request.name);
    if (known != facts->polls.end()) {
      FactRequest& current = known->second->request;
      if (current.target == request.target && current.query == request.query &&
          current.circuit == request.circuit) {
        current.interval = request.interval;
        continue;
      }
      end(*facts, request.name);
    }
    if (stopped_) continue;
    auto poll = std::make_shared<Poll>();
    poll->request = request;
    poll->circuit = circuit(request.circuit);
    facts->polls.emplace(request.name, poll);
    schedule(facts, poll, Duration{0});
  }
}

void FactPoller::refresh(const std::shared_ptr<ObjectFacts>& facts) {
  facts->values.clear();
  for (const auto& [name, poll] : facts->polls) {
    if (poll->asking) {
      poll->outdated = true;
      continue;
    }
    loop_.cancel(poll->timer);
    schedule(facts, poll, Duration{0});
  }
}

void FactPoller::end(ObjectFacts& facts, std::string_view name) {
  const auto found = facts.polls.find(name);
  found->second->ended = true;
  loop_.cancel(found->second->timer);
  facts.polls.erase(found);
  if (const auto value = facts.values.find(name); value != facts.values.end())
    facts.values.erase(value);
}

void FactPoller::schedule(const std::shared_ptr<ObjectFacts>& facts,
                          const std::shared_ptr<Poll>& poll, Duration delay) {
  poll->timer =
      loop_.after(delay, [this, facts = std::weak_ptr(facts), poll = std::weak_ptr(poll)] {
        const auto owner = facts.lock();
        const auto waiting = poll.lock();
        if (owner && waiting && !waiting->ended) due(owner, waiting);
      });
}

void FactPoller::due(const std::shared_ptr<ObjectFacts>& facts, const std::shared_ptr<Poll>& poll) {
  if (stopped_) return;
  FactCircuit& circuit = *poll->circuit;
  const Steady now = loop_.steady();
  if (circuit.is_open() && (circuit.probing || now < circuit.next_probe)) {
    // Before the timer: taking the news may end this poll.
    const auto wait = std::max(circuit.next_probe - now, poll->request.interval);
    schedule(facts, poll, std::min(wait, kLongestProbe));
    take(*facts, *poll, std::unexpected(circuit.error), circuit.failed_at);
    return;
  }
  if (circuit.is_open()) circuit.probing = true;
  poll->asking = true;
  scope_.spawn("fact", ask(facts, poll));
}

Task<void> FactPoller::ask(std::shared_ptr<ObjectFacts> facts, std::shared_ptr<Poll> poll) {
  const std::shared_ptr<FactCircuit> circuit = poll->circuit;
  const bool probe = circuit->probing;
  co_await gate_.enter(facts->queue);
  Result<Json> answer = failed(ErrorCode::Cancelled, "no longer wanted");
  const bool wanted = !poll->ended && !stopped_;
  if (wanted) answer = co_await outside_.call(poll->request.target, poll->request.query);
  gate_.leave(facts->queue);

  const Time now = loop_.now();
  if (probe) circuit->probing = false;
  if (wanted && is_alive(answer)) {
    circuit->failures = 0;
  } else if (wanted) {
    if (circuit->failures++ == 0) circuit->failing_since = now;
    circuit->error = answer.error();
    circuit->failed_at = now;
    if (circuit->is_open()) {
      circuit->wait = circuit->failures == kFailuresToOpen ? poll->request.interval * 2
                      : probe                              ? circuit->wait * 2
                                                           : circuit->wait;
      circuit->wait = std::min(circuit->wait, kLongestProbe);
      // Up to a tenth sooner, so that circuits that died together are not probed together.
      const auto sooner = static_cast<Duration::rep>(random_.next() % 100);
      circuit->next_probe = loop_.steady() + circuit->wait - circuit->wait * sooner / 1000;
    }
  }
  poll->asking = false;
  if (poll->ended || stopped_) co_return;
  if (std::exchange(poll->outdated, false)) {
    schedule(facts, poll, Duration{0});
    co_return;
  }
  const Duration next =
      circuit->is_open() ? circuit->next_probe - loop_.steady() : Duration{poll->request.interval};
  schedule(facts, poll, next);
  take(*facts, *poll, std::move(answer), now);
}

void FactPoller::take(ObjectFacts& facts, const Poll& poll, Result<Json> answer, Time at) {
  const auto [entry, first] = facts.values.try_emplace(poll.request.name);
  Fact& fact = entry->second;
  const bool news = first || !same_answer(fact.answer, answer);
  if (answer) {
    fact.failing_since.reset();
  } else if (!fact.failing_since) {
    fact.failing_since = at;
  }
  fact.answer = std::move(answer);
  fact.at = at;
  if (news && facts.changed) facts.changed();
}

std::shared_ptr<FactCircuit> FactPoller::circuit(const std::string& name) {
  if (name.empty()) return std::make_shared<FactCircuit>();  // shared with nobody
  auto& known = circuits_[name];
  auto shared = known.lock();
  if (shared) return shared;
  // The last poll of a circuit forgets it.
  shared = std::shared_ptr<FactCircuit>(new FactCircuit, [this, name](FactCircuit* gone) {
    delete gone;
    const auto found = circuits_.find(name);
    if (found != circuits_.end() && found->second.expired()) circuits_.erase(found);
  });
  known = shared;
  return shared;
}

}  // namespace manta::kube
