// CEL's syntax tree; shared by the parser and the evaluator only.
#pragma once

#include "base/result.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace manta::local::cel {

struct Node {
  enum class Kind {
    Null,
    Bool,
    Int,
    Uint,
    Double,
    String,
    Bytes,
    Name,    // text
    Select,  // children[0].text; optional: .?text
    Has,     // has(children[0].text)
    Index,   // children[0][children[1]]; optional: [?…]
    Call,    // text(children…); method: children[0] is the receiver
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
  Kind kind = Kind::Null;
  std::string text = {};
  std::string second = {};  // the index variable of two-variable macros
  bool flag = false;        // the literal of Bool; optional select and index; method calls
  std::int64_t integer = 0;
  double real = 0;
  std::vector<std::unique_ptr<Node>> children = {};
};

/// `names` receives the free names used.
Result<std::unique_ptr<Node>> parse(std::string_view text,
                                    std::set<std::string, std::less<>>& names);

}  // namespace manta::local::cel
