// CEL rules of CRDs: whatever the expression and the document, a verdict or an error.
#include "fuzz/fuzz.h"
#include "local/apiserver/cel.h"

using namespace manta;
using namespace manta::fuzz;
using local::Patterns;
using local::cel::Program;

static std::string expression(Input& in, int depth) {
  if (depth == 0)
    return std::string(in.one_of({"self",      "oldSelf", "self.a", "self.b",
                                  "self['a']", "self[0]", "1",      "-1",
                                  "2u",        "0.5",     "true",   "null",
                                  "'a'",       "\"b\"",   "r'\\d'", "9223372036854775807",
                                  "[]",        "{}",      "[1, 2]", "{'a': 1}",
                                  "x",         "b'a'",    "''",     "self.?a"}));
  const auto sub = [&] { return expression(in, depth - 1); };
  switch (in.number(0, 8)) {
    case 0:
      return sub();
    case 1:
      return "(" + sub() + ")";
    case 2:
      return sub() + " " +
             std::string(in.one_of(
                 {"&&", "||", "==", "!=", "<", "<=", ">", ">=", "in", "+", "-", "*", "/", "%"})) +
             " " + sub();
    case 3:
      return std::string(in.one_of({"!", "-"})) + sub();
    case 4:
      return sub() + " ? " + sub() + " : " + sub();
    case 5:
      return std::string(in.one_of({"size", "has", "int", "double", "string", "type", "quantity",
                                    "isQuantity", "duration", "timestamp", "uint", "dyn"})) +
             "(" + sub() + ")";
    case 6:
      return sub() + "." +
             std::string(in.one_of({"all", "exists", "exists_one", "map", "filter"})) + "(x, " +
             sub() + ")";
    case 7:
      return sub() + "." +
             std::string(in.one_of({"startsWith", "endsWith", "contains", "matches", "split",
                                    "substring", "replace", "orValue", "indexOf", "join", "sum"})) +
             "(" + sub() + (in.rarely(4) ? ", " + sub() : "") + ")";
    default:
      return sub() + "." +
             std::string(in.one_of({"size", "lowerAscii", "trim", "hasValue", "isSorted", "sum",
                                    "min", "max", "a"})) +
             (in.flag() ? "()" : "");
  }
}

static void check(const std::string& text, Input& in) {
  Patterns patterns;
  const auto program = Program::compile(text, patterns);
  if (!program) return FUZZ_CHECK(!program.error().message.empty(), text);
  const auto self = in.json(3), old = in.json(3);
  const local::cel::Bindings bindings{{"self", &self}, {"oldSelf", &old}};
  const auto verdict = (*program)->check(bindings);
  const auto again = (*program)->check(bindings);
  FUZZ_CHECK(verdict.has_value() == again.has_value(), text);
  if (!verdict) FUZZ_CHECK(!verdict.error().message.empty(), text);
  if (verdict) FUZZ_CHECK(*verdict == *again, text);
  const auto words = (*program)->text(bindings);
  FUZZ_CHECK(!(verdict && words), text);  // no value is both a bool and a string

  // Negation and double negation.
  const auto negated = Program::compile("!(" + text + ")", patterns);
  if (verdict && negated) {
    const auto opposite = (*negated)->check(bindings);
    FUZZ_CHECK(opposite && *opposite != *verdict, text, dump_json(self));
  }
}

FUZZ(data) {
  Input in(data);
  check(std::string(data), in);
  Input choices(data);
  const int depth = choices.number(0, 4);
  check(expression(choices, depth), choices);
}
