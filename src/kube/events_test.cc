#include "kube/events.h"

#include "base/virtual_loop.h"
#include "kube/testing/memory_api.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>

namespace manta::kube {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

class Events : public ::testing::Test {
 protected:
  void SetUp() override {
    scope.spawn("events", recorder.run(scope.stop_token()));
    loop.run_for(seconds{10});  // so that no time in a test is the world's first
  }
  void TearDown() override {
    scope.request_stop();
    api.fault = {};  // it refers to the test's own variables
    loop.run_for(minutes{1});
    EXPECT_EQ(scope.running(), 0u);
  }
  void record(std::string note = "made it", std::string reason = "Created") {
    recorder.record("", about, {EventType::Normal, reason, "Create", std::move(note)});
  }
  std::vector<Json> written() { return api.objects(kEvents); }

  VirtualLoop loop;
  SeededRandom random{3};
  MemoryApi api{loop, random};
  EventRecorder recorder{loop, api, random, "raycluster-controller", "operator-0"};
  ObjectRef about{kPods, {"n", "a"}, "u1", "17"};
  Scope scope{loop};
};

TEST_F(Events, HaveTheFormOfEventsK8sIo) {
  record();
  loop.run_for(seconds{1});
  ASSERT_EQ(written().size(), 1u);
  Json event = written()[0];
  const std::string name(string_at(event, {"metadata", "name"}));
  EXPECT_TRUE(name.starts_with("a.")) << name;
  EXPECT_EQ(name.size(), 2u + 16u);
  event.as_object().erase("metadata");
  EXPECT_EQ(canonical_json(event),
            R"({"action":"Create","apiVersion":"events.k8s.io/v1",)"
            R"("eventTime":"2023-11-14T22:13:30.000000Z","kind":"Event","note":"made it",)"
            R"("reason":"Created","regarding":{"apiVersion":"v1","kind":"Pod","name":"a",)"
            R"("namespace":"n","resourceVersion":"17","uid":"u1"},)"
            R"("reportingController":"raycluster-controller","reportingInstance":"operator-0",)"
            R"("type":"Normal"})");
}

TEST_F(Events, OfClusterScopedObjectsGoToDefault) {
  about.key.namespace_.clear();
  record();
  loop.run_for(seconds{1});
  ASSERT_EQ(written().size(), 1u);
  EXPECT_EQ(key_of(written()[0]).namespace_, "default");
}

TEST_F(Events, RepeatedOnesBecomeASeries) {
  record();
  loop.run_for(seconds{1});
  record();
  loop.run_for(seconds{1});
  ASSERT_EQ(written().size(), 1u);
  EXPECT_EQ(int_at(written()[0], {"series", "count"}), 2);
  EXPECT_EQ(string_at(written()[0], {"series", "lastObservedTime"}), "2023-11-14T22:13:31.000000Z");
  for (int i = 0; i < 1000; ++i) record(fmt::format("made number {}", i));
  loop.run_for(minutes{1});
  EXPECT_EQ(int_at(written()[0], {"series", "count"}), 1002);
  EXPECT_EQ(string_at(written()[0], {"note"}), "made it");
  EXPECT_LE(api.requests.size(), 5u);

  about.resource_version = "18";
  record();
  loop.run_for(seconds{1});
  EXPECT_EQ(written().size(), 2u);
  loop.run_for(minutes{7});
  record();  // the series has ended
  loop.run_for(seconds{1});
  EXPECT_EQ(written().size(), 3u);
}

TEST_F(Events, RepeatedBeforeTheFirstIsWrittenTheyAreOneSeriesToo) {
  for (int i = 0; i < 5; ++i) record();
  loop.run_for(seconds{1});
  ASSERT_EQ(written().size(), 1u);
  EXPECT_EQ(int_at(written()[0], {"series", "count"}), 5);
  loop.run_for(minutes{2});
  EXPECT_EQ(api.requests.size(), 1u);
}

TEST_F(Events, WhatWasNotCreatedIsToldNoteByNote) {
  for (const auto type : {EventType::Warning, EventType::Normal})
    for (const auto* note : {"no quota", "no rights", "no quota"}) {
      const auto* action = type == EventType::Warning ? "Create" : "Delete";
      recorder.record("", about, {type, "A", action, note});
      about.resource_version += "0";
    }
  loop.run_for(seconds{1});
  std::multimap<std::string, std::int64_t> counts;
  for (const auto& event : written())
    counts.emplace(string_at(event, {"note"}), int_at(event, {"series", "count"}));
  const std::multimap<std::string, std::int64_t> wanted = {
      {"no quota", 2}, {"no quota", 2}, {"no rights", 0}, {"no rights", 0}};
  EXPECT_EQ(counts, wanted);
}

TEST_F(Events, ManyWarningsOfOneReasonEndAsRepetitions) {
  const auto warn = [&](int i) {
    recorder.record("", about,
                    {EventType::Warning, "FailedToCreateWorkerPod", "Create",
                     fmt::format("cannot create Pod w-{}", i)});
  };
  for (int i = 0; i < 1000; ++i) warn(i);
  loop.run_for(minutes{1});
  ASSERT_EQ(written().size(), 25u);
  std::int64_t told = 0;
  for (const auto& event : written()) told += int_at(event, {"series", "count"}, 1);
  EXPECT_EQ(told, 1000);
  loop.run_for(minutes{7});
  warn(1000);
  loop.run_for(seconds{1});
  EXPECT_EQ(written().size(), 26u);
}

TEST_F(Events, OfLongNotesTheEndStaysWhereTheErrorStands) {
  record("the submitter failed:\n" + std::string(5000, 'x') + "\nValueError: ä");
  loop.run_for(seconds{1});
  const auto all = written();
  ASSERT_EQ(all.size(), 1u);
  const auto note = string_at(all[0], {"note"});
  EXPECT_LE(note.size(), 1024u);
  EXPECT_TRUE(note.starts_with("the submitter failed: … (")) << note;
  EXPECT_TRUE(note.ends_with("\nValueError: ä")) << note;
}

TEST_F(Events, LongNamesStayWithinTheLimit) {
  about.key.name = std::string(235, 'x') + "." + std::string(10, 'y');
  record();
  loop.run_for(seconds{1});
  ASSERT_EQ(written().size(), 1u);
  const auto name = key_of(written()[0]).name;
  EXPECT_LE(name.size(), 253u);
  EXPECT_EQ(name.find(".."), std::string::npos);
}

TEST_F(Events, ATroubledServerIsAskedAgainWithTheSameName) {
  int troubles = 3;
  api.fault = [&](const Request&) {
    MemoryFault fault;
    if (--troubles == 2) fault.before = failed(ErrorCode::Unavailable, "away").error();
    if (troubles == 1) fault.after = failed(ErrorCode::Timeout, "lost").error();
    return fault;
  };
  record();
  loop.run_for(minutes{1});
  EXPECT_EQ(written().size(), 1u);
  EXPECT_EQ(api.requests.size(), 3u);
}

TEST_F(Events, ARefusalDropsTheEventAtOnce) {
  for (const auto code : {ErrorCode::Forbidden, ErrorCode::NotFound}) {
    api.requests.clear();
    api.fault = [&](const Request&) {
      return MemoryFault{.before = failed(code, "namespace is being terminated").error()};
    };
    record("made it", fmt::format("Created{}", static_cast<int>(code)));
    loop.run_for(minutes{5});
    EXPECT_EQ(api.requests.size(), 1u);
  }
}

TEST_F(Events, AServerThatNeverAnswersCostsBoundedTriesAndMemory) {
  api.fault = [](const Request&) {
    return MemoryFault{.before = failed(ErrorCode::Unavailable, "away").error()};
  };
  for (int i = 0; i < 6000; ++i) record("made it", fmt::format("Created{}", i));
  loop.run_for(minutes{1});
  EXPECT_LE(api.requests.size(), 8u * 8u);
  api.fault = {};
  loop.run_for(minutes{10});
  EXPECT_LE(written().size(), 4096u + 8u);  // the oldest were dropped
  EXPECT_GE(written().size(), 4000u);
}

TEST_F(Events, WhatIsQueuedAtTheStopIsStillWritten) {
  for (int i = 0; i < 20; ++i) record("made it", fmt::format("Created{}", i));
  scope.request_stop();
  loop.run_for(seconds{2});
  EXPECT_EQ(scope.running(), 0u);
  EXPECT_EQ(written().size(), 20u);
}

TEST_F(Events, AStopWaitsForNobodyLongerThanTwoSeconds) {
  api.fault = [](const Request&) {
    return MemoryFault{.before = failed(ErrorCode::Unavailable, "away").error()};
  };
  for (int i = 0; i < 100; ++i) record("made it", fmt::format("Created{}", i));
  loop.run_for(seconds{10});
  scope.request_stop();
  loop.run_for(seconds{3});
  EXPECT_EQ(scope.running(), 0u);
}

}  // namespace
}  // namespace manta::kube
