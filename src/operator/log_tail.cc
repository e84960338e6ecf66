#include "operator/log_tail.h"

#include "base/json.h"
#include "base/utf8.h"

#include <fmt/format.h>

#include <utility>

namespace manta::operator_ {
namespace {

bool is_continuation(char byte) { return (static_cast<unsigned char>(byte) & 0xC0) == 0x80; }

std::string last_bytes(std::string text) {
  if (text.size() <= kLogTail) return text;
  auto from = text.size() - kLogTail;
  while (from < text.size() && is_continuation(text[from])) ++from;
  return text.substr(from);
}

// \ude00, the second half of a character.
bool is_low_surrogate(std::string_view text) {
  return text.size() >= 6 && text[0] == '\\' && text[1] == 'u' && (text[2] | 0x20) == 'd' &&
         std::string_view("cdefCDEF").contains(text[3]);
}

// Where a piece of a JSON string can be read from: not within a character, an escape, or a pair of
// surrogates. (Within \u00e9 it may begin, which then reads as its digits.)
std::size_t first_readable(std::string_view piece) {
  std::size_t at = 0;
  while (at < piece.size() && piece[at] == '\\') ++at;
  if (at < piece.size()) ++at;  // what those escape, perhaps
  while (at < piece.size() && is_continuation(piece[at])) ++at;
  for (std::size_t within = 0; within < 6 && at + within < piece.size(); ++within)
    if (is_low_surrogate(piece.substr(at + within))) return at + within + 6;
  return at;
}

}  // namespace

void TailBuffer::append(std::string_view piece) {
  if (piece.size() >= limit_) {
    text_ = piece.substr(piece.size() - limit_);
    return;
  }
  text_ += piece;
  if (text_.size() > 2 * limit_) text_.erase(0, text_.size() - limit_);
}

std::string TailBuffer::take() {
  if (text_.size() > limit_) text_.erase(0, text_.size() - limit_);
  return std::exchange(text_, {});
}

Result<std::string> log_tail(std::string_view answer) {
  if (const auto whole = parse_json(mend_json_text(answer))) {
    const auto* logs = find(*whole, {"logs"});
    if (!logs || !logs->is_string())
      return failed(ErrorCode::Internal, "GetJobLog fail: the answer has no logs");
    return last_bytes(std::string(logs->get_string()));
  }
  const auto end = answer.rfind('"');
  const auto from = first_readable(answer);
  if (end != std::string_view::npos && end > from) {
    const auto piece = answer.substr(from, end - from);
    if (const auto text = parse_json(fmt::format("\"{}\"", mend_json_text(piece)));
        text && text->is_string())
      return last_bytes(std::string(text->get_string()));
  }
  return failed(ErrorCode::Internal, "GetJobLog fail: the answer ends in no log");
}

}  // namespace manta::operator_
