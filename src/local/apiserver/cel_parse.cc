// CEL's grammar by recursive descent, loosest operator first.
#include "fmt/format.h"
#include "local/apiserver/cel_ast.h"
#include "local/apiserver/cel_functions.h"
#include "local/apiserver/cel_lex.h"

#include <algorithm>
#include <array>
#include <charconv>

namespace manta::local::cel {
namespace {

using NodePtr = std::unique_ptr<Node>;

constexpr std::array<std::string_view, 16> kReserved = {
    "as",     "break", "const", "continue", "else",      "for",    "function", "if",
    "import", "let",   "loop",  "package",  "namespace", "return", "var",      "void"};
constexpr std::array<std::string_view, 10> kTypes = {
    "int", "uint", "double", "string", "bool", "bytes", "list", "map", "null_type", "type"};

constexpr std::string_view kBadProgram = "program instantiation failed";

class Parser : Cursor {
 public:
  Parser(std::vector<Token> tokens, std::set<std::string, std::less<>>& names, Patterns& patterns)
      : Cursor(std::move(tokens)), names_(names), patterns_(patterns) {}

  Result<NodePtr> whole() {
    // 1+1+1+… nests without parentheses; every token is one level of the tree at most.
    if (size() > kMaxTokens)
      return bad(fmt::format("expression has more than {} tokens", kMaxTokens), 0);
    auto node = expression();
    if (!node) return node;
    if (peek().kind != Token::Kind::End) return unexpected();
    if (!bad_pattern_.empty())
      return failed(ErrorCode::Invalid, fmt::format("{}: {}", kBadProgram, bad_pattern_));
    return node;
  }

 private:
  static constexpr int kMaxDepth = 64;
  static constexpr std::size_t kMaxTokens = 2000;

  static NodePtr make(Node::Kind kind, NodePtr a = {}, NodePtr b = {}, NodePtr c = {}) {
    auto node = std::make_unique<Node>();
    node->kind = kind;
    for (auto* child : {&a, &b, &c})
      if (*child) node->children.push_back(std::move(*child));
    return node;
  }

  Result<NodePtr> expression() {
    if (++depth_ > kMaxDepth) return bad("expression recursion limit exceeded", peek().at);
    auto node = either();
    if (node && take("?")) {
      auto yes = either();
      if (!yes) return yes;
      if (auto ok = expect(":"); !ok) return failed(ok.error());
      auto no = expression();
      if (!no) return no;
      node = make(Node::Kind::Conditional, std::move(*node), std::move(*yes), std::move(*no));
    }
    --depth_;
    return node;
  }

  Result<NodePtr> either() {
    auto left = both();
    while (left && take("||")) {
      auto right = both();
      if (!right) return right;
      left = make(Node::Kind::Or, std::move(*left), std::move(*right));
    }
    return left;
  }

  Result<NodePtr> both() {
    auto left = relation();
    while (left && take("&&")) {
      auto right = relation();
      if (!right) return right;
      left = make(Node::Kind::And, std::move(*left), std::move(*right));
    }
    return left;
  }

  std::optional<Node::Kind> relation_operator() {
    using enum Node::Kind;
    for (const auto& [symbol, kind] : {std::pair{"==", Equal},
                                       {"!=", NotEqual},
                                       {"<=", LessEqual},
                                       {">=", GreaterEqual},
                                       {"<", Less},
                                       {">", Greater}})
      if (take(symbol)) return kind;
    if (peek().kind == Token::Kind::Name && peek().text == "in") {
      advance();
      return In;
    }
    return std::nullopt;
  }

  Result<NodePtr> relation() {
    auto left = sum();
    while (left) {
      const auto kind = relation_operator();
      if (!kind) break;
      auto right = sum();
      if (!right) return right;
      left = make(*kind, std::move(*left), std::move(*right));
    }
    return left;
  }

  Result<NodePtr> sum() {
    auto left = product();
    while (left && (is("+") || is("-"))) {
      const auto kind = take("+") ? Node::Kind::Add : (advance(), Node::Kind::Subtract);
      auto right = product();
      if (!right) return right;
      left = make(kind, std::move(*left), std::move(*right));
    }
    return left;
  }

  Result<NodePtr> product() {
    auto left = unary();
    while (left && (is("*") || is("/") || is("%"))) {
      const auto kind = take("*")   ? Node::Kind::Multiply
                        : take("/") ? Node::Kind::Divide
                                    : (advance(), Node::Kind::Modulo);
      auto right = unary();
      if (!right) return right;
      left = make(kind, std::move(*left), std::move(*right));
    }
    return left;
  }

  Result<NodePtr> unary() {
    if (!is("!") && !is("-")) return member();
    if (++depth_ > kMaxDepth) return bad("expression recursion limit exceeded", peek().at);
    const auto kind = take("!") ? Node::Kind::Not : (advance(), Node::Kind::Negate);
    auto operand = unary();
    --depth_;
    if (!operand) return operand;
    return make(kind, std::move(*operand));
  }

  Result<NodePtr> member() {
    auto node = primary();
    while (node) {
      if (is(".") || is(".?")) {
        const bool optional = peek().text == ".?";
        advance();
        if (peek().kind != Token::Kind::Name) return unexpected();
        const Token name = peek();
        advance();
        if (!optional && take("("))
          node = method(std::move(*node), name);
        else {
          auto select = make(Node::Kind::Select, std::move(*node));
          select->text = name.text;
          select->flag = optional;
          node = std::move(select);
        }
      } else if (is("[") || is("[?")) {
        const bool optional = peek().text == "[?";
        advance();
        auto index = expression();
        if (!index) return index;
        if (auto ok = expect("]"); !ok) return failed(ok.error());
        node = make(Node::Kind::Index, std::move(*node), std::move(*index));
        (*node)->flag = optional;
      } else {
        break;
      }
    }
    return node;
  }

  Result<std::vector<NodePtr>> arguments() {
    std::vector<NodePtr> list;
    if (take(")")) return list;
    do {
      auto argument = expression();
      if (!argument) return failed(argument.error());
      list.push_back(std::move(*argument));
    } while (take(","));
    if (auto ok = expect(")"); !ok) return failed(ok.error());
    return list;
  }

  Result<NodePtr> method(NodePtr receiver, const Token& name) {
    using enum Node::Kind;
    for (const auto& [macro, kind] : {std::pair{"all", All},
                                      {"exists", Exists},
                                      {"exists_one", ExistsOne},
                                      {"existsOne", ExistsOne},
                                      {"map", MapMacro},
                                      {"filter", Filter}})
      if (name.text == macro) return comprehension(std::move(receiver), name, kind);
    const auto start = peek().at;
    auto list = arguments();
    if (!list) return failed(list.error());
    if (!is_known_function(name.text, list->size(), true)) return undeclared(name);
    auto call = make(Call, std::move(receiver));
    call->text = name.text;
    call->flag = true;
    for (auto& argument : *list) call->children.push_back(std::move(argument));
    if (!literal_pattern(*call) && name.text == "matches")
      return bad("invalid matches argument", start);
    return call;
  }

  Result<NodePtr> comprehension(NodePtr range, const Token& name, Node::Kind kind) {
    std::vector<std::string> variables;
    // One variable (the item, or a map's key), or two (index or key, and value).
    while (peek().kind == Token::Kind::Name && peek(1).kind == Token::Kind::Symbol &&
           peek(1).text == "," && variables.size() < 2) {
      if (variables.size() == 1 && kind == Node::Kind::MapMacro) break;
      variables.push_back(peek().text);
      advance(2);
    }
    if (variables.empty()) return bad("argument must be a simple name", name.at);
    for (const auto& variable : variables) bound_.push_back(variable);
    auto node = make(kind, std::move(range));
    auto body = expression();
    if (!body) return body;
    node->children.push_back(std::move(*body));
    if (take(",")) {  // map(x, condition, transform)
      if (kind != Node::Kind::MapMacro) return unexpected();
      auto transform = expression();
      if (!transform) return transform;
      node->children.push_back(std::move(*transform));
    }
    for (std::size_t i = 0; i < variables.size(); ++i) bound_.pop_back();
    if (auto ok = expect(")"); !ok) return failed(ok.error());
    node->text = variables.back();
    if (variables.size() == 2) node->second = variables.front();
    return node;
  }

  Result<NodePtr> primary() {
    switch (peek().kind) {
      case Token::Kind::Name:
        return name();
      case Token::Kind::Symbol:
        return bracketed();
      case Token::Kind::End:
        return unexpected();
      default:
        return literal();
    }
  }

  static NodePtr make_literal(Value value) {
    auto node = make(Node::Kind::Literal);
    node->literal = std::move(value);
    return node;
  }

  Result<NodePtr> literal() {
    const Token& token = peek();
    advance();
    const auto* end = token.text.data() + token.text.size();
    switch (token.kind) {
      case Token::Kind::Int:
      case Token::Kind::Uint: {
        const bool is_int = token.kind == Token::Kind::Int;
        auto value = make_of(is_int ? Value::Kind::Int : Value::Kind::Uint);
        const auto [rest, code] = std::from_chars(token.text.data(), end, value.integer);
        if (is_int && code != std::errc()) return bad("invalid int literal", token.at);
        return make_literal(std::move(value));
      }
      case Token::Kind::Double:
        return make_literal(make_double(std::strtod(token.text.c_str(), nullptr)));
      default: {
        auto value =
            make_of(token.kind == Token::Kind::Bytes ? Value::Kind::Bytes : Value::Kind::String);
        value.text = token.text;
        return make_literal(std::move(value));
      }
    }
  }

  Result<NodePtr> bracketed() {
    if (take("(")) {
      auto inner = expression();
      if (!inner) return inner;
      if (auto ok = expect(")"); !ok) return failed(ok.error());
      return inner;
    }
    if (take("[")) {
      auto list = make(Node::Kind::List);
      while (!take("]")) {
        auto item = expression();
        if (!item) return item;
        list->children.push_back(std::move(*item));
        if (!take(",") && !is("]")) return unexpected();
      }
      return list;
    }
    if (take("{")) {
      auto map = make(Node::Kind::Map);
      while (!take("}")) {
        auto key = expression();
        if (!key) return key;
        if (auto ok = expect(":"); !ok) return failed(ok.error());
        auto value = expression();
        if (!value) return value;
        map->children.push_back(std::move(*key));
        map->children.push_back(std::move(*value));
        if (!take(",") && !is("}")) return unexpected();
      }
      return map;
    }
    return unexpected();
  }

  Result<NodePtr> name() {
    const Token token = peek();
    advance();
    if (token.text == "true" || token.text == "false")
      return make_literal(make_bool(token.text == "true"));
    if (token.text == "null") return make_literal({});
    for (const auto word : kReserved)
      if (token.text == word)
        return bad(fmt::format("Syntax error: reserved identifier: {}", word), token.at);
    if (take("(")) return token.text == "has" ? has(token) : function(token);
    const bool local = std::ranges::find(bound_, token.text) != bound_.end();
    const bool type = std::ranges::find(kTypes, token.text) != kTypes.end();
    if (!local && !type && token.text != "self" && token.text != "oldSelf")
      return undeclared(token);
    if (!local) names_.insert(token.text);
    auto node = make(Node::Kind::Name);
    node->text = token.text;
    return node;
  }

  Result<NodePtr> function(const Token& name) {
    auto list = arguments();
    if (!list) return failed(list.error());
    if (!is_known_function(name.text, list->size(), false)) return undeclared(name);
    auto call = make(Node::Kind::Call);
    call->text = name.text;
    call->children = std::move(*list);
    (void)literal_pattern(*call);
    return call;
  }

  /// Compiles the pattern that a call matches with, when it is written out. False when it is none.
  bool literal_pattern(Node& call) {
    if (!is_pattern_function(call.text)) return true;
    const auto& argument = *call.children[1];
    if (argument.kind != Node::Kind::Literal || argument.literal.kind != Value::Kind::String)
      return true;
    auto compiled = patterns_.compile(argument.literal.text);
    if (!compiled) {
      bad_pattern_ = compiled.error().message;
      return false;
    }
    call.pattern = std::move(*compiled);
    return true;
  }

  Result<NodePtr> has(const Token& token) {
    auto list = arguments();
    if (!list) return failed(list.error());
    if (list->size() != 1 || list->front()->kind != Node::Kind::Select)
      return bad("invalid argument to has() macro", token.at);
    auto node = std::move(list->front());
    node->kind = Node::Kind::Has;
    return node;
  }

  std::set<std::string, std::less<>>& names_;
  Patterns& patterns_;
  std::string bad_pattern_ = {};  // the last that is none
  int depth_ = 0;
  std::vector<std::string> bound_ = {};
};

}  // namespace

Result<std::unique_ptr<Node>> parse(std::string_view text,
                                    std::set<std::string, std::less<>>& names, Patterns& patterns) {
  auto tokens = tokens_of(text);
  if (!tokens) return failed(tokens.error().in("compilation failed"));
  auto root = Parser(std::move(*tokens), names, patterns).whole();
  if (root || root.error().message.starts_with(kBadProgram)) return root;
  return failed(root.error().in("compilation failed"));
}

}  // namespace manta::local::cel
