// Tries what a probe or a lifecycle hook asks for.
#pragma once

#include "local/node/commands.h"
#include "local/node/pod_spec.h"

#include <string>

namespace manta::local {

struct HandlerResult {
  bool ok = false;
  std::string message = {};  // why not
};

/// Never takes longer than `timeout` by more than a moment.
Task<HandlerResult> run_handler(const Helpers& helpers, ContainerEntry container,
                                std::string pod_ip, Handler handler, Duration timeout);

/// The request of an HTTP probe, and whether the answer's first line means success. Pure.
std::string build_probe_request(const Handler& handler, std::string_view host);
HandlerResult judge_probe_answer(std::string_view answer);

}  // namespace manta::local
