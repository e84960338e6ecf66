// HTTP/1.1 requests, from bytes as the network cuts them. Strict: whatever two servers could read
// in two ways is refused.
//
//   RequestReader reader({.body = 7 << 20});
//   reader.feed(bytes);
//   auto request = reader.next();   // an error (with its HTTP status), nothing yet, or a request
#pragma once

#include "base/result.h"

#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace manta::operator_ {

struct ServedRequest {
  std::string method = {};
  std::string target = {};                                       // "/healthz?verbose"
  std::map<std::string, std::string, std::less<>> headers = {};  // names in lower case
  std::string body = {};
  bool keep_alive = true;

  /// Empty when there is none.
  std::string_view header(std::string_view name) const;
  std::string_view path() const;
  std::string_view query() const;
};

class RequestReader {
 public:
  struct Limits {
    std::size_t head = 8 << 10;
    std::size_t body = 0;
  };
  explicit RequestReader(Limits limits) : limits_(limits) {}

  void feed(std::string_view bytes) { buffer_.append(bytes); }
  /// After an error the connection is of no use: where the next request begins is not known.
  Result<std::optional<ServedRequest>> next();

 private:
  Limits limits_;
  std::string buffer_ = {};
  std::size_t scanned_ = 0;  // of the head, without its end
  std::optional<ServedRequest> head_ = {};
  std::size_t body_bytes_ = 0;
};

}  // namespace manta::operator_
