#include "cli/client.h"

#include "kube/http_api.h"
#include "kube/http_client.h"
#include "kube/kubeconfig.h"

#include <fmt/format.h>

#include <utility>

namespace manta::cli {

struct Client::Impl {
  std::string server = {};
  std::string token = {};
  std::unique_ptr<kube::Api> api = {};
  std::unique_ptr<kube::HttpClient> http = {};
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
  kube::HttpRequest request{
      .url = fmt::format("{}/api/v1/namespaces/{}/pods/{}/log?container={}&follow=true",
                         impl_->server, pod.namespace_, pod.name, container),
      .headers = {{"Authorization", "Bearer " + impl_->token}},
      .timeout = Duration::zero(),
      .stop = std::move(stop)};
  auto answer = co_await impl_->http->stream(
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

}  // namespace manta::cli
