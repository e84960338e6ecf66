#include "cli/client.h"

#include "kube/http_api.h"
#include "kube/http_client.h"
#include "kube/kubeconfig.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace manta::cli {
namespace {

constexpr std::size_t kLongestLogEnd = 1 << 20;

}  // namespace

struct Client::Impl {
  std::string server = {};
  std::string token = {};
  std::unique_ptr<kube::Api> api = {};
  std::unique_ptr<kube::HttpClient> http = {};

  Task<Result<void>> read_log(kube::ObjectKey pod, std::string query, Duration timeout,
                              std::function<void(std::string_view)> sink, std::stop_token stop) {
    kube::HttpRequest request{.url = fmt::format("{}/api/v1/namespaces/{}/pods/{}/log?{}", server,
                                                 pod.namespace_, pod.name, query),
                              .headers = {{"Authorization", "Bearer " + token}},
                              .timeout = timeout,
                              .stop = std::move(stop)};
    auto answer = co_await http->stream(
        std::move(request),
        [&](std::string_view piece) {
          sink(piece);
          return Result<void>{};
        },
        std::chrono::seconds{30});
    if (!answer) co_return failed(answer.error());
    if (answer->status != 200)
      co_return failed(ErrorCode::Unavailable,
                       fmt::format("HTTP status {}: {}", answer->status, answer->body));
    co_return Result<void>{};
  }
};

Client::Client(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Client::~Client() = default;

Result<std::unique_ptr<Client>> Client::open(AsioLoop& loop, const Paths& paths) {
  // Only this file: the user's own KUBECONFIG may name a real cluster.
  auto config = kube::load_client_config(
      {.kubeconfig_flag = paths.kubeconfig().string(), .allow_in_cluster = false});
  if (!config) return failed(config.error());
  auto impl = std::make_unique<Impl>();
  impl->server = config->server;
  impl->token = config->token;
  impl->http = std::make_unique<kube::HttpClient>(
      loop, kube::HttpClientOptions{.tls = {.ca_pem = config->ca_pem}});
  auto api = kube::make_http_api(loop, {.config = std::move(*config), .user_agent = "manta"});
  if (!api) return failed(api.error());
  impl->api = std::move(*api);
  return std::unique_ptr<Client>(new Client(std::move(impl)));
}

kube::Api& Client::api() { return *impl_->api; }

Task<Result<void>> Client::follow_log(kube::ObjectKey pod, std::string container,
                                      std::function<void(std::string_view)> sink,
                                      std::stop_token stop) {
  return impl_->read_log(std::move(pod), fmt::format("container={}&follow=true", container),
                         Duration::zero(), std::move(sink), std::move(stop));
}

Task<Result<std::string>> Client::end_of_log(kube::ObjectKey pod, std::string container, int lines,
                                             bool previous, std::stop_token stop) {
  std::string text;
  const auto done = co_await impl_->read_log(
      std::move(pod),
      fmt::format("container={}&tailLines={}&previous={}", container, lines, previous),
      std::chrono::seconds{10},
      [&text](std::string_view piece) {
        text += piece.substr(0, kLongestLogEnd - std::min(kLongestLogEnd, text.size()));
      },
      std::move(stop));
  if (!done) co_return failed(done.error());
  co_return text;
}

}  // namespace manta::cli
