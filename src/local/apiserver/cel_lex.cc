#include "local/apiserver/cel_lex.h"

#include "fmt/format.h"

#include <cctype>
#include <charconv>
#include <cstdint>

namespace manta::local::cel {
namespace {

void append_utf8(std::uint32_t code, std::string& value) {
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
}

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
    append_utf8(code, value);
    return {};
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace

Result<std::vector<Token>> tokens_of(std::string_view text) { return Lexer(text).all(); }

bool Cursor::take(std::string_view symbol) {
  if (!is(symbol)) return false;
  advance();
  return true;
}

Result<void> Cursor::expect(std::string_view symbol) {
  if (!take(symbol)) return unexpected();
  return {};
}

std::unexpected<Error> Cursor::bad(std::string_view why, std::size_t at) const {
  return failed(ErrorCode::Invalid, fmt::format("ERROR: <input>:1:{}: {}", at + 1, why));
}

std::unexpected<Error> Cursor::unexpected() const {
  return bad(peek().kind == Token::Kind::End
                 ? "Syntax error: mismatched input '<EOF>'"
                 : fmt::format("Syntax error: mismatched input '{}'", peek().text),
             peek().at);
}

std::unexpected<Error> Cursor::undeclared(const Token& name) const {
  return bad(fmt::format("undeclared reference to '{}' (in container '')", name.text), name.at);
}

}  // namespace manta::local::cel
