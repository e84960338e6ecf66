#include "controllers/raycluster/lost_head.h"

#include "controllers/raycluster/testing.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace manta::controllers::raycluster {
namespace {

using namespace testing;
using std::chrono::seconds;

enum class Node { NotAsked, Unknown, There, Gone };

struct Case {
  const char* name;
  bool gate = true;
  bool deleting = true;
  const char* node_name = "n";
  seconds overdue = {};  // since the end of its grace
  Node node = Node::NotAsked;
  const char* want = "";
};
const Case kCases[] = {
    {.name = "AHeadThatStays", .deleting = false, .overdue = seconds{999}, .node = Node::Gone},
    {.name = "WithoutTheGate", .gate = false, .overdue = seconds{999}, .node = Node::Gone},
    {.name = "AHeadThatNeverGotANode", .node_name = "", .overdue = seconds{999}},
    {.name = "ItsGraceRuns", .overdue = seconds{-30}, .want = "look in 90"},
    {.name = "ItsGraceIsOver", .want = "look in 60"},
    {.name = "TheWaitIsAlmostOver", .overdue = seconds{59}, .want = "look in 1"},
    {.name = "NotYetEvenIfItsNodeIsKnownToBeGone",
     .overdue = seconds{59},
     .node = Node::Gone,
     .want = "look in 1"},
    {.name = "NowItIsAsked", .overdue = seconds{60}, .want = "ask of n"},
    {.name = "TheNodeIsThere", .overdue = seconds{99}, .node = Node::There, .want = "ask of n"},
    {.name = "NobodyCanTell", .overdue = seconds{99}, .node = Node::Unknown, .want = "ask of n"},
    {.name = "TheNodeIsGone",
     .overdue = seconds{60},
     .node = Node::Gone,
     .want = "ask of n, end c-head in 0 s first"},
};

kube::Facts facts_of(Node node) {
  kube::Facts facts;
  if (node == Node::Unknown)
    facts["head-node"].answer =
        failed({.code = ErrorCode::Forbidden, .message = "nodes is forbidden"});
  else if (node != Node::NotAsked)
    facts["head-node"].answer = Json{{"exists", node == Node::There}};
  return facts;
}

RayClusterSeen seen_in(const Case& row) {
  auto view = *head({.deleting = row.deleting});
  view.nodeName = row.node_name;
  if (row.deleting) view.meta.deleting = kNow - row.overdue;
  return seen(cluster(), {share(std::move(view)), worker("w")});
}

std::string describe(const kube::Plan& plan) {
  std::string text;
  if (plan.look_again)
    text += fmt::format("look in {}", std::chrono::round<seconds>(*plan.look_again).count());
  for (const auto& fact : plan.facts)
    text += fmt::format("ask of {}", string_at(fact.query, {"name"}));
  for (std::size_t stage = 0; stage < plan.stages.size(); ++stage)
    for (const auto& write : plan.stages[stage])
      if (write.kind == kube::WriteKind::Delete)
        text += fmt::format(", end {} in {} s {}", write.key.name, *write.grace_period_seconds,
                            stage == 0 ? "first" : "late");
  return text;
}

class LostHead : public ::testing::TestWithParam<Case> {};
TEST_P(LostHead, Row) {
  const auto& row = GetParam();
  Settings settings;
  settings.cluster_gates.replace_lost_head = row.gate;
  const auto facts = facts_of(row.node);
  const kube::Failures failures;
  kube::Plan plan;
  plan.stage().push_back({.kind = kube::WriteKind::Create});  // what may be held up
  plan_lost_head(seen_in(row), settings, {.now = kNow, .facts = facts, .failures = failures}, plan);
  EXPECT_EQ(describe(plan), row.want);
}
INSTANTIATE_TEST_SUITE_P(, LostHead, ::testing::ValuesIn(kCases),
                         [](auto& c) { return c.param.name; });

TEST(LostHeadNode, WhyItsNodeIsUnknownIsSaidOnlyWhenNobodyCanTell) {
  const kube::Failures failures;
  for (const auto node : {Node::NotAsked, Node::There, Node::Gone, Node::Unknown}) {
    const auto facts = facts_of(node);
    EXPECT_EQ(why_node_is_unknown({.now = kNow, .facts = facts, .failures = failures}),
              node == Node::Unknown ? "nodes is forbidden" : "");
  }
}

TEST(LostHeadPod, AHeadThatGoesIsFoundAmongThoseThatStay) {
  EXPECT_FALSE(going_head(seen(cluster(), {head(), worker("w", {.deleting = true})})));
  const auto going = head({.deleting = true}, "old");
  EXPECT_EQ(going_head(seen(cluster(), {worker("w", {.deleting = true}), head({}, "new"), going})),
            going.get());
}

}  // namespace
}  // namespace manta::controllers::raycluster
