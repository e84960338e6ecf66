#include "kube/object.h"

#include <gtest/gtest.h>

namespace manta::kube {
namespace {

Json json(std::string_view text) { return parse_json(text).value(); }

TEST(ParseMeta, ReadsWhatDecisionsUse) {
  const auto meta =
      parse_meta(json(R"({"metadata":{"name":"a","namespace":"n","uid":"u","resourceVersion":"42",
    "generation":3,"creationTimestamp":"2026-08-19T13:21:52Z","deletionTimestamp":"2026-08-19T13:22:52Z",
    "labels":{"x":"y"},"annotations":{"k":"v"},"finalizers":["f"],
    "ownerReferences":[{"apiVersion":"v1","kind":"Pod","name":"o","uid":"p"},
                       {"apiVersion":"ray.io/v1","kind":"RayJob","name":"j","uid":"q","controller":true}]}})"),
                 KeepAnnotations::Yes);
  ASSERT_TRUE(meta) << meta.error().message;
  EXPECT_EQ(meta->key.to_string(), "n/a");
  EXPECT_EQ(meta->resource_version, 42u);
  EXPECT_EQ(meta->generation, 3);
  EXPECT_EQ(*meta->deleting - meta->created, std::chrono::seconds{60});
  EXPECT_EQ(meta->label("x"), "y");
  EXPECT_EQ(meta->label("z"), "");
  EXPECT_EQ(meta->annotation("k"), "v");
  EXPECT_TRUE(meta->has_finalizer("f"));
  ASSERT_NE(meta->controller_owner(), nullptr);
  EXPECT_EQ(meta->controller_owner()->name, "j");
}

TEST(ParseMeta, RefusalsNameTheField) {
  const std::pair<const char*, const char*> rows[] = {
      {R"({})", "metadata is missing"},
      {R"({"metadata":{}})", "metadata.name is missing"},
      {R"({"metadata":{"name":5}})", "metadata.name is 5 but must be a string"},
      {R"({"metadata":{"name":"a","labels":{"x":1}}})", "metadata.labels[x] is 1"},
      {R"({"metadata":{"name":"a","labels":[]}})", "metadata.labels is [] but must be an object"},
      {R"({"metadata":{"name":"a","resourceVersion":"x"}})", "metadata.resourceVersion"},
      {R"({"metadata":{"name":"a","ownerReferences":[{"uid":1}]}})",
       "metadata.ownerReferences[0].uid"},
      {R"({"metadata":{"name":"a","deletionTimestamp":"soon"}})", "metadata.deletionTimestamp"}};
  for (const auto& [text, want] : rows) {
    const auto meta = parse_meta(json(text));
    ASSERT_FALSE(meta) << text;
    EXPECT_NE(meta.error().message.find(want), std::string::npos) << meta.error().message;
  }
}

TEST(LabelSelector, TextForm) {
  const StringMap labels = {{"a", "1"}, {"ray.io/group", "head"}, {"e", ""}};
  const std::pair<const char*, bool> rows[] = {{"", true},
                                               {"a=1", true},
                                               {"a==1", true},
                                               {"a=2", false},
                                               {"a!=2", true},
                                               {"z!=2", true},
                                               {"a", true},
                                               {"!a", false},
                                               {"!z", true},
                                               {"z", false},
                                               {"a in (1,2)", true},
                                               {"a in (2)", false},
                                               {"a notin (2)", true},
                                               {"z notin (2)", true},
                                               {"z in (2)", false},
                                               {"e=", true},
                                               {"a=", false},
                                               {"a>0", true},
                                               {"a<1", false},
                                               {"a=1,ray.io/group=head", true},
                                               {"a=1,ray.io/group in (worker)", false},
                                               {" a = 1 , !z ", true}};
  for (const auto& [text, want] : rows) {
    const auto selector = LabelSelector::parse(text);
    ASSERT_TRUE(selector) << text << selector.error().message;
    EXPECT_EQ(selector->matches(labels), want) << text;
    const auto again = LabelSelector::parse(selector->to_string());
    ASSERT_TRUE(again) << selector->to_string();
    EXPECT_EQ(again->matches(labels), want) << selector->to_string();
  }
  for (const auto* bad :
       {"=1", "a=1,", ",a", "a in 1", "a in (1", "a b", "a>x", "a=b c", "-a=1", "a=-", "x/y/z=1"})
    EXPECT_FALSE(LabelSelector::parse(bad)) << bad;
}

TEST(LabelSelector, StructuredForm) {
  const StringMap labels = {{"a", "1"}, {"b", "2"}};
  const std::pair<const char*, bool> rows[] = {
      {R"({})", true},
      {R"(null)", false},
      {R"({"matchLabels":{"a":"1"}})", true},
      {R"({"matchLabels":{"a":"1"},"matchExpressions":[{"key":"b","operator":"In","values":["3"]}]})",
       false},
      {R"({"matchExpressions":[{"key":"b","operator":"NotIn","values":["3"]},{"key":"a","operator":"Exists"},
          {"key":"c","operator":"DoesNotExist"}]})",
       true}};
  for (const auto& [text, want] : rows) {
    const auto selector = LabelSelector::from_json(json(text));
    ASSERT_TRUE(selector) << text;
    EXPECT_EQ(selector->matches(labels), want) << text;
  }
  for (const auto* bad :
       {R"({"matchExpressions":[{"key":"a","operator":"In"}]})",
        R"({"matchExpressions":[{"key":"a","operator":"Exists","values":["x"]}]})",
        R"({"matchExpressions":[{"key":"a","operator":"Like","values":["x"]}]})", R"([])"})
    EXPECT_FALSE(LabelSelector::from_json(json(bad))) << bad;
}

}  // namespace
}  // namespace manta::kube
