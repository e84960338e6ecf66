// Probes and the postStart hook of a running container: PodWorker's watchful part.
#include "local/node/pod_worker.h"
#include "local/node/prober.h"

#include <fmt/format.h>

namespace manta::local {

static std::string_view name_of(ProbeKind kind) {
  switch (kind) {
    case ProbeKind::Startup:
      return "Startup";
    case ProbeKind::Liveness:
      return "Liveness";
    case ProbeKind::Readiness:
      return "Readiness";
  }
  return "";
}

Task<void> PodWorker::run_post_start(Spec spec, std::size_t index,
                                     std::shared_ptr<ContainerInstance> instance) {
  const auto& c = spec->containers[index];
  if (c.post_start.kind != Handler::Kind::None) {
    // The kubelet sets no limit either; the container's end ends it.
    auto done = co_await run_handler(node_.helpers, instance->entry, facts_.pod_ip, c.post_start,
                                     std::chrono::hours{1});
    if (!instance->live) co_return;
    if (!done.ok) {
      event(kube::EventType::Warning, "FailedPostStartHook",
            fmt::format("PostStartHook failed: {}", done.message));
      if (!states_[index].stopping) {
        states_[index].stopping = true;
        scope_.spawn("stop",
                     stop_container(
                         index, fmt::format("FailedPostStartHook: container {} is stopped", c.name),
                         stop_grace()));
      }
      co_return;
    }
  }
  if (!instance->live) co_return;
  start_probes(spec, index, instance);
  poke();
}

void PodWorker::start_probes(const Spec& spec, std::size_t index,
                             const std::shared_ptr<ContainerInstance>& instance) {
  const auto& c = spec->containers[index];
  if (instance->probes.stop_requested()) return;
  if (c.startup && !states_[index].started) {
    scope_.spawn("startup probe", probe(spec, index, instance, ProbeKind::Startup, *c.startup));
    return;  // the others wait for it
  }
  states_[index].started = true;
  if (c.liveness)
    scope_.spawn("liveness probe", probe(spec, index, instance, ProbeKind::Liveness, *c.liveness));
  if (c.readiness)
    scope_.spawn("readiness probe",
                 probe(spec, index, instance, ProbeKind::Readiness, *c.readiness));
}

Task<void> PodWorker::probe(Spec spec, std::size_t index,
                            std::shared_ptr<ContainerInstance> instance, ProbeKind kind,
                            ProbeSpec settings) {
  const auto& c = spec->containers[index];
  auto& state = states_[index];
  const auto stop = instance->probes.get_token();
  ProbeState progress(kind, settings, state.started_at);
  for (;;) {
    if (!co_await sleep(node_.loop, progress.next() - node_.loop.now(), stop)) co_return;
    const auto tried = node_.loop.now();
    auto result = co_await run_handler(node_.helpers, instance->entry, facts_.pod_ip,
                                       settings.handler, settings.timeout);
    if (stop.stop_requested()) co_return;
    const bool extra = progress.is_extra(tried);
    const bool changed = progress.observe(result.ok, tried, node_.loop.now());
    if (!result.ok && !extra)
      event(kube::EventType::Warning, "Unhealthy",
            fmt::format("{} probe failed: {}", name_of(kind), result.message));
    if (!changed) continue;
    if (kind == ProbeKind::Readiness) {
      state.ready = progress.passing();
      poke();
      continue;
    }
    if (kind == ProbeKind::Startup && progress.passing()) {
      state.started = true;
      start_probes(spec, index, instance);
      co_return poke();
    }
    if (!progress.failed() || state.stopping) continue;
    state.stopping = true;
    Duration grace = stop_grace();
    if (settings.termination_grace_seconds)
      grace = std::chrono::seconds{*settings.termination_grace_seconds};
    const auto word = kind == ProbeKind::Startup ? "startup" : "liveness";
    scope_.spawn(
        "stop",
        stop_container(index,
                       fmt::format("Container {} failed {} probe, will be restarted", c.name, word),
                       grace));
    co_return;
  }
}

}  // namespace manta::local
