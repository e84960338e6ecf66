// The Common Expression Language, as CRD validation rules use it: a parser that refuses what it
// does not know, and an evaluator over JSON. Source: cel-spec; Kubernetes' CEL libraries (strings,
// lists, regex, quantity, optional).
//
//   auto rule = cel::Program::compile("self.min <= self.max");
//   auto holds = (*rule)->check({{"self", &object}});
#pragma once

#include "base/json.h"
#include "base/result.h"

#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>

namespace manta::local::cel {

struct Node;

/// What names stand for; the documents outlive the evaluation.
using Bindings = std::map<std::string, const Json*, std::less<>>;

class Program {
 public:
  /// Fails on bad syntax, unknown functions and unbound names (`self` and `oldSelf` are bound).
  static Result<std::shared_ptr<const Program>> compile(std::string_view expression);
  ~Program();

  /// The rule's verdict. Fails when evaluation does ("no such key: b") or gives no bool.
  Result<bool> check(const Bindings& bindings) const;
  /// For messageExpression: the text. Fails likewise.
  Result<std::string> text(const Bindings& bindings) const;
  bool mentions(std::string_view name) const { return names_.contains(name); }

 private:
  Program();
  std::unique_ptr<const Node> root_;
  std::set<std::string, std::less<>> names_ = {};
};

}  // namespace manta::local::cel
