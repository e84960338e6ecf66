// CEL's syntax tree, made by cel_parse.cc and walked by cel_eval.cc. For cel.h's Program only.
#pragma once

#include "base/result.h"
#include "local/apiserver/cel.h"
#include "local/apiserver/cel_value.h"

#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace manta::local::cel {

struct Node {
  enum class Kind {
    Literal,  // literal
    Name,     // text
    Select,   // children[0].text; optional: .?text
    Has,      // has(children[0].text)
    Index,    // children[0][children[1]]; optional: [?…]
    Call,     // text(children…); method: children[0] is the receiver
    List,
    Map,  // Map: keys and values alternate
    Not,
    Negate,
    And,
    Or,
    Conditional,
    Equal,
    NotEqual,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    In,
    Add,
    Subtract,
    Multiply,
    Divide,
    Modulo,
    All,
    Exists,
    ExistsOne,
    MapMacro,
    Filter,  // children: range, body[, transform]; text: variable
  };
  Kind kind = Kind::Literal;
  std::string text = {};
  std::string second = {};  // the index variable of two-variable macros
  bool flag = false;        // optional select and index; method calls
  Value literal = {};
  PatternPtr pattern = {};  // of a Call that matches with a literal one
  std::vector<std::unique_ptr<Node>> children = {};
};

/// `names` receives the free names used, `patterns` the literal patterns. Errors say which stage
/// failed: "compilation failed: …".
Result<std::unique_ptr<Node>> parse(std::string_view text,
                                    std::set<std::string, std::less<>>& names, Patterns& patterns);

/// `spent`, unless null, grows by the cost.
Outcome evaluate(const Node& root, const Bindings& bindings, std::size_t* spent = nullptr);

}  // namespace manta::local::cel
