#include "kube/cache.h"

#include "base/random.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace manta::kube {
namespace {

struct View {
  ObjectMeta meta = {};
};

Result<View> project(const Json& object) {
  auto meta = parse_meta(object);
  if (!meta) return std::unexpected(meta.error());
  if (find(object, {"unreadable"})) return failed(ErrorCode::Invalid, "unreadable");
  return View{std::move(*meta)};
}

struct PodText {
  std::string name = "a";
  std::string uid = "u1";
  int rv = 1;
  std::string group = "g";  // label
  std::string owner = "";   // controller's uid
  std::string namespace_ = "n";
};

Json pod(const PodText& p) {
  Json object = *parse_json(fmt::format(
      R"({{"kind": "Pod", "metadata": {{"name": "{}", "namespace": "{}", "uid": "{}",
          "resourceVersion": "{}", "labels": {{"group": "{}"}}}}}})",
      p.name, p.namespace_, p.uid, p.rv, p.group));
  if (!p.owner.empty())
    ensure(object, {"metadata", "ownerReferences"}) =
        JsonArray{to_json(OwnerRef{"v1", "Owner", "o", p.owner, true})};
  return object;
}

struct Heard {
  std::vector<std::string> news = {};
  explicit Heard(CacheBase& cache) {
    cache.listen([this](const ObjectMeta* before, const ObjectMeta* after) {
      const auto show = [](const ObjectMeta* meta) {
        return meta ? fmt::format("{}@{}", meta->uid, meta->resource_version) : "-";
      };
      news.push_back(show(before) + " " + show(after));
    });
  }
};

using Pods = Cache<View>;
const ObjectKey kA{"n", "a"};

void list_nothing(CacheBase& cache) {
  cache.begin_replace();
  cache.end_replace(1);
}

TEST(Cache, AListThatBeganBeforeARefreshIsNotTheOneAskedFor) {
  Pods pods(kPods, project);
  pods.begin_replace();
  pods.refresh();
  pods.end_replace(1);
  EXPECT_FALSE(pods.synced());
  list_nothing(pods);
  EXPECT_TRUE(pods.synced());
}

TEST(Cache, AllHaveBeenSyncedThoughOneIsAskedAnew) {
  Pods one(kPods, project);
  Pods other(kPods, project);
  int called = 0;
  when_all_synced({}, [&] { ++called; });
  EXPECT_EQ(called, 1);
  when_all_synced({&one, &other}, [&] { ++called; });
  list_nothing(one);
  EXPECT_EQ(called, 1);
  one.refresh();
  list_nothing(other);
  EXPECT_EQ(called, 2);
}

TEST(Cache, OlderNewsAreIgnored) {
  Pods pods(kPods, project);
  Heard heard(pods);
  pods.observe(pod({.rv = 5}));
  pods.observe(pod({.rv = 4}));
  pods.observe(pod({.rv = 5}));
  pods.observe(pod({.rv = 6}));
  EXPECT_EQ(heard.news, (std::vector<std::string>{"- u1@5", "u1@5 u1@6"}));
}

TEST(Cache, RevisionsCompareAsNumbers) {
  Pods pods(kPods, project);
  pods.observe(pod({.rv = 10}));
  pods.observe(pod({.rv = 9}));
  EXPECT_EQ(pods.get(kA)->meta.resource_version, 10u);
}

TEST(Cache, LateNewsOfTheDeadDoNotRaiseThem) {
  Pods pods(kPods, project);
  pods.observe(pod({.rv = 5}));
  pods.observe_gone(kA, "u1");
  pods.observe(pod({.rv = 7}));
  EXPECT_EQ(pods.get(kA), nullptr);
}

TEST(Cache, ADeleteHeardBeforeTheCreateWins) {
  Pods pods(kPods, project);
  pods.observe_gone(kA, "u1", 7);
  pods.observe(pod({.rv = 5}));
  EXPECT_EQ(pods.get(kA), nullptr);
}

TEST(Cache, ASuccessorReplacesItsPredecessorInAnyOrder) {
  Pods pods(kPods, project);
  Heard heard(pods);
  pods.observe(pod({.uid = "old", .rv = 5}));
  pods.observe(pod({.uid = "new", .rv = 9}));
  pods.observe_gone(kA, "old", 7);             // its end, late
  pods.observe(pod({.uid = "old", .rv = 6}));  // its last change, later still
  ASSERT_NE(pods.get(kA), nullptr);
  EXPECT_EQ(pods.get(kA)->meta.uid, "new");
  EXPECT_EQ(heard.news, (std::vector<std::string>{"- old@5", "old@5 -", "- new@9"}));
}

TEST(Cache, LeavingTheScopeIsBeingGoneAndComingBackIsNot) {
  Pods pods(kPods, project, {.label_selector = "group=g"});
  Heard heard(pods);
  pods.observe(pod({.rv = 5}));
  pods.observe(pod({.rv = 6, .group = "other"}));
  pods.observe(pod({.rv = 5}));  // late
  EXPECT_EQ(pods.get(kA), nullptr);
  pods.observe(pod({.rv = 8}));
  EXPECT_EQ(heard.news, (std::vector<std::string>{"- u1@5", "u1@5 -", "- u1@8"}));
}

TEST(Cache, OtherNamespacesAndFieldsAreOutOfScope) {
  Pods pods(kPods, project, {.namespace_ = "n", .field_selector = "spec.nodeName!=x,kind=Pod"});
  pods.observe(pod({.name = "b", .namespace_ = "m"}));
  EXPECT_EQ(pods.size(), 0u);
  Json placed = pod({.name = "c", .uid = "u2"});
  ensure(placed, {"spec", "nodeName"}) = "x";
  pods.observe(placed);
  EXPECT_EQ(pods.size(), 0u);
  pods.observe(pod({.name = "d", .uid = "u3"}));
  EXPECT_EQ(pods.size(), 1u);
}

TEST(Cache, AListDropsWhatItMissesUnlessThatIsNewer) {
  Pods pods(kPods, project);
  pods.observe(pod({.name = "old", .uid = "u1", .rv = 5}));
  pods.observe(pod({.name = "ours", .uid = "u2", .rv = 30}));
  EXPECT_FALSE(pods.synced());
  bool told = false;
  pods.when_synced([&] { told = true; });
  pods.begin_replace();
  pods.replace_item(pod({.name = "listed", .uid = "u3", .rv = 7}));
  pods.end_replace(20);
  EXPECT_TRUE(pods.synced() && told);
  EXPECT_EQ(pods.keys(), (std::vector<ObjectKey>{{"n", "listed"}, {"n", "ours"}}));
}

TEST(Cache, APartialListLeavesTheRestAlone) {
  Pods pods(kPods, project);
  pods.observe(pod({.name = "gone", .uid = "u1"}));
  pods.observe(pod({.name = "stays", .uid = "u2", .group = "h"}));
  pods.observe(pod({.name = "newer", .uid = "u3", .rv = 30}));
  pods.observe_list("n", LabelSelector::equals({{"group", "g"}}),
                    *parse_json(R"({"metadata": {"resourceVersion": "20"}, "items": []})"));
  EXPECT_EQ(pods.keys(), (std::vector<ObjectKey>{{"n", "newer"}, {"n", "stays"}}));
}

TEST(Cache, WhatCannotBeReadIsIgnored) {
  Pods pods(kPods, project);
  Json bad = pod({});
  bad.as_object()["unreadable"] = true;
  pods.observe(bad);
  pods.observe(*parse_json("{}"));
  pods.observe(*parse_json("[1]"));
  EXPECT_EQ(pods.size(), 0u);
}

TEST(Cache, IndicesFollowOwnersAndLabels) {
  Pods pods(kPods, project);
  pods.index_label("group");
  pods.observe(pod({.name = "b", .uid = "u2", .owner = "o1"}));
  pods.observe(pod({.name = "a", .uid = "u1", .owner = "o1"}));
  pods.observe(pod({.name = "c", .uid = "u3", .group = "h", .namespace_ = "m"}));
  const auto names = [](const std::vector<Pods::Ptr>& views) {
    std::string text;
    for (const auto& view : views) text += view->meta.key.name;
    return text;
  };
  EXPECT_EQ(names(pods.owned_by("o1")), "ab");
  EXPECT_EQ(names(pods.labelled("n", "group", "g")), "ab");
  EXPECT_EQ(names(pods.labelled("n", "group", "h")), "");
  EXPECT_EQ(names(pods.labelled("", "group", "h")), "c");
  EXPECT_EQ(names(pods.list("n")), "ab");
  EXPECT_EQ(names(pods.list("")), "cab");
  EXPECT_EQ(names(pods.list("n", LabelSelector::equals({{"group", "h"}}))), "");

  pods.observe(pod({.name = "a", .uid = "u1", .rv = 2, .group = "h", .owner = "o2"}));
  pods.observe_gone({"n", "b"}, "u2");
  EXPECT_EQ(names(pods.owned_by("o1")), "");
  EXPECT_EQ(names(pods.owned_by("o2")), "a");
  EXPECT_EQ(names(pods.labelled("n", "group", "g")), "");
  EXPECT_EQ(names(pods.labelled("n", "group", "h")), "a");
}

// Random histories of a small world, heard of in random order.
class World {
 public:
  explicit World(std::uint64_t seed)
      : random_(seed), cache_(kPods, project, {.label_selector = "group=g"}) {
    cache_.listen([this](const ObjectMeta*, const ObjectMeta* after) {
      if (!after) return;
      // Never back to a state older than one already shown.
      EXPECT_GT(after->resource_version, shown_[after->key]) << after->uid;
      shown_[after->key] = after->resource_version;
    });
  }

  void step() {
    switch (random_.next() % 6) {
      case 0:
      case 1:
        change();
        break;
      case 2:
        hear_watch();
        break;
      case 3:
        hear_answer();
        break;
      case 4:
        hear_watch_again();
        break;
      case 5:
        relist();
        break;
    }
  }

  void settle() {
    while (!answers_.empty()) hear_answer();
    while (heard_ < watch_.size()) hear_watch();
    ASSERT_EQ(cache_.size(), std::ranges::count_if(truth_, [](const auto& entry) {
                return entry.second.group == "g";
              }));
    for (const auto& [name, state] : truth_) {
      const auto view = cache_.get({"n", name});
      ASSERT_EQ(view != nullptr, state.group == "g") << name;
      if (view) EXPECT_EQ(view->meta.resource_version, static_cast<std::uint64_t>(state.rv));
    }
  }

 private:
  struct Event {
    bool deleted;
    PodText state;
  };

  void change() {
    const std::string name(1, static_cast<char>('a' + random_.next() % 3));
    const auto found = truth_.find(name);
    ++revision_;
    if (found == truth_.end()) {
      PodText made{.name = name, .uid = fmt::format("u{}", revision_), .rv = revision_};
      made.group = random_.next() % 4 ? "g" : "h";
      truth_[name] = made;
      tell({false, made}, made.group == "g");
    } else if (random_.next() % 3 == 0) {
      PodText last = found->second;
      const bool was_in = last.group == "g";
      truth_.erase(found);
      last.rv = revision_;
      if (was_in) watch_.push_back({true, last});
      if (random_.next() % 2) answers_.push_back({true, last});
    } else {
      const bool was_in = found->second.group == "g";
      found->second.rv = revision_;
      found->second.group = random_.next() % 4 ? "g" : "h";
      tell({false, found->second}, was_in || found->second.group == "g");
    }
    lists_.push_back({revision_, truth_});
  }

  void tell(Event event, bool watched) {
    if (random_.next() % 2) answers_.push_back(event);  // it was our own write
    if (!watched) return;
    if (event.state.group != "g") event = {true, event.state};
    watch_.push_back(event);
  }

  void hear(const Event& event, bool from_watch) {
    const ObjectKey key{"n", event.state.name};
    if (!event.deleted) {
      cache_.observe(pod(event.state));
    } else {
      cache_.observe_gone(key, event.state.uid,
                          from_watch ? static_cast<std::uint64_t>(event.state.rv) : 0);
    }
  }
  void hear_watch() {
    if (heard_ < watch_.size()) hear(watch_[heard_++], true);
  }
  void hear_watch_again() {
    if (heard_ > 0) hear(watch_[random_.next() % heard_], true);
  }
  void hear_answer() {
    if (answers_.empty()) return;
    const auto i = random_.next() % answers_.size();
    const Event event = answers_[i];
    answers_.erase(answers_.begin() + static_cast<std::ptrdiff_t>(i));
    hear(event, false);
  }
  // Any list taken so far, so stale ones too; the watch goes on from where it is.
  void relist() {
    if (lists_.empty()) return;
    const auto& [revision, objects] = lists_[random_.next() % lists_.size()];
    cache_.begin_replace();
    for (const auto& [name, state] : objects)
      if (state.group == "g") cache_.replace_item(pod(state));
    cache_.end_replace(static_cast<std::uint64_t>(revision));
  }

  SeededRandom random_;
  Cache<View> cache_;
  int revision_ = 10;
  std::map<std::string, PodText> truth_ = {};
  std::vector<Event> watch_ = {};
  std::size_t heard_ = 0;
  std::vector<Event> answers_ = {};
  std::vector<std::pair<int, std::map<std::string, PodText>>> lists_ = {};
  std::map<ObjectKey, std::uint64_t> shown_ = {};
};

TEST(CacheLaw, EndsEqualToTheTruthAndNeverStepsBack) {
  for (std::uint64_t seed = 1; seed <= 3000 && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    World world(seed);
    for (int i = 0; i < 60; ++i) world.step();
    world.settle();
  }
}

}  // namespace
}  // namespace manta::kube
