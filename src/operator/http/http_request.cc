#include "operator/http/http_request.h"

#include "base/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace manta::operator_ {
namespace {

std::unexpected<Error> refused(int status, std::string message) {
  return failed(
      Error{.code = ErrorCode::BadRequest, .message = std::move(message), .http_status = status});
}

bool is_token(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](unsigned char c) {
    return std::isalnum(c) ||
           std::string_view("!#$%&'*+-.^_`|~").find(static_cast<char>(c)) != std::string_view::npos;
  });
}

bool is_printable(std::string_view text, unsigned char from) {
  return std::ranges::all_of(text, [from](unsigned char c) { return c >= from && c != 0x7f; });
}

Result<ServedRequest> read_first_line(std::string_view line) {
  const auto first = line.find(' ');
  const auto last = line.rfind(' ');
  if (first == std::string_view::npos || first == last)
    return refused(400, "the request line must be METHOD TARGET VERSION");
  const auto version = line.substr(last + 1);
  if (version != "HTTP/1.1" && version != "HTTP/1.0")
    return refused(505, "only HTTP/1.1 and HTTP/1.0 are spoken");
  ServedRequest request{.method = std::string(line.substr(0, first)),
                        .target = std::string(line.substr(first + 1, last - first - 1)),
                        .keep_alive = version == "HTTP/1.1"};
  if (!is_token(request.method)) return refused(400, "the method is no token");
  if (!request.target.starts_with('/') || !is_printable(request.target, 0x21))
    return refused(400, "the target must be a path");
  return request;
}

Result<void> read_header(std::string_view line, ServedRequest& request) {
  const auto colon = line.find(':');
  if (colon == std::string_view::npos || !is_token(line.substr(0, colon)))
    return refused(400, "a header must be NAME: VALUE");
  auto name = lower_case(line.substr(0, colon));
  const auto value = trim(line.substr(colon + 1));
  if (!std::ranges::all_of(value,
                           [](unsigned char c) { return c == '\t' || (c >= 32 && c != 127); }))
    return refused(400, fmt::format("header {} has a control character", name));
  const auto [entry, first] = request.headers.try_emplace(name, value);
  if (first) return {};
  if (name == "content-length" || name == "host" || name == "transfer-encoding")
    return refused(400, fmt::format("header {} is there twice", name));
  entry->second.append(", ").append(value);
  return {};
}

Result<ServedRequest> read_head(std::string_view head) {
  auto end = head.find("\r\n");
  auto request = read_first_line(head.substr(0, end));
  if (!request) return request;
  while (end != std::string_view::npos) {
    head.remove_prefix(end + 2);
    end = head.find("\r\n");
    if (auto ok = read_header(head.substr(0, end), *request); !ok) return failed(ok.error());
  }
  const auto connection = lower_case(request->header("connection"));
  if (connection.find("close") != std::string::npos) request->keep_alive = false;
  return request;
}

Result<std::size_t> body_size(const ServedRequest& request, std::size_t limit) {
  if (!request.header("transfer-encoding").empty())
    return refused(501, "send the body with Content-Length; no transfer coding is understood");
  const auto found = request.headers.find("content-length");
  if (found == request.headers.end()) return 0;
  const auto& text = found->second;
  std::size_t size = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), size);
  if (error == std::errc::result_out_of_range || size > limit)
    return refused(413, fmt::format("the body may have {} bytes", limit));
  if (text.empty() || error != std::errc{} || end != text.data() + text.size())
    return refused(400, "Content-Length must be a number");
  return size;
}

}  // namespace

std::string_view ServedRequest::header(std::string_view name) const {
  const auto found = headers.find(name);
  return found == headers.end() ? std::string_view() : std::string_view(found->second);
}

std::string_view ServedRequest::path() const {
  return std::string_view(target).substr(0, target.find('?'));
}

std::string_view ServedRequest::query() const {
  const auto question = target.find('?');
  return question == std::string::npos ? std::string_view()
                                       : std::string_view(target).substr(question + 1);
}

Result<std::optional<ServedRequest>> RequestReader::next() {
  if (!head_) {
    const auto end = buffer_.find("\r\n\r\n", scanned_ > 3 ? scanned_ - 3 : 0);
    // Without its end in sight the head has all but the last three bytes, at least.
    if (end == std::string::npos ? buffer_.size() > limits_.head + 3 : end > limits_.head)
      return refused(431, fmt::format("the head may have {} bytes", limits_.head));
    if (end == std::string::npos) {
      scanned_ = buffer_.size();
      return std::nullopt;
    }
    auto head = read_head(std::string_view(buffer_).substr(0, end));
    if (!head) return failed(head.error());
    const auto size = body_size(*head, limits_.body);
    if (!size) return failed(size.error());
    buffer_.erase(0, end + 4);
    scanned_ = 0;
    body_bytes_ = *size;
    head_ = std::move(*head);
  }
  if (buffer_.size() < body_bytes_) return std::nullopt;
  auto request = std::move(*head_);
  head_.reset();
  request.body = buffer_.substr(0, body_bytes_);
  buffer_.erase(0, body_bytes_);
  return std::optional(std::move(request));
}

}  // namespace manta::operator_
