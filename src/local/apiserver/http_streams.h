// Answers that go on: what a session hands its connection over to.
#pragma once

#include "local/apiserver/http_session.h"

#include <string>
#include <string_view>

namespace manta::local {

/// The head of an answer; `framing` says where its body ends.
std::string head_of(const HttpAnswer& answer, std::string_view framing, bool keep);
/// An answer whole.
std::string message_of(const HttpAnswer& answer, bool keep, bool with_body = true);

Task<void> serve_watch(const SessionContext& context, std::shared_ptr<BufferedReader> reader,
                       HttpAnswer answer);
Task<void> serve_log(const SessionContext& context, std::shared_ptr<BufferedReader> reader,
                     PodStream stream);
/// Passes one request on and copies the answer's bytes until the other side closes.
Task<void> serve_proxy(const SessionContext& context, std::shared_ptr<BufferedReader> reader,
                       const HttpRequest& request, ProxyTarget target);
/// WebSocket subresources (exec, attach, portforward); websocket_streams.cc.
Task<void> serve_websocket(std::shared_ptr<const SessionContext> context,
                           std::shared_ptr<BufferedReader> reader, HttpRequest request,
                           PodStream stream);

}  // namespace manta::local
