#include "local/apiserver/cel.h"

#include "local/apiserver/cel_ast.h"

namespace manta::local::cel {

Program::Program() = default;
Program::~Program() = default;

Result<std::shared_ptr<const Program>> Program::compile(std::string_view expression,
                                                        Patterns& patterns) {
  std::shared_ptr<Program> program(new Program());
  auto root = parse(expression, program->names_, patterns);
  if (!root) return failed(root.error());
  program->root_ = std::move(*root);
  return program;
}

Result<bool> Program::check(const Bindings& bindings, std::size_t* spent) const {
  auto value = evaluate(*root_, bindings, spent);
  if (!value) return failed(value.error());
  if (value->kind != Value::Kind::Bool) return failed(ErrorCode::Invalid, "the rule gives no bool");
  return value->flag;
}

Result<std::string> Program::text(const Bindings& bindings) const {
  auto value = evaluate(*root_, bindings);
  if (!value) return failed(value.error());
  if (value->kind != Value::Kind::String)
    return failed(ErrorCode::Invalid, "the message gives no string");
  return value->text;
}

}  // namespace manta::local::cel