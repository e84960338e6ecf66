// pods/exec, attach and portforward over WebSockets: the channel protocols of kubectl and the
// client libraries. Source: Kubernetes' remotecommand v4/v5, portforward v4, and KEP-4006.
#include "fmt/format.h"
#include "local/apiserver/field_errors.h"
#include "local/apiserver/http_streams.h"
#include "local/apiserver/spdy.h"
#include "local/apiserver/websocket.h"

#include <map>

namespace manta::local {
namespace {

constexpr char kStdin = 0, kStdout = 1, kStderr = 2, kError = 3, kResize = 4;
constexpr char kCloseChannel = static_cast<char>(255);

std::string exit_status(const Result<int>& result) {
  if (result && *result == 0) return R"({"metadata":{},"status":"Success"})";
  JsonObject status{{"metadata", JsonObject{}}, {"status", "Failure"}};
  if (result) {
    status["message"] = fmt::format(
        "command terminated with non-zero exit code: error executing command, exit code {}",
        *result);
    status["reason"] = "NonZeroExitCode";
    status["details"] = JsonObject{
        {"causes",
         JsonArray{JsonObject{{"reason", "ExitCode"}, {"message", std::to_string(*result)}}}}};
  } else {
    status["message"] = result.error().message;
    status["reason"] = "InternalError";
    status["code"] = 500;
  }
  return dump_json(Json(std::move(status)));
}

/// Feeds what the client sends to the command until the client goes.
task_detail::Detached read_exec(std::shared_ptr<WebSocket> socket, Channel<std::string> input,
                                Channel<TerminalSize> resize, std::stop_source gone) {
  while (auto message = co_await socket->read()) {
    if (message->empty()) continue;
    const char channel = message->front();
    if (channel == kStdin && message->size() > 1)
      input.push(message->substr(1));
    else if (channel == kCloseChannel && message->size() > 1 && (*message)[1] == kStdin)
      input.close();
    else if (channel == kResize) {
      auto size = parse_json(std::string_view(*message).substr(1));
      if (size)
        resize.push({static_cast<std::uint16_t>(int_at(*size, {"Width"})),
                     static_cast<std::uint16_t>(int_at(*size, {"Height"}))});
    }
  }
  input.close();
  resize.close();
  gone.request_stop();
}

Task<void> serve_exec(const SessionContext& context, std::shared_ptr<WebSocket> socket,
                      ExecRequest request) {
  Channel<std::string> input(context.loop);
  Channel<TerminalSize> resize(context.loop);
  std::stop_source gone;
  read_exec(socket, input, resize, gone);
  if (!request.with_stdin) input.close();
  auto sink = [&socket](char channel) -> OutputSink {
    return [socket, channel](std::string data) -> Task<bool> {
      return socket->send(std::string(1, channel) + data);
    };
  };
  // Clients wait for something on each stream before they believe in it.
  co_await socket->send(std::string(1, kStdout));
  ExecStreams streams{input, resize, sink(kStdout), sink(kStderr)};
  auto result = co_await context.api.pod_backend()->exec(std::move(request), std::move(streams),
                                                         gone.get_token());
  co_await socket->send(std::string(1, kError) + exit_status(result));
  co_await socket->close(1000);
}

/// portforward v4: two channels a port, data and error; each starts with the port's number.
Task<void> serve_port_channels(std::shared_ptr<const SessionContext> context,
                               std::shared_ptr<WebSocket> socket, PodStream stream) {
  std::vector<Channel<std::string>> inputs;
  std::stop_source gone;
  for (std::size_t i = 0; i < stream.ports.size(); ++i) {
    inputs.emplace_back(context->loop);
    const auto port = stream.ports[i];
    const char number[2] = {static_cast<char>(port & 0xff), static_cast<char>(port >> 8)};
    for (const std::size_t channel : {2 * i, 2 * i + 1})
      if (!co_await socket->send(std::string(1, static_cast<char>(channel)) +
                                 std::string(number, 2)))
        co_return;
    [](std::shared_ptr<const SessionContext> shared, std::shared_ptr<WebSocket> out,
       ContainerTarget target, std::uint16_t to, Channel<std::string> input, std::size_t index,
       std::stop_token stop) -> task_detail::Detached {
      ForwardStream forward{input, [out, index](std::string data) -> Task<bool> {
                              return out->send(std::string(1, static_cast<char>(2 * index)) + data);
                            }};
      auto result =
          co_await shared->api.pod_backend()->forward(target, to, std::move(forward), stop);
      if (!result)
        co_await out->send(std::string(1, static_cast<char>(2 * index + 1)) +
                           result.error().message);
    }(context, socket, stream.target, port, inputs.back(), i, gone.get_token());
  }
  while (auto message = co_await socket->read()) {
    if (message->empty()) continue;
    const auto channel = static_cast<unsigned char>(message->front());
    if (channel % 2 == 0 && channel / 2 < inputs.size() && message->size() > 1)
      inputs[channel / 2].push(message->substr(1));
  }
  for (auto& input : inputs) input.close();
  gone.request_stop();
}

}  // namespace

Task<void> serve_websocket(std::shared_ptr<const SessionContext> context,
                           std::shared_ptr<BufferedReader> reader, HttpRequest request,
                           PodStream stream) {
  const bool forward = stream.kind == PodStreamKind::PortForward;
  const std::vector<std::string> ours =
      forward ? std::vector<std::string>{"SPDY/3.1+portforward.k8s.io", "v4.channel.k8s.io"}
              : std::vector<std::string>{"v5.channel.k8s.io", "v4.channel.k8s.io"};
  const auto protocol = choose_protocol(request, ours);
  if (!protocol) {
    const auto answer = error_answer(
        bad_request(fmt::format("unable to upgrade: this server speaks WebSocket with {} here",
                                forward ? "SPDY/3.1+portforward.k8s.io or v4.channel.k8s.io"
                                        : "v5.channel.k8s.io or v4.channel.k8s.io")));
    co_await reader->connection().write(
        fmt::format("HTTP/1.1 400 Bad Request\r\nContent-Type: application/json\r\nContent-Length: "
                    "{}\r\nConnection: close\r\n\r\n{}",
                    answer.body.size(), answer.body));
    co_return;
  }
  if (!co_await reader->connection().write(websocket_handshake(request, *protocol))) co_return;
  auto socket = std::make_shared<WebSocket>(reader);
  if (!forward)
    co_await serve_exec(*context, socket, std::move(stream.exec));
  else if (*protocol == ours[0])
    co_await serve_spdy_forward(context, socket, std::move(stream.target));
  else
    co_await serve_port_channels(context, socket, std::move(stream));
}

}  // namespace manta::local
