// CEL's binary operators on values, `&&` and `||` aside: those may leave a side unevaluated.
#pragma once

#include "local/apiserver/cel_ast.h"
#include "local/apiserver/cel_value.h"

namespace manta::local::cel {

Outcome apply_operator(Node::Kind kind, const Value& a, const Value& b);

}  // namespace manta::local::cel
