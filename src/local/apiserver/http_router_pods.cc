// pods/log, exec, attach and portforward: which container, with which options. The stream itself is
// http_session.cc's.
#include "base/text.h"
#include "fmt/format.h"
#include "local/apiserver/field_errors.h"
#include "local/apiserver/http_options.h"
#include "local/apiserver/http_route.h"

#include <algorithm>
#include <cstdlib>

namespace manta::local {
namespace {

/// The container that is meant when none is named; empty when the Pod does not say.
std::string default_container(const Json& pod) {
  for (const auto& [key, value] : object_at(pod, {"metadata", "annotations"}))
    if (key == "kubectl.kubernetes.io/default-container" && value.is_string() &&
        !value.get_string().empty())
      return std::string(value.get_string());
  const auto& containers = array_at(pod, {"spec", "containers"});
  return containers.size() == 1 ? std::string(string_at(containers[0], {"name"})) : std::string();
}

std::vector<std::string> container_names(const Json& pod, std::string_view list) {
  std::vector<std::string> names;
  for (const auto& container : array_at(pod, {"spec", list}))
    names.emplace_back(string_at(container, {"name"}));
  return names;
}

Result<std::string> choose_container(const Json& pod, std::string name) {
  const auto pod_name = string_at(pod, {"metadata", "name"});
  if (name.empty()) name = default_container(pod);
  if (name.empty())
    return failed(bad_request(
        fmt::format("a container name must be specified for pod {}, choose one of: [{}]", pod_name,
                    fmt::join(container_names(pod, "containers"), " "))));
  for (const auto* list : {"containers", "initContainers", "ephemeralContainers"})
    if (const auto names = container_names(pod, list);
        std::ranges::find(names, name) != names.end())
      return name;
  return failed(bad_request(fmt::format("container {} is not valid for pod {}", name, pod_name)));
}

std::vector<std::uint16_t> read_ports(const QueryMap& query) {
  std::vector<std::uint16_t> ports;
  if (auto given = query.find("ports"); given != query.end())
    for (const auto& text : given->second)
      for (const auto& one : split(text, ','))
        ports.push_back(static_cast<std::uint16_t>(std::atoi(one.c_str())));
  return ports;
}

Result<ExecRequest> read_exec(const QueryMap& query, bool attach, const ContainerTarget& target) {
  ExecRequest exec;
  if (auto command = query.find("command"); command != query.end() && !attach)
    exec.command = command->second;
  exec.with_stdin = is_true(first(query, "stdin"));
  exec.with_stdout = is_true(first(query, "stdout"));
  exec.with_stderr = is_true(first(query, "stderr"));
  exec.tty = is_true(first(query, "tty"));
  if (!attach && exec.command.empty())
    return failed(bad_request("you must specify at least one command for the container"));
  if (exec.tty) exec.with_stderr = false;
  exec.target = target;
  return exec;
}

PodStreamKind stream_kind(std::string_view subresource) {
  return subresource == "log"           ? PodStreamKind::Log
         : subresource == "portforward" ? PodStreamKind::PortForward
         : subresource == "exec"        ? PodStreamKind::Exec
                                        : PodStreamKind::Attach;
}

}  // namespace

HttpAnswer HttpRouter::pod_stream(const Route& route) {
  auto pod = rest_.get(*route.kind, route.request.namespace_, route.request.name);
  if (!pod) return error_answer(pod.error());
  if (!rest_.backend)
    return error_answer({.code = ErrorCode::Unavailable,
                         .message = "no node answers for this Pod",
                         .http_status = 503});
  PodStream stream;
  stream.kind = stream_kind(route.request.subresource);
  stream.target.namespace_ = route.request.namespace_;
  stream.target.pod = route.request.name;
  stream.target.uid = string_at(*pod, {"metadata", "uid"});
  stream.target.node = string_at(*pod, {"spec", "nodeName"});
  if (stream.target.node.empty())
    return stream.kind == PodStreamKind::Log
               ? text_answer("")
               : error_answer(bad_request(
                     fmt::format("pod {} does not have a host assigned", stream.target.pod)));
  if (stream.kind != PodStreamKind::PortForward) {
    auto container = choose_container(*pod, first(route.query, "container"));
    if (!container) return error_answer(container.error());
    stream.target.container = std::move(*container);
  }
  if (stream.kind == PodStreamKind::Log) {
    auto options = read_log_options(route.query, rest_.loop().now());
    if (!options) return error_answer(options.error());
    stream.log = std::move(*options);
  } else if (stream.kind == PodStreamKind::PortForward) {
    stream.ports = read_ports(route.query);
  } else {
    auto exec = read_exec(route.query, stream.kind == PodStreamKind::Attach, stream.target);
    if (!exec) return error_answer(exec.error());
    stream.exec = std::move(*exec);
  }
  HttpAnswer answer;
  answer.pod_stream = std::move(stream);
  return answer;
}

}  // namespace manta::local
