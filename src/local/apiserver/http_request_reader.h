// HTTP/1.1 requests as they come in on a connection.
#pragma once

#include "local/apiserver/http_router.h"
#include "local/apiserver/server_connection.h"

#include <optional>
#include <string>

namespace manta::local {

/// The raw bytes that a connection gave beyond what was asked for, then the connection's own.
class BufferedReader {
 public:
  explicit BufferedReader(ConnectionPtr connection) : connection_(std::move(connection)) {}
  /// Reads more; false at the end.
  Task<bool> fill();
  std::string& buffer() { return buffer_; }
  ServerConnection& connection() { return *connection_; }
  const ConnectionPtr& shared() const { return connection_; }
  /// Exactly `size` bytes, or nothing at the end.
  Task<std::optional<std::string>> take(std::size_t size);

 private:
  ConnectionPtr connection_;
  std::string buffer_ = {};
};

constexpr std::size_t kMaxHead = 64 << 10;

enum class ReadEnd { Request, Closed, Bad, TooLarge };

/// One request: its head first, so that nobody's body is kept who may not send one. What could be
/// read in two ways (two lengths, a length and chunks, a bare line feed) is no request. Who has not
/// sent a whole head within 90 s, or the body it announced within 60 s, is cut off.
class RequestReader {
 public:
  explicit RequestReader(BufferedReader& reader) : reader_(reader) {}

  Task<ReadEnd> read_head(Loop& loop);
  bool has_body() const;
  Task<ReadEnd> read_body(Loop& loop);

  HttpRequest request = {};
  bool keep_alive = true;
  std::string problem = {};  // what is wrong with one that is Bad or TooLarge

 private:
  ReadEnd bad(std::string why);
  ReadEnd too_large();
  bool parse_head(std::string_view head);
  bool parse_header(std::string_view line);
  Task<ReadEnd> read_chunks();
  Task<ReadEnd> read_trailers();

  BufferedReader& reader_;
};

}  // namespace manta::local
