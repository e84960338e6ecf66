// A connection that gives the fuzzer's bytes piece by piece and keeps what is answered.
#pragma once

#include "local/apiserver/server_connection.h"

#include <algorithm>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

namespace manta::fuzz {

class Pieces final : public local::ServerConnection {
 public:
  /// `size` says how many bytes come next.
  Pieces(std::string_view bytes, std::function<std::size_t()> size)
      : bytes_(bytes), size_(std::move(size)) {}
  Task<Result<std::string>> read_some() override {
    if (bytes_.empty()) co_return failed(ErrorCode::Unavailable, "the end");
    const auto size = std::min(std::max<std::size_t>(size_(), 1), bytes_.size());
    std::string piece(bytes_.substr(0, size));
    bytes_.remove_prefix(size);
    co_return piece;
  }
  Task<bool> write(std::string data) override {
    answers += data;
    co_return true;
  }
  void close() override {}

  std::string answers = {};

 private:
  std::string_view bytes_;
  std::function<std::size_t()> size_;
};

}  // namespace manta::fuzz
