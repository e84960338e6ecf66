// Label selectors: text and structured form say the same, and match what they say.
#include "fuzz/fuzz.h"
#include "kube/object.h"

using namespace manta;
using namespace manta::fuzz;
using kube::LabelSelector;
using kube::StringMap;

static constexpr std::string_view kKeys[] = {"a",       "b",  "app",   "ray.io/node-type",
                                             "x.y/z_1", "in", "notin", "A-b"};
static constexpr std::string_view kValues[] = {"a", "", "head", "1", "42", "in", "x.y_z-1"};

static StringMap some_labels(Input& in) {
  StringMap labels;
  for (int n = in.number(0, 4); n > 0; --n) labels.emplace(in.one_of(kKeys), in.one_of(kValues));
  return labels;
}

static void check_text(const LabelSelector& selector, Input& in, std::string_view from) {
  const auto text = selector.to_string();
  const auto again = LabelSelector::parse(text);
  FUZZ_CHECK(again.has_value(), from, text, again.error().message);
  FUZZ_CHECK(again->to_string() == text, from, text, again->to_string());
  for (int n = 0; n < 3; ++n) {
    const auto labels = some_labels(in);
    FUZZ_CHECK(again->matches(labels) == selector.matches(labels), from, text);
  }
}

// One requirement in both forms, and what it means.
struct Requirement {
  std::string text;
  Json expression;
  std::function<bool(const StringMap&)> holds;
};

static Requirement requirement(Input& in) {
  const std::string key(in.one_of(kKeys));
  std::vector<std::string> values;
  for (int n = in.number(1, 3); n > 0; --n) values.emplace_back(in.one_of(kValues));
  std::string set;
  JsonArray list;
  for (const auto& value : values) {
    set += (list.empty() ? "" : ",") + value;
    list.push_back(Json(value));
  }
  const auto among = [key, values](const StringMap& labels) {
    const auto at = labels.find(key);
    return at != labels.end() &&
           std::find(values.begin(), values.end(), at->second) != values.end();
  };
  const auto has = [key](const StringMap& labels) { return labels.contains(key); };
  switch (in.number(0, 3)) {
    case 0:
      return {key + " in (" + set + ")",
              JsonObject{{"key", key}, {"operator", "In"}, {"values", list}}, among};
    case 1:
      return {key + " notin (" + set + ")",
              JsonObject{{"key", key}, {"operator", "NotIn"}, {"values", list}},
              [among](const StringMap& labels) { return !among(labels); }};
    case 2:
      return {key, JsonObject{{"key", key}, {"operator", "Exists"}}, has};
    default:
      return {"!" + key, JsonObject{{"key", key}, {"operator", "DoesNotExist"}},
              [has](const StringMap& labels) { return !has(labels); }};
  }
}

static void check_meaning(Input& in) {
  std::vector<Requirement> requirements;
  std::string text;
  JsonArray expressions;
  for (int n = in.number(0, 4); n > 0; --n) {
    requirements.push_back(requirement(in));
    text += (text.empty() ? "" : in.flag() ? "," : " , ") + requirements.back().text;
    expressions.push_back(requirements.back().expression);
  }
  const auto parsed = LabelSelector::parse(text);
  const auto structured = LabelSelector::from_json(JsonObject{{"matchExpressions", expressions}});
  FUZZ_CHECK(parsed.has_value(), text, parsed.error().message);
  FUZZ_CHECK(structured.has_value(), text, structured.error().message);
  for (int n = 0; n < 4; ++n) {
    const auto labels = some_labels(in);
    bool want = true;
    for (const auto& one : requirements) want = want && one.holds(labels);
    FUZZ_CHECK(parsed->matches(labels) == want, text);
    FUZZ_CHECK(structured->matches(labels) == want, text, structured->to_string());
  }
  check_text(*structured, in, text);
}

FUZZ(data) {
  Input in(data);
  if (const auto selector = LabelSelector::parse(data)) check_text(*selector, in, data);
  Input choices(data);
  check_meaning(choices);
  // Any document: an error, or a selector that can be printed.
  const auto any = LabelSelector::from_json(
      choices.flag() ? choices.json()
                     : Json{{"matchLabels", choices.json(2)},
                            {"matchExpressions",
                             {{{"key", choices.text()},
                               {"operator", choices.one_of({"In", "NotIn", "Exists", "Gt"})},
                               {"values", choices.json(1)}}}}});
  if (any) (void)any->to_string();

  // equals() is a list of a=b.
  const auto labels = some_labels(choices);
  FUZZ_CHECK(LabelSelector::equals(labels).matches(labels), data);
}
