#include "operator/dashboard_fetch.h"

#include "operator/log_tail.h"

#include <fmt/format.h>

#include <charconv>

namespace manta::operator_ {
namespace {

// N of "bytes=-N"; 0 when all of the answer is wanted.
std::size_t wanted_tail(const kube::RawRequest& request) {
  constexpr std::string_view kSuffix = "bytes=-";
  const auto range = request.headers.find("Range");
  if (range == request.headers.end() || !range->second.starts_with(kSuffix)) return 0;
  std::size_t bytes = 0;
  const auto& text = range->second;
  std::from_chars(text.data() + kSuffix.size(), text.data() + text.size(), bytes);
  return bytes;
}

// Ray's dashboard sends everything, whatever range it is asked for.
Task<Result<kube::HttpResponse>> fetch(kube::HttpClient& client, kube::HttpRequest http,
                                       std::size_t tail_bytes) {
  if (tail_bytes == 0) co_return co_await client.request(std::move(http));
  TailBuffer tail(tail_bytes);
  const auto timeout = http.timeout;
  auto answer = co_await client.stream(
      std::move(http),
      [&tail](std::string_view piece) {
        tail.append(piece);
        return Result<void>{};
      },
      timeout);
  if (answer && answer->body.empty()) answer->body = tail.take();
  co_return answer;
}

}  // namespace

HttpFetch fetch_over(kube::HttpClient& client, std::function<bool()> may_write) {
  return [&client, may_write = std::move(may_write)](
             std::string host, kube::RawRequest request) -> Task<Result<kube::RawResponse>> {
    if (request.method != "GET" && !may_write())
      co_return failed(ErrorCode::Unavailable, "not the leader any more");
    kube::HttpRequest http{.method = request.method,
                           .url = fmt::format("http://{}{}", host, request.path),
                           .body = std::move(request.body),
                           .timeout = request.timeout,
                           .max_bytes = request.max_bytes};
    for (auto& [name, value] : request.headers) http.headers.emplace_back(name, value);
    auto answer = co_await fetch(client, std::move(http), wanted_tail(request));
    if (!answer) co_return std::unexpected(answer.error());
    kube::RawResponse out{.status = answer->status, .body = std::move(answer->body)};
    for (auto& [name, value] : answer->headers) out.headers.emplace(name, value);
    co_return out;
  };
}

}  // namespace manta::operator_
