// Boost.JSON's own handler may be one unit off in the last place when it reads a double (before
// Boost 1.84), which would change what users sent; this handler reads the number's text itself.
#include "base/json.h"

#include <boost/json/basic_parser_impl.hpp>
#include <boost/json/value_stack.hpp>
#include <fmt/format.h>

#include <charconv>
#include <limits>

namespace manta {
namespace {

namespace bj = boost::json;
using boost::json::error_code;

struct Handler {
  static constexpr std::size_t max_object_size = std::numeric_limits<std::size_t>::max();
  static constexpr std::size_t max_array_size = std::numeric_limits<std::size_t>::max();
  static constexpr std::size_t max_key_size = std::numeric_limits<std::size_t>::max();
  static constexpr std::size_t max_string_size = std::numeric_limits<std::size_t>::max();

  bj::value_stack stack = {};
  std::string number = {};

  bool on_document_begin(error_code&) { return true; }
  bool on_document_end(error_code&) { return true; }
  bool on_object_begin(error_code&) { return true; }
  bool on_object_end(std::size_t n, error_code&) { return stack.push_object(n), true; }
  bool on_array_begin(error_code&) { return true; }
  bool on_array_end(std::size_t n, error_code&) { return stack.push_array(n), true; }
  bool on_key_part(bj::string_view s, std::size_t, error_code&) {
    return stack.push_chars(s), true;
  }
  bool on_key(bj::string_view s, std::size_t, error_code&) { return stack.push_key(s), true; }
  bool on_string_part(bj::string_view s, std::size_t, error_code&) {
    return stack.push_chars(s), true;
  }
  bool on_string(bj::string_view s, std::size_t, error_code&) { return stack.push_string(s), true; }
  bool on_number_part(bj::string_view s, error_code&) {
    number.append(s.data(), s.size());
    return true;
  }
  bool on_int64(std::int64_t i, bj::string_view s, error_code&) {
    number.append(s.data(), s.size());
    const bool minus_zero = i == 0 && number.starts_with('-');  // only a double can hold it
    number.clear();
    if (minus_zero) return stack.push_double(-0.0), true;
    return stack.push_int64(i), true;
  }
  bool on_uint64(std::uint64_t u, bj::string_view, error_code&) {
    number.clear();
    return stack.push_uint64(u), true;
  }
  bool on_double(double approximate, bj::string_view s, error_code& ec) {
    number.append(s.data(), s.size());
    double exact = approximate;
    const auto read = std::from_chars(number.data(), number.data() + number.size(), exact);
    number.clear();
    if (read.ec == std::errc::result_out_of_range && (approximate > 1 || approximate < -1)) {
      ec = bj::error::exponent_overflow;
      return false;
    }
    stack.push_double(read.ec == std::errc{} ? exact : 0.0);
    return true;
  }
  bool on_bool(bool b, error_code&) { return stack.push_bool(b), true; }
  bool on_null(error_code&) { return stack.push_null(), true; }
  bool on_comment_part(bj::string_view, error_code&) { return true; }
  bool on_comment(bj::string_view, error_code&) { return true; }
};

std::string place_of(std::string_view text, std::size_t at) {
  std::size_t line = 1, column = 1;
  for (std::size_t i = 0; i < at && i < text.size(); ++i) {
    if (text[i] == '\n') {
      ++line;
      column = 1;
    } else {
      ++column;
    }
  }
  return fmt::format("line {}, column {}", line, column);
}

std::string describe(const error_code& ec, std::string_view text, std::size_t at) {
  if (ec == bj::error::incomplete) return "the document ends too early";
  if (ec == bj::error::too_deep) return "nested more than 128 levels deep";
  if (ec == bj::error::extra_data) return "text after the end of the document";
  if (ec == bj::error::exponent_overflow) return "the number is too large for a double";
  std::string found = at >= text.size() ? "the end" : fmt::format("{:?}", text.substr(at, 1));
  return fmt::format("{} at {}", ec.message(), found);
}

}  // namespace

Result<Json> parse_json(std::string_view text) {
  if (text.empty()) return failed(ErrorCode::BadRequest, "JSON: the document is empty");
  try {
    bj::parse_options options;
    options.max_depth = 128;
    bj::basic_parser<Handler> parser(options);
    parser.handler().stack.reset();
    error_code ec;
    std::size_t at = parser.write_some(false, text.data(), text.size(), ec);
    if (!ec && at < text.size()) ec = bj::error::extra_data;
    if (ec)
      return failed(ErrorCode::BadRequest,
                    fmt::format("JSON: {}: {}", place_of(text, at), describe(ec, text, at)));
    return parser.handler().stack.release();
  } catch (const std::exception& e) {
    return failed(ErrorCode::BadRequest, fmt::format("JSON: {}", e.what()));
  }
}

}  // namespace manta
