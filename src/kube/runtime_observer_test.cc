#include "kube/testing/runtime_world.h"

namespace manta::kube {
namespace {

// Keeps what the metrics layer would, and checks the order in which it hears.
class RuntimeObserved : public RuntimeWorld {
 protected:
  void started(std::string_view controller) override {
    EXPECT_EQ(controller, "widget");
    ++starts;
  }
  void queued(std::string_view, const ObjectKey& key) override {
    EXPECT_EQ(starts, 1);
    EXPECT_TRUE(waiting.insert(key).second);
    EXPECT_FALSE(working.contains(key));
  }
  void began(std::string_view, const ObjectKey& key) override {
    EXPECT_EQ(waiting.erase(key), 1u);
    EXPECT_TRUE(working.insert(key).second);
  }
  void ended(std::string_view, const ObjectKey& key, PassEnd end) override {
    EXPECT_EQ(working.erase(key), 1u);
    ++ends[end];
  }
  int starts = 0;
  std::set<ObjectKey> waiting = {}, working = {};
  std::map<PassEnd, int> ends = {};
};

TEST_F(RuntimeObserved, EachPassIsQueuedBeginsAndEnds) {
  for (const auto* name : {"a", "b", "c"}) make_widget(name, 2);
  start();
  loop.run_for(seconds{10});
  EXPECT_TRUE(waiting.empty());
  EXPECT_TRUE(working.empty());
  EXPECT_GE(ends[PassEnd::Success], 3);
  EXPECT_EQ(ends[PassEnd::Error], 0);
  api.delete_now(kWidgets, key_of_widget("a"));
  loop.run_for(seconds{10});
  EXPECT_TRUE(waiting.empty() && working.empty());
}

TEST_F(RuntimeObserved, AFailedWriteIsAnErrorAndItsBackOffNone) {
  bool broken = true;
  api.fault = [&](const Request& request) {
    return broken && request.verb == Verb::Create && request.resource == kPods
               ? MemoryFault{.before = failed(ErrorCode::Forbidden, "quota").error()}
               : MemoryFault{};
  };
  make_widget("a", 1);
  start();
  loop.run_for(seconds{10});
  EXPECT_GE(ends[PassEnd::Error], 2);
  const int errors = ends[PassEnd::Error];
  broken = false;
  loop.run_for(minutes{1});
  EXPECT_EQ(ends[PassEnd::Error], errors);
  EXPECT_GE(ends[PassEnd::Success], 1);
}

}  // namespace
}  // namespace manta::kube
