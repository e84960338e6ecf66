#include "operator/dashboard_fetch.h"

#include <fmt/format.h>

namespace manta::operator_ {

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
    auto answer = co_await client.request(std::move(http));
    if (!answer) co_return std::unexpected(answer.error());
    kube::RawResponse out{.status = answer->status, .body = std::move(answer->body)};
    for (auto& [name, value] : answer->headers) out.headers.emplace(name, value);
    co_return out;
  };
}

}  // namespace manta::operator_
