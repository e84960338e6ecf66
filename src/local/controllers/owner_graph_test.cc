#include "local/controllers/owner_graph.h"

#include <gtest/gtest.h>

namespace manta::local {
namespace {

using Action = Collection::Action;
using enum OwnerState;

GraphNode owned(int owners, bool deleting = false) {
  GraphNode node{.uid = "me", .deleting = deleting};
  for (int i = 0; i < owners; ++i)
    node.owners.push_back({.uid = "o" + std::to_string(i), .blockOwnerDeletion = true});
  return node;
}

struct Case {
  const char* name;
  std::vector<OwnerState> owners;
  Action want;
};

const Case kCases[] = {
    {"NoOwners", {}, Action::Keep},
    {"OwnerLives", {Present}, Action::Keep},
    {"OwnerGone", {Absent}, Action::Delete},
    {"OwnerUnknown", {Unknown}, Action::Keep},
    {"OneOfTwoGone", {Absent, Present}, Action::DropReferences},
    {"OneGoneOneUnknown", {Absent, Unknown}, Action::DropReferences},
    {"BothGone", {Absent, Absent}, Action::Delete},
    {"OwnerWaitsForUs", {Waiting}, Action::Delete},
    {"OneWaitsOneLives", {Waiting, Present}, Action::DropReferences},
};

class DecideCollection : public testing::TestWithParam<Case> {};
TEST_P(DecideCollection, Row) {
  const auto& row = GetParam();
  EXPECT_EQ(decide_collection(owned(int(row.owners.size())), row.owners, {}).action, row.want);
}
INSTANTIATE_TEST_SUITE_P(, DecideCollection, testing::ValuesIn(kCases),
                         [](const auto& row) { return row.param.name; });

TEST(DecideCollectionForeground, WaitsForThoseThatBlock) {
  GraphNode owner{.uid = "o0", .deleting = true, .foreground = true};
  const auto dependent = owned(1);
  EXPECT_EQ(decide_collection(owner, {}, {&dependent}).action, Action::DeleteDependents);
  EXPECT_EQ(decide_collection(owner, {}, {}).action, Action::FinishForeground);
  auto unblocking = owned(1);
  unblocking.owners[0].blockOwnerDeletion = false;
  EXPECT_EQ(decide_collection(owner, {}, {&unblocking}).action, Action::FinishForeground);
}

TEST(DecideCollectionForeground, PassesItDown) {
  const GraphNode child{.uid = "child"};
  EXPECT_EQ(decide_collection(owned(1), {Waiting}, {&child}).propagation,
            kube::Propagation::Foreground);
  const GraphNode waiting{.uid = "child", .deleting = true, .foreground = true};
  EXPECT_EQ(decide_collection(owned(1), {Waiting}, {&waiting}).propagation,
            kube::Propagation::Background);
}

TEST(DecideCollectionOrphan, LetsDependentsLive) {
  const GraphNode owner{.uid = "o0", .deleting = true, .orphan = true};
  const auto dependent = owned(1);
  const auto answer = decide_collection(owner, {}, {&dependent});
  EXPECT_EQ(answer.action, Action::OrphanDependents);
  EXPECT_EQ(answer.dependents.size(), 1u);
}

TEST(OwnerGraph, FollowsChangesOfOwners) {
  OwnerGraph graph;
  graph.put({.uid = "a", .owners = {{.uid = "x"}}});
  graph.put({.uid = "a", .owners = {{.uid = "y"}}});
  EXPECT_TRUE(graph.dependents("x").empty());
  EXPECT_EQ(graph.dependents("y").size(), 1u);
  graph.erase("a");
  EXPECT_TRUE(graph.dependents("y").empty());
  EXPECT_EQ(graph.size(), 0u);
}

}  // namespace
}  // namespace manta::local
