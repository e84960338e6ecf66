// Laws: every write lost in every way, and everything going wrong at random.
#include "kube/testing/runtime_world.h"

namespace manta::kube {
namespace {

// Every write × lost on the way there or back, refused, or committed late: the same end, and never
// one Pod too many.
enum class Harm {
  LostBefore,
  LostAfter,
  UnavailableBefore,
  UnavailableAfter,
  ServerErrorAfter,
  Conflict,
  CommitsLate
};
class RuntimeFaults : public RuntimeWorld,
                      public ::testing::WithParamInterface<std::tuple<Verb, Harm, int>> {};

MemoryFault fault_for(Harm harm) {
  const auto error = [](ErrorCode code) { return failed(code, "injected").error(); };
  switch (harm) {
    case Harm::LostBefore:
      return {.before = error(ErrorCode::Timeout)};
    case Harm::LostAfter:
      return {.after = error(ErrorCode::Timeout)};
    case Harm::UnavailableBefore:
      return {.before = error(ErrorCode::Unavailable)};
    case Harm::UnavailableAfter:
      return {.after = error(ErrorCode::Unavailable)};
    case Harm::ServerErrorAfter:
      return {.after = error(ErrorCode::Internal)};
    case Harm::Conflict:
      return {.before = error(ErrorCode::Conflict)};
    case Harm::CommitsLate:
      return {.before = error(ErrorCode::Timeout), .commits_after = seconds{3}};
  }
  std::unreachable();
}

TEST_P(RuntimeFaults, EndTheSame) {
  const auto [verb, harm, times] = GetParam();
  make_widget("w", 3);
  int left = times;
  std::size_t pods_peak = 0;
  bool deaf = true;  // GETs fail too at first
  api.fault = [&](const Request& request) {
    pods_peak = std::max(pods_peak, api.objects(kPods).size());
    if (request.verb == Verb::Get && std::exchange(deaf, false))
      return MemoryFault{.before = failed(ErrorCode::Unavailable, "away").error()};
    if (request.resource == kEvents || request.verb != verb || left == 0) return MemoryFault{};
    --left;
    return fault_for(harm);
  };
  start();
  ASSERT_TRUE(run_until([&] { return ready("w") == 3; }));
  loop.run_for(minutes{2});
  EXPECT_EQ(api.objects(kPods).size(), 3u);
  EXPECT_EQ(ready("w"), 3);
  EXPECT_EQ(pods_peak, 3u);
  deaf = true;
  api.merge_now(kWidgets, {"n", "w"}, *parse_json(R"({"spec": {"replicas": 1}})"));
  ASSERT_TRUE(run_until([&] { return ready("w") == 1; }));
  loop.run_for(minutes{2});
  EXPECT_EQ(api.objects(kPods).size(), 1u);
  EXPECT_TRUE(runtime.idle());
  EXPECT_EQ(left, 0);  // the faults did happen
}

std::string name_of_case(const ::testing::TestParamInfo<std::tuple<Verb, Harm, int>>& row) {
  static const char* const kVerbs[] = {"Get", "List", "Create", "Update", "Patch", "Delete"};
  static const char* const kHarms[] = {"LostBefore",       "LostAfter",        "UnavailableBefore",
                                       "UnavailableAfter", "ServerErrorAfter", "Conflict",
                                       "CommitsLate"};
  const auto [verb, harm, times] = row.param;
  return fmt::format("{}{}{}", kVerbs[static_cast<int>(verb)], kHarms[static_cast<int>(harm)],
                     times == 1 ? "Once" : "Twice");
}

INSTANTIATE_TEST_SUITE_P(
    EveryWrite, RuntimeFaults,
    ::testing::Combine(::testing::Values(Verb::Create, Verb::Update, Verb::Delete),
                       ::testing::Values(Harm::LostBefore, Harm::LostAfter, Harm::UnavailableBefore,
                                         Harm::UnavailableAfter, Harm::ServerErrorAfter,
                                         Harm::Conflict, Harm::CommitsLate),
                       ::testing::Values(1, 2)),
    name_of_case);

// Many objects, everything going wrong at random: in the end all is as wanted, and at no time has a
// Widget a Pod too many.
class RuntimeLaw : public RuntimeWorld, public ::testing::WithParamInterface<int> {};

TEST_P(RuntimeLaw, EndsAsWantedWhateverGoesWrong) {
  SeededRandom chance(static_cast<std::uint64_t>(GetParam()));
  const auto one_in = [&](std::uint64_t n) { return chance.next() % n == 0; };
  const auto up_to = [&](Duration most) {
    return Duration{
        static_cast<Duration::rep>(chance.next() % static_cast<std::uint64_t>(most.count()))};
  };
  bool troubled = true;
  std::map<std::string, std::int64_t> most_wanted;
  api.latency = [&](const Request&) { return up_to(milliseconds{200}); };
  api.watch_delay = [&](const WatchEvent&) { return up_to(seconds{2}); };
  api.fault = [&](const Request& request) {
    // A Pod that was deleted after its create had been repeated, and comes to life when the first
    // request is committed at last, is nobody's fault (README.md).
    std::map<std::string, std::int64_t> have;
    for (const auto& pod : api.objects(kPods)) {
      const auto& owners = array_at(pod, {"metadata", "ownerReferences"});
      if (!api.ended.contains(key_of(pod).name))
        ++have[std::string(string_at(owners.front(), {"name"}))];
    }
    for (const auto& [owner, count] : have) EXPECT_LE(count, most_wanted[owner]) << owner;
    if (!troubled || !one_in(4)) return MemoryFault{};
    static constexpr ErrorCode kCodes[] = {ErrorCode::Timeout, ErrorCode::Unavailable,
                                           ErrorCode::Internal, ErrorCode::Conflict,
                                           ErrorCode::TooManyRequests};
    const Error error = failed(kCodes[chance.next() % 5], "injected").error();
    const bool lost = error.code == ErrorCode::Timeout || error.code == ErrorCode::Unavailable;
    if (lost && one_in(2)) return MemoryFault{.after = error};
    if (lost && one_in(3)) return MemoryFault{.before = error, .commits_after = up_to(seconds{5})};
    return MemoryFault{.before = error};
  };
  start();
  for (int i = 0; i < 6; ++i) {
    const auto name = fmt::format("w{}", i);
    most_wanted[name] = static_cast<std::int64_t>(chance.next() % 6);
    make_widget(name, static_cast<int>(most_wanted[name]));
  }
  for (int step = 0; step < 40; ++step) {
    loop.run_for(up_to(seconds{3}));
    const auto name = fmt::format("w{}", chance.next() % 6);
    if (one_in(2)) {
      const auto wish = static_cast<std::int64_t>(chance.next() % 8);
      most_wanted[name] = std::max(most_wanted[name], wish);
      api.merge_now(kWidgets, {"n", name}, JsonObject{{"spec", JsonObject{{"replicas", wish}}}});
    } else if (const auto all = api.objects(kPods); !all.empty() && one_in(2)) {
      api.purge_now(kPods, key_of(all[chance.next() % all.size()]));
    } else if (one_in(3)) {
      api.end_watches(failed(ErrorCode::Unavailable, "reset"));
    } else if (one_in(4)) {
      api.end_watches();
      api.compact();
    }
  }
  troubled = false;
  loop.run_for(minutes{40});  // past the longest back-off, 1000 s and a fifth
  EXPECT_TRUE(runtime.idle());
  for (const auto& widget : api.objects(kWidgets)) {
    const auto name = key_of(widget).name;
    const auto uid = std::string(string_at(widget, {"metadata", "uid"}));
    EXPECT_EQ(ready(name), int_at(widget, {"spec", "replicas"})) << name;
    EXPECT_EQ(pods.owned_by(uid).size(), static_cast<std::size_t>(ready(name))) << name;
  }
  EXPECT_EQ(api.objects(kPods).size(), pods.size());
}

INSTANTIATE_TEST_SUITE_P(Seeds, RuntimeLaw, ::testing::Range(1, 101));

}  // namespace
}  // namespace manta::kube
