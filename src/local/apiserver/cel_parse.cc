#include "fmt/format.h"
#include "local/apiserver/cel_ast.h"

#include <algorithm>
#include <array>
#include <charconv>

namespace manta::local::cel {
namespace {

using NodePtr = std::unique_ptr<Node>;

struct Token {
  enum class Kind { End, Name, Int, Uint, Double, String, Bytes, Symbol };
  Kind kind = Kind::End;
  std::string text = {};
  std::size_t at = 0;
};

struct Function {
  std::string_view name;
  int least, most;  // arguments
  bool method;
};

// What the evaluator knows; anything else is refused when the CRD is created.
constexpr Function kFunctions[] = {
    {"size", 1, 1, false},       {"size", 0, 0, true},          {"int", 1, 1, false},
    {"uint", 1, 1, false},       {"double", 1, 1, false},       {"string", 1, 1, false},
    {"bool", 1, 1, false},       {"dyn", 1, 1, false},          {"type", 1, 1, false},
    {"duration", 1, 1, false},   {"timestamp", 1, 1, false},    {"quantity", 1, 1, false},
    {"isQuantity", 1, 1, false}, {"startsWith", 1, 1, true},    {"endsWith", 1, 1, true},
    {"contains", 1, 1, true},    {"matches", 1, 1, true},       {"matches", 2, 2, false},
    {"lowerAscii", 0, 0, true},  {"upperAscii", 0, 0, true},    {"trim", 0, 0, true},
    {"split", 1, 2, true},       {"join", 0, 1, true},          {"replace", 2, 3, true},
    {"substring", 1, 2, true},   {"indexOf", 1, 2, true},       {"lastIndexOf", 1, 2, true},
    {"charAt", 1, 1, true},      {"find", 1, 1, true},          {"findAll", 1, 2, true},
    {"isSorted", 0, 0, true},    {"sum", 0, 0, true},           {"min", 0, 0, true},
    {"max", 0, 0, true},         {"orValue", 1, 1, true},       {"hasValue", 0, 0, true},
    {"value", 0, 0, true},       {"isGreaterThan", 1, 1, true}, {"isLessThan", 1, 1, true},
    {"compareTo", 1, 1, true},   {"asInteger", 0, 0, true},     {"isInteger", 0, 0, true},
    {"sign", 0, 0, true},        {"add", 1, 1, true},           {"sub", 1, 1, true},
    {"getHours", 0, 0, true},    {"getMinutes", 0, 0, true},    {"getSeconds", 0, 0, true},
};

constexpr std::array<std::string_view, 16> kReserved = {
    "as",     "break", "const", "continue", "else",      "for",    "function", "if",
    "import", "let",   "loop",  "package",  "namespace", "return", "var",      "void"};

class Lexer {
 public:
  explicit Lexer(std::string_view text) : text_(text) {}

  Result<std::vector<Token>> all() {
    std::vector<Token> tokens;
    while (true) {
      skip();
      if (at_ >= text_.size()) break;
      auto token = next();
      if (!token) return failed(token.error());
      tokens.push_back(std::move(*token));
    }
    tokens.push_back({Token::Kind::End, "", at_});
    return tokens;
  }

 private:
  std::unexpected<Error> bad(std::string_view why) const {
    return failed(ErrorCode::Invalid,
                  fmt::format("ERROR: <input>:1:{}: Syntax error: {}", at_ + 1, why));
  }
  void skip() {
    while (at_ < text_.size()) {
      if (std::isspace(static_cast<unsigned char>(text_[at_])))
        ++at_;
      else if (text_.substr(at_).starts_with("//")) {
        while (at_ < text_.size() && text_[at_] != '\n') ++at_;
      } else {
        return;
      }
    }
  }
  char peek(std::size_t ahead = 0) const {
    return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
  }

  Result<Token> next() {
    const char c = peek();
    const bool raw = (c == 'r' || c == 'R') && (peek(1) == '"' || peek(1) == '\'');
    const bool bytes = (c == 'b' || c == 'B') && (peek(1) == '"' || peek(1) == '\'');
    if (c == '"' || c == '\'' || raw || bytes) return string(raw, bytes);
    if (std::isdigit(static_cast<unsigned char>(c)) ||
        (c == '.' && std::isdigit(static_cast<unsigned char>(peek(1)))))
      return number();
    const auto start = at_;
    if (std::isalpha(static_cast<unsigned char>(c)) || c == '_') {
      while (std::isalnum(static_cast<unsigned char>(peek())) || peek() == '_') ++at_;
      return Token{Token::Kind::Name, std::string(text_.substr(start, at_ - start)), start};
    }
    for (const std::string_view symbol : {"&&", "||", "==", "!=", "<=", ">=", ".?", "[?"})
      if (text_.substr(at_).starts_with(symbol)) {
        at_ += 2;
        return Token{Token::Kind::Symbol, std::string(symbol), start};
      }
    if (std::string_view("()[]{}.,?:!<>+-*/%").find(c) != std::string_view::npos) {
      ++at_;
      return Token{Token::Kind::Symbol, std::string(1, c), start};
    }
    return bad(fmt::format("token recognition error at: '{}'", c));
  }

  Result<Token> number() {
    const auto start = at_;
    bool real = false;
    if (peek() == '0' && (peek(1) == 'x' || peek(1) == 'X')) {
      at_ += 2;
      while (std::isxdigit(static_cast<unsigned char>(peek()))) ++at_;
      std::uint64_t value = 0;
      std::from_chars(text_.data() + start + 2, text_.data() + at_, value, 16);
      return Token{Token::Kind::Int, std::to_string(value), start};
    }
    while (std::isdigit(static_cast<unsigned char>(peek()))) ++at_;
    if (peek() == '.' && std::isdigit(static_cast<unsigned char>(peek(1)))) {
      real = true;
      ++at_;
      while (std::isdigit(static_cast<unsigned char>(peek()))) ++at_;
    }
    if (peek() == 'e' || peek() == 'E') {
      real = true;
      ++at_;
      if (peek() == '+' || peek() == '-') ++at_;
      while (std::isdigit(static_cast<unsigned char>(peek()))) ++at_;
    }
    std::string text(text_.substr(start, at_ - start));
    if (!real && (peek() == 'u' || peek() == 'U')) {
      ++at_;
      return Token{Token::Kind::Uint, text, start};
    }
    return Token{real ? Token::Kind::Double : Token::Kind::Int, text, start};
  }

  Result<Token> string(bool raw, bool bytes) {
    const auto start = at_;
    if (raw || bytes) ++at_;
    const char quote = peek();
    const std::string triple(3, quote);
    const bool is_triple = text_.substr(at_).starts_with(triple);
    at_ += is_triple ? 3 : 1;
    std::string value;
    while (true) {
      if (at_ >= text_.size()) return bad("unterminated string");
      if (is_triple ? text_.substr(at_).starts_with(triple) : peek() == quote) {
        at_ += is_triple ? 3 : 1;
        break;
      }
      if (peek() == '\\' && !raw) {
        if (auto done = escape(value); !done) return failed(done.error());
        continue;
      }
      value += peek();
      ++at_;
    }
    return Token{bytes ? Token::Kind::Bytes : Token::Kind::String, std::move(value), start};
  }

  Result<void> escape(std::string& value) {
    ++at_;
    const char c = peek();
    ++at_;
    switch (c) {
      case 'n':
        value += '\n';
        return {};
      case 't':
        value += '\t';
        return {};
      case 'r':
        value += '\r';
        return {};
      case 'a':
        value += '\a';
        return {};
      case 'b':
        value += '\b';
        return {};
      case 'f':
        value += '\f';
        return {};
      case 'v':
        value += '\v';
        return {};
      case '\\':
      case '\'':
      case '"':
      case '`':
      case '?':
        value += c;
        return {};
      case 'x':
      case 'X':
        return code_point(2, 16, value);
      case 'u':
        return code_point(4, 16, value);
      case 'U':
        return code_point(8, 16, value);
      default:
        if (c >= '0' && c <= '3') {
          --at_;
          return code_point(3, 8, value);
        }
        return bad("invalid escape sequence");
    }
  }

  Result<void> code_point(std::size_t digits, int base, std::string& value) {
    std::uint32_t code = 0;
    const auto* begin = text_.data() + at_;
    if (at_ + digits > text_.size()) return bad("invalid escape sequence");
    auto [end, error] = std::from_chars(begin, begin + digits, code, base);
    if (error != std::errc() || end != begin + digits) return bad("invalid escape sequence");
    at_ += digits;
    if (code < 0x80)
      value += static_cast<char>(code);
    else if (code < 0x800) {
      value += static_cast<char>(0xc0 | (code >> 6));
      value += static_cast<char>(0x80 | (code & 0x3f));
    } else if (code < 0x10000) {
      value += static_cast<char>(0xe0 | (code >> 12));
      value += static_cast<char>(0x80 | ((code >> 6) & 0x3f));
      value += static_cast<char>(0x80 | (code & 0x3f));
    } else {
      value += static_cast<char>(0xf0 | (code >> 18));
      value += static_cast<char>(0x80 | ((code >> 12) & 0x3f));
      value += static_cast<char>(0x80 | ((code >> 6) & 0x3f));
      value += static_cast<char>(0x80 | (code & 0x3f));
    }
    return {};
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

class Parser {
 public:
  Parser(std::vector<Token> tokens, std::set<std::string, std::less<>>& names)
      : tokens_(std::move(tokens)), names_(names) {}

  Result<NodePtr> whole() {
    // 1+1+1+… nests without parentheses; every token is one level of the tree at most.
    if (tokens_.size() > kMaxTokens)
      return bad(fmt::format("expression has more than {} tokens", kMaxTokens), 0);
    auto node = expression();
    if (!node) return node;
    if (peek().kind != Token::Kind::End) return unexpected();
    return node;
  }

 private:
  static constexpr int kMaxDepth = 64;
  static constexpr std::size_t kMaxTokens = 2000;

  const Token& peek() const { return tokens_[at_]; }
  bool is(std::string_view symbol) const {
    return peek().kind == Token::Kind::Symbol && peek().text == symbol;
  }
  bool take(std::string_view symbol) {
    if (!is(symbol)) return false;
    ++at_;
    return true;
  }
  std::unexpected<Error> bad(std::string_view why, std::size_t at) const {
    return failed(ErrorCode::Invalid, fmt::format("ERROR: <input>:1:{}: {}", at + 1, why));
  }
  std::unexpected<Error> unexpected() const {
    return bad(peek().kind == Token::Kind::End
                   ? "Syntax error: mismatched input '<EOF>'"
                   : fmt::format("Syntax error: mismatched input '{}'", peek().text),
               peek().at);
  }
  Result<void> expect(std::string_view symbol) {
    if (!take(symbol)) return unexpected();
    return {};
  }

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
      ++at_;
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
      const auto kind = take("+") ? Node::Kind::Add : (++at_, Node::Kind::Subtract);
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
                                    : (++at_, Node::Kind::Modulo);
      auto right = unary();
      if (!right) return right;
      left = make(kind, std::move(*left), std::move(*right));
    }
    return left;
  }

  Result<NodePtr> unary() {
    if (!is("!") && !is("-")) return member();
    if (++depth_ > kMaxDepth) return bad("expression recursion limit exceeded", peek().at);
    const auto kind = take("!") ? Node::Kind::Not : (++at_, Node::Kind::Negate);
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
        ++at_;
        if (peek().kind != Token::Kind::Name) return unexpected();
        const Token name = peek();
        ++at_;
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
        ++at_;
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

  static bool known(std::string_view name, std::size_t count, bool method) {
    for (const auto& function : kFunctions)
      if (function.name == name && function.method == method &&
          static_cast<int>(count) >= function.least && static_cast<int>(count) <= function.most)
        return true;
    return false;
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
    auto list = arguments();
    if (!list) return failed(list.error());
    if (!known(name.text, list->size(), true))
      return bad(fmt::format("undeclared reference to '{}' (in container '')", name.text), name.at);
    auto call = make(Call, std::move(receiver));
    call->text = name.text;
    call->flag = true;
    for (auto& argument : *list) call->children.push_back(std::move(argument));
    return call;
  }

  Result<NodePtr> comprehension(NodePtr range, const Token& name, Node::Kind kind) {
    std::vector<std::string> variables;
    // One variable (the item, or a map's key), or two (index or key, and value).
    while (peek().kind == Token::Kind::Name && tokens_[at_ + 1].kind == Token::Kind::Symbol &&
           tokens_[at_ + 1].text == "," && variables.size() < 2) {
      if (variables.size() == 1 && kind == Node::Kind::MapMacro) break;
      variables.push_back(peek().text);
      at_ += 2;
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
    const Token token = peek();
    switch (token.kind) {
      case Token::Kind::Int: {
        ++at_;
        auto node = make(Node::Kind::Int);
        auto [end, code] = std::from_chars(token.text.data(), token.text.data() + token.text.size(),
                                           node->integer);
        if (code != std::errc()) return bad("invalid int literal", token.at);
        return node;
      }
      case Token::Kind::Uint: {
        ++at_;
        auto node = make(Node::Kind::Uint);
        std::from_chars(token.text.data(), token.text.data() + token.text.size(), node->integer);
        return node;
      }
      case Token::Kind::Double: {
        ++at_;
        auto node = make(Node::Kind::Double);
        node->real = std::strtod(token.text.c_str(), nullptr);
        return node;
      }
      case Token::Kind::String:
      case Token::Kind::Bytes: {
        ++at_;
        auto node =
            make(token.kind == Token::Kind::String ? Node::Kind::String : Node::Kind::Bytes);
        node->text = token.text;
        return node;
      }
      case Token::Kind::Name:
        return name();
      case Token::Kind::Symbol:
        return bracketed();
      case Token::Kind::End:
        return unexpected();
    }
    return unexpected();
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
    ++at_;
    if (token.text == "true" || token.text == "false") {
      auto node = make(Node::Kind::Bool);
      node->flag = token.text == "true";
      return node;
    }
    if (token.text == "null") return make(Node::Kind::Null);
    for (const auto word : kReserved)
      if (token.text == word)
        return bad(fmt::format("Syntax error: reserved identifier: {}", word), token.at);
    if (take("(")) {
      if (token.text == "has") return has(token);
      auto list = arguments();
      if (!list) return failed(list.error());
      if (!known(token.text, list->size(), false))
        return bad(fmt::format("undeclared reference to '{}' (in container '')", token.text),
                   token.at);
      auto call = make(Node::Kind::Call);
      call->text = token.text;
      call->children = std::move(*list);
      return call;
    }
    const bool local = std::find(bound_.begin(), bound_.end(), token.text) != bound_.end();
    constexpr std::array<std::string_view, 10> kTypes = {
        "int", "uint", "double", "string", "bool", "bytes", "list", "map", "null_type", "type"};
    const bool type = std::find(kTypes.begin(), kTypes.end(), token.text) != kTypes.end();
    if (!local && !type && token.text != "self" && token.text != "oldSelf")
      return bad(fmt::format("undeclared reference to '{}' (in container '')", token.text),
                 token.at);
    if (!local) names_.insert(token.text);
    auto node = make(Node::Kind::Name);
    node->text = token.text;
    return node;
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

  std::vector<Token> tokens_;
  std::set<std::string, std::less<>>& names_;
  std::size_t at_ = 0;
  int depth_ = 0;
  std::vector<std::string> bound_ = {};
};

}  // namespace

Result<std::unique_ptr<Node>> parse(std::string_view text,
                                    std::set<std::string, std::less<>>& names) {
  auto tokens = Lexer(text).all();
  if (!tokens) return failed(tokens.error());
  return Parser(std::move(*tokens), names).whole();
}

}  // namespace manta::local::cel
