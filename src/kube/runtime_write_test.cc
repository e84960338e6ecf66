// What one write makes of every kind of answer.
#include "kube/runtime_write.h"

#include "base/virtual_loop.h"
#include "kube/testing/memory_api.h"

#include <gtest/gtest.h>

namespace manta::kube {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
using Kind = WriteOutcome::Kind;

struct View {
  ObjectMeta meta = {};
};
Result<View> project(const Json& object) {
  auto meta = parse_meta(object);
  if (!meta) return std::unexpected(meta.error());
  return View{std::move(*meta)};
}

class NoOutside final : public Outside {
 public:
  Task<Result<Json>> call(std::string, Json) override {
    co_return failed(ErrorCode::NotFound, "nothing is outside");
  }
};

const ObjectKey kA{"n", "a"};

class Writing : public ::testing::Test {
 protected:
  Writing() { caches.add(pods); }

  WriteOutcome run(const Write& write) { return loop.run(writer.run(write, unsettled)); }
  /// Made, and in the cache.
  std::string make(const std::string& labels = R"({"v": "1"})") {
    const Json made = api.create_now(
        kPods, *parse_json(R"({"metadata": {"name": "a", "namespace": "n", "labels": )" + labels +
                           R"(}, "spec": {"x": 1}})"));
    pods.observe(made);
    return std::string(string_at(made, {"metadata", "uid"}));
  }
  void lose(ErrorCode code, bool done) {
    api.fault = [this, code, done, once = true](const Request& request) mutable {
      const bool read = request.verb == Verb::Get || request.verb == Verb::List;
      if (read || !std::exchange(once, false)) return MemoryFault{};
      if (before_fault) before_fault();
      const Error error = failed(code, "lost").error();
      return done ? MemoryFault{.after = error} : MemoryFault{.before = error};
    };
  }
  static Write patch(const char* body) {
    return {.kind = WriteKind::Patch, .resource = kPods, .key = kA, .body = *parse_json(body)};
  }
  static Write remove(std::string uid = {}) {
    return {.kind = WriteKind::Delete,
            .resource = kPods,
            .key = kA,
            .precondition_uid = std::move(uid)};
  }
  std::string label() {
    const auto held = pods.get(kA);
    return held ? std::string(held->meta.label("v")) : "none";
  }

  VirtualLoop loop;
  SeededRandom random{9};
  MemoryApi api{loop, random};
  Cache<View> pods{kPods, project};
  CacheSet caches;
  NoOutside outside;
  std::stop_source stop;
  UnsettledNames unsettled = {};
  std::function<void()> before_fault = {};
  Writer writer{loop, api, caches, outside, random, "test", stop.get_token()};
};

TEST_F(Writing, APatchWhoseReplyIsLostIsDoneWhenTheObjectShowsIt) {
  make();
  lose(ErrorCode::Timeout, true);
  EXPECT_EQ(run(patch(R"({"metadata": {"labels": {"v": "2"}}})")).kind, Kind::Done);
  EXPECT_EQ(label(), "2");
}

TEST_F(Writing, APatchLostOnTheWayHasFailed) {
  make();
  lose(ErrorCode::Timeout, false);
  const auto outcome = run(patch(R"({"metadata": {"labels": {"v": "2"}}})"));
  EXPECT_EQ(outcome.kind, Kind::Failed);
  EXPECT_EQ(outcome.answer.error().code, ErrorCode::Timeout);
}

TEST_F(Writing, AChangeOfWhatIsGoneIsStaleAndTheCacheForgetsIt) {
  make();
  api.purge_now(kPods, kA);
  EXPECT_EQ(run(patch(R"({"spec": {"x": 2}})")).kind, Kind::Stale);
  EXPECT_EQ(label(), "none");
}

TEST_F(Writing, AConflictIsStaleAndBringsTheNewest) {
  make();
  api.merge_now(kPods, kA, *parse_json(R"({"metadata": {"labels": {"v": "3"}}})"));
  const auto outcome =
      run(patch(R"({"metadata": {"resourceVersion": "1", "labels": {"v": "2"}}})"));
  EXPECT_EQ(outcome.kind, Kind::Stale);
  EXPECT_EQ(label(), "3");
}

TEST_F(Writing, ADeleteIsInTheCacheAtOnce) {
  make();
  EXPECT_EQ(run(remove()).kind, Kind::Done);
  EXPECT_EQ(label(), "none");
}

TEST_F(Writing, ADeleteOfWhatIsGoneForgetsItAndIsStaleUnlessTolerated) {
  make();
  api.purge_now(kPods, kA);
  Write write = remove();
  EXPECT_EQ(run(write).kind, Kind::Stale);
  EXPECT_EQ(label(), "none");
  write.tolerate = {ErrorCode::NotFound};
  EXPECT_EQ(run(write).kind, Kind::Done);
}

TEST_F(Writing, ADeleteWhoseReplyIsLostIsDoneWhenTheObjectIsGone) {
  make();
  lose(ErrorCode::Unavailable, true);
  EXPECT_EQ(run(remove()).kind, Kind::Done);
  EXPECT_EQ(label(), "none");
}

TEST_F(Writing, ADeleteNeverHitsASuccessor) {
  const auto uid = make();
  api.purge_now(kPods, kA);
  api.create_now(kPods, *parse_json(R"({"metadata": {"name": "a", "namespace": "n",
                                         "labels": {"v": "successor"}}})"));
  EXPECT_EQ(run(remove(uid)).kind, Kind::Done);  // the one that was meant is gone
  EXPECT_EQ(label(), "successor");
}

TEST_F(Writing, ALostDeleteThatWasNotMadeHasFailed) {
  make();
  lose(ErrorCode::Timeout, false);
  EXPECT_EQ(run(remove()).kind, Kind::Failed);
  EXPECT_EQ(label(), "1");
}

TEST_F(Writing, APodOnItsNodeStaysUntilItsKubeletEndsIt) {
  make();
  pods.observe(api.merge_now(kPods, kA, *parse_json(R"({"spec": {"nodeName": "x"}})")));
  EXPECT_EQ(run(remove()).kind, Kind::Done);
  ASSERT_NE(pods.get(kA), nullptr);
  EXPECT_TRUE(pods.get(kA)->meta.deleting);
  Write force = remove();
  force.grace_period_seconds = 0;
  EXPECT_EQ(run(force).kind, Kind::Done);
  EXPECT_EQ(label(), "none");
}

TEST_F(Writing, ACreateCommittedLateIsNotMadeTwiceThoughItCannotBeRead) {
  const Write write{.kind = WriteKind::Create,
                    .resource = kPods,
                    .key = {"n", ""},
                    .body = *parse_json(R"({"metadata": {"generateName": "p-"}})")};
  bool first = true;
  bool readable = false;
  api.fault = [&](const Request& request) {
    if (request.verb == Verb::Get && !readable)
      return MemoryFault{.before = failed(ErrorCode::Forbidden, "may not get").error()};
    if (request.verb == Verb::Create && std::exchange(first, false))
      return MemoryFault{.before = failed(ErrorCode::Timeout, "lost").error(),
                         .commits_after = seconds{1}};
    return MemoryFault{};
  };
  EXPECT_EQ(run(write).kind, Kind::Failed);
  loop.run_for(seconds{5});
  EXPECT_EQ(run(write).kind, Kind::Failed);  // it exists, whose it is cannot be seen
  EXPECT_EQ(api.objects(kPods).size(), 1u);
  readable = true;
  EXPECT_EQ(run(write).kind, Kind::Done);
  EXPECT_EQ(api.objects(kPods).size(), 1u);
  EXPECT_EQ(pods.size(), 1u);
  EXPECT_TRUE(unsettled.empty());
}

TEST_F(Writing, ATakenGeneratedNameIsLeftForAnotherAtOnce) {
  int taken = 0;
  api.fault = [&](const Request& request) {
    const auto name = string_at(request.body, {"metadata", "name"});
    if (request.verb != Verb::Create || ++taken > 3) return MemoryFault{};
    Json other = *parse_json(R"({"metadata": {"namespace": "n"}})");
    ensure(other, {"metadata", "name"}) = name;
    api.create_now(kPods, other);
    return MemoryFault{};
  };
  const auto outcome = run({.kind = WriteKind::Create,
                            .resource = kPods,
                            .key = {"n", ""},
                            .body = *parse_json(R"({"metadata": {"generateName": "p-"}})")});
  EXPECT_EQ(outcome.kind, Kind::Done);
  ASSERT_TRUE(outcome.answer.has_value());
  EXPECT_EQ(string_at(*outcome.answer, {"metadata", "name"}), outcome.name);
  EXPECT_EQ(pods.keys(), (std::vector<ObjectKey>{{"n", outcome.name}}));
}

TEST_F(Writing, AFixedNameThatExistsIsReadAndIsStaleUnlessTolerated) {
  api.create_now(kPods, *parse_json(R"({"metadata": {"name": "a", "namespace": "n",
                                         "labels": {"v": "theirs"}}})"));
  Write write{.kind = WriteKind::Create,
              .resource = kPods,
              .key = {"n", ""},
              .body = *parse_json(R"({"metadata": {"name": "a", "labels": {"v": "ours"}}})")};
  EXPECT_EQ(run(write).kind, Kind::Stale);
  EXPECT_EQ(label(), "theirs");
  write.tolerate = {ErrorCode::AlreadyExists};
  EXPECT_EQ(run(write).kind, Kind::Done);
}

TEST_F(Writing, AForeignObjectUnderALostFixedNameIsNotTakenForOurs) {
  Write write{.kind = WriteKind::Create,
              .resource = kPods,
              .key = {"n", ""},
              .body = *parse_json(R"({"metadata": {"name": "a", "labels": {"v": "ours"}}})")};
  before_fault = [this] {
    api.create_now(kPods, *parse_json(R"({"metadata": {"name": "a", "namespace": "n",
                                           "labels": {"v": "theirs"}}})"));
  };
  lose(ErrorCode::Timeout, false);
  const auto outcome = run(write);
  EXPECT_EQ(outcome.kind, Kind::Stale);
  EXPECT_EQ(outcome.answer.error().code, ErrorCode::AlreadyExists);
}

TEST_F(Writing, AnAnswerOfAnotherKindIsNoNewsOfTheResource) {
  make();
  // A Scale carries the object's metadata but not its labels.
  class ScaleApi final : public Api {
   public:
    Task<Result<Response>> call(Request) override {
      co_return Response{.body = *parse_json(
                             R"({"kind": "Scale", "metadata": {"name": "a", "namespace": "n",
                                 "uid": "x", "resourceVersion": "999999"}})")};
    }
    Task<Result<void>> watch(WatchRequest, WatchSink, std::stop_token) override {
      co_return Result<void>{};
    }
    Task<Result<RawResponse>> raw(RawRequest) override { co_return RawResponse{}; }
  } scale;
  Writer scaling{loop, scale, caches, outside, random, "test", stop.get_token()};
  Write write = patch(R"({"spec": {"replicas": 2}})");
  write.subresource = "scale";
  EXPECT_EQ(loop.run(scaling.run(write, unsettled)).kind, Kind::Done);
  EXPECT_EQ(label(), "1");
}

TEST_F(Writing, AStopEndsTheSettlingNotTheWrite) {
  make();
  api.fault = [](const Request& request) {
    const Error away = failed(ErrorCode::Unavailable, "away").error();
    return request.verb == Verb::Get ? MemoryFault{.before = away} : MemoryFault{.after = away};
  };
  loop.after(minutes{5}, [this] { stop.request_stop(); });
  const Time began = loop.now();
  EXPECT_EQ(run(patch(R"({"spec": {"x": 2}})")).kind, Kind::Stopped);
  EXPECT_EQ(loop.now() - began, minutes{5});
}

}  // namespace
}  // namespace manta::kube
