// The Common Expression Language, as CRD validation rules use it: a parser that refuses what it
// does not know, and an evaluator over JSON. Source: cel-spec; Kubernetes' CEL libraries (strings,
// lists, regex, quantity, optional).
//
//   auto rule = cel::Program::compile("self.min <= self.max", patterns);
//   auto holds = (*rule)->check({{"self", &object}});
#pragma once

#include "base/json.h"
#include "base/result.h"
#include "local/apiserver/pattern.h"

#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>

namespace manta::local::cel {

struct Node;

/// What a rule fails with that costs more than kMaxCost. One is a step, a copied kilobyte, an item
/// that is gone over, or ten characters. Source: apiserver/pkg/cel, PerCallLimit.
constexpr std::string_view kTooCostly = "operation cancelled: actual cost limit exceeded";
constexpr std::size_t kMaxCost = 1'000'000;

/// What names stand for; the documents outlive the evaluation.
using Bindings = std::map<std::string, const Json*, std::less<>>;

class Program {
 public:
  /// Fails on bad syntax, unknown functions, unbound names (`self` and `oldSelf` are bound) and
  /// literal patterns that are none; `patterns` receives those that the rule matches with.
  static Result<std::shared_ptr<const Program>> compile(std::string_view expression,
                                                        Patterns& patterns);
  ~Program();

  /// The rule's verdict. Fails when evaluation does ("no such key: b", kTooCostly) or gives no
  /// bool. `spent` grows by what it cost.
  Result<bool> check(const Bindings& bindings, std::size_t* spent = nullptr) const;
  /// For messageExpression: the text. Fails likewise.
  Result<std::string> text(const Bindings& bindings) const;
  bool mentions(std::string_view name) const { return names_.contains(name); }

 private:
  Program();
  std::unique_ptr<const Node> root_;
  std::set<std::string, std::less<>> names_ = {};
};

}  // namespace manta::local::cel
