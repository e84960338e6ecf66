#include "controllers/networkpolicy/plan.h"

#include "controllers/raycluster/testing.h"
#include "ray/builders/network_policy.h"

#include <gtest/gtest.h>

namespace manta::controllers::networkpolicy {
namespace {

ray::RayCluster fenced() {
  auto cluster = raycluster::testing::cluster();
  cluster.spec.networkPolicy = ray::NetworkPolicyConfig{};
  return cluster;
}

// The policies as the API server would hold them.
std::vector<std::shared_ptr<const kube::SpecView>> made(const ray::RayCluster& cluster) {
  std::vector<std::shared_ptr<const kube::SpecView>> out;
  for (const auto& policy : ray::build_network_policies(cluster))
    out.push_back(std::make_shared<const kube::SpecView>(kube::project_spec(policy).value()));
  return out;
}

std::string outcome(const ray::RayCluster& cluster,
                    std::vector<std::shared_ptr<const kube::SpecView>> policies) {
  const auto plan =
      networkpolicy::plan({.cluster = std::make_shared<const ray::RayCluster>(cluster),
                           .policies = std::move(policies)},
                          {});
  std::string text;
  for (const auto& stage : plan.stages)
    for (const auto& write : stage) text += write.done_event->reason + " " + write.key.name + "; ";
  for (const auto& event : plan.events) text += event.reason + "; ";
  return text;
}

TEST(NetworkPolicies, AreMade) {
  EXPECT_EQ(outcome(fenced(), {}),
            "CreatedNetworkPolicy c-head; CreatedNetworkPolicy c-workers-g; ");
}

TEST(NetworkPolicies, SettledWorldsPlanIsEmpty) {
  EXPECT_EQ(outcome(fenced(), made(fenced())), "");
}

TEST(NetworkPolicies, EditedOnesArePutRight) {
  auto policies = made(fenced());
  auto edited = *policies[0];
  edited.spec.as_object()["policyTypes"] = JsonArray{"Ingress"};
  policies[0] = std::make_shared<const kube::SpecView>(edited);
  EXPECT_EQ(outcome(fenced(), policies), "UpdatedNetworkPolicy c-head; ");
}

TEST(NetworkPolicies, GoWithTheOption) {
  auto open = fenced();
  open.spec.networkPolicy.reset();
  EXPECT_EQ(outcome(open, made(fenced())),
            "DeletedNetworkPolicy c-head; DeletedNetworkPolicy c-workers-g; ");
}

TEST(NetworkPolicies, NamesakesOfOthersAreLeftAlone) {
  auto policies = made(fenced());
  auto foreign = *policies[0];
  foreign.meta.owners.clear();
  policies[0] = std::make_shared<const kube::SpecView>(foreign);
  EXPECT_EQ(outcome(fenced(), policies), "NetworkPolicyNameCollision; ");
  auto open = fenced();
  open.spec.networkPolicy.reset();
  EXPECT_EQ(outcome(open, policies), "DeletedNetworkPolicy c-workers-g; ");
}

TEST(NetworkPolicies, WhatGoesByItselfIsWaitedFor) {
  for (const bool deleting : {false, true}) {
    auto policies = made(fenced());
    auto going = *policies[0];
    going.spec = JsonObject{};
    if (deleting)
      going.meta.deleting = raycluster::testing::kNow;
    else
      going.meta.owners[0].uid = "of-an-earlier-cluster";
    policies[0] = std::make_shared<const kube::SpecView>(going);
    EXPECT_EQ(outcome(fenced(), policies), "") << deleting;
  }
}

struct StoredCase {
  const char* name;
  const char* written;  // a custom rule, as users write it
  const char* stored;   // and as the API server keeps it
};
const StoredCase kStored[] = {
    {"ProtocolIsFilledIn", R"({"ports":[{"port":53}]})",
     R"({"ports":[{"port":53,"protocol":"TCP"}]})"},
    {"OtherProtocolsStay", R"({"ports":[{"port":53,"protocol":"UDP"}]})",
     R"({"ports":[{"port":53,"protocol":"UDP"}]})"},
    {"EmptyListsAreLeftOut", R"({"from":[],"ports":null})", "{}"},
    {"EmptySelectorsStay",
     R"({"from":[{"namespaceSelector":{},"podSelector":{"matchLabels":{}}}]})",
     R"({"from":[{"namespaceSelector":{},"podSelector":{}}]})"},
    {"NoExceptions", R"({"from":[{"ipBlock":{"cidr":"10.0.0.0/8","except":[]}}]})",
     R"({"from":[{"ipBlock":{"cidr":"10.0.0.0/8"}}]})"},
};
class StoredPolicy : public testing::TestWithParam<StoredCase> {};
TEST_P(StoredPolicy, IsNoChange) {
  auto cluster = fenced();
  cluster.spec.networkPolicy->head = ray::NetworkPolicyRules{};
  auto& rules = cluster.spec.networkPolicy->head->ingressRules;
  rules = JsonArray{parse_json(GetParam().stored).value()};
  const auto stored = made(cluster);
  rules = JsonArray{parse_json(GetParam().written).value()};
  EXPECT_EQ(outcome(cluster, stored), "");
}
INSTANTIATE_TEST_SUITE_P(, StoredPolicy, testing::ValuesIn(kStored),
                         [](const auto& row) { return row.param.name; });

}  // namespace
}  // namespace manta::controllers::networkpolicy
