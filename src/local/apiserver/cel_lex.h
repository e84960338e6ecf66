// A rule's text as tokens; for the parser only.
#pragma once

#include "base/result.h"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace manta::local::cel {

struct Token {
  enum class Kind { End, Name, Int, Uint, Double, String, Bytes, Symbol };
  Kind kind = Kind::End;
  std::string text = {};
  std::size_t at = 0;
};

/// Ends with a token of kind End.
Result<std::vector<Token>> tokens_of(std::string_view text);

/// A place among tokens. Errors name the column, in the words of cel-go's parser.
class Cursor {
 public:
  explicit Cursor(std::vector<Token> tokens) : tokens_(std::move(tokens)) {}

  std::size_t size() const { return tokens_.size(); }
  const Token& peek(std::size_t ahead = 0) const { return tokens_[at_ + ahead]; }
  void advance(std::size_t count = 1) { at_ += count; }
  bool is(std::string_view symbol) const {
    return peek().kind == Token::Kind::Symbol && peek().text == symbol;
  }
  /// Goes past the symbol, when that is next.
  bool take(std::string_view symbol);
  Result<void> expect(std::string_view symbol);

  std::unexpected<Error> bad(std::string_view why, std::size_t at) const;
  std::unexpected<Error> unexpected() const;
  std::unexpected<Error> undeclared(const Token& name) const;

 private:
  std::vector<Token> tokens_;
  std::size_t at_ = 0;
};

}  // namespace manta::local::cel
