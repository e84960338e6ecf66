#include "ray/builders/shared_token.h"

#include <gtest/gtest.h>

namespace manta::ray {
namespace {

RayService service(AuthOptions auth) {
  RayService out;
  out.meta.key = {"ns", "s"};
  out.spec.rayClusterConfig.authOptions = std::move(auth);
  return out;
}
RayCluster cluster(std::string secret, std::string_view owner_kind = "RayService") {
  RayCluster out;
  out.meta.key = {"ns", "s-x"};
  out.meta.owners = {{"ray.io/v1", std::string(owner_kind), "s", "s-uid", true, true}};
  out.spec.authOptions = AuthOptions{.mode = "token"};
  if (!secret.empty()) out.spec.authOptions->secretName = std::move(secret);
  return out;
}
std::string shared(AuthOptions auth) {
  Json made{{"spec", {{"authOptions", {{"mode", auth.mode}}}}}};
  share_token(made, service(std::move(auth)));
  return dump_json(*find(made, {"spec", "authOptions"}));
}
std::string kept(std::string_view goal, std::string live) {
  Json made = parse_json(goal).value();
  keep_token(made, cluster(std::move(live)));
  return dump_json(made);
}

TEST(SEC_08_SharedToken, IsForClustersThatWouldHaveOneOfTheirOwn) {
  EXPECT_EQ(shared({.mode = "token"}), R"({"mode":"token","secretName":"s-auth-token"})");
  EXPECT_EQ(shared({.mode = "disabled"}), R"({"mode":"disabled"})");
  EXPECT_EQ(shared({.secretName = "mine", .mode = "token"}), R"({"mode":"token"})") << "untouched";
  EXPECT_EQ(shared({.enableK8sTokenAuth = true, .mode = "token"}), R"({"mode":"token"})");
}

TEST(SEC_08_SharedToken, AClusterKeepsWhatItsPodsHave) {
  constexpr auto kShares =
      R"({"spec":{"authOptions":{"mode":"token","secretName":"s-auth-token"}}})";
  constexpr auto kOwn = R"({"spec":{"authOptions":{"mode":"token"}}})";
  EXPECT_EQ(kept(kShares, ""), kOwn) << "made before the gate was on";
  EXPECT_EQ(kept(kOwn, "s-auth-token"), kShares) << "made before it was off";
  EXPECT_EQ(kept(kShares, "s-auth-token"), kShares);
  EXPECT_EQ(kept(kOwn, ""), kOwn);
  EXPECT_EQ(kept(kOwn, "mine"), kOwn) << "the user's own is the spec's to change";
}

TEST(SEC_08_SharedToken, BelongsToTheRayService) {
  EXPECT_EQ(token_sharer(cluster("mine")), nullptr);
  EXPECT_EQ(token_sharer(cluster("s-auth-token", "RayJob")), nullptr);
  const auto one = cluster("s-auth-token");
  const auto* sharer = token_sharer(one);
  ASSERT_NE(sharer, nullptr);
  const auto secret = build_shared_token(one, *sharer, {});
  EXPECT_EQ(string_at(secret, {"metadata", "name"}), "s-auth-token");
  EXPECT_EQ(string_at(array_at(secret, {"metadata", "ownerReferences"})[0], {"uid"}), "s-uid");
  EXPECT_EQ(string_at(secret, {"stringData", "auth_token"}).size(), 44u);
}

}  // namespace
}  // namespace manta::ray
