#include "ray/builders/serve_drain.h"

#include "ray/builders/edit.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

namespace manta::ray {
namespace {

// Serve lets a proxy without replicas drain for half a minute at least, and a replica has to start
// elsewhere before.
constexpr std::int64_t kGraceSeconds = 120;
// Between Ray's deadline, when it stops what is left, and the kubelet's.
constexpr std::int64_t kMarginSeconds = 15;

// Replicas and the proxy are processes of Ray's workers, which are titled by what they run. A drain
// that fails, as it may on a node without a CPU to spare, is asked for again. A Ray that knows no
// drain-node (2 is a word that the command does not know), or a head that has been gone for ten
// seconds, as when the whole cluster is deleted, leaves things as they were. What is printed goes
// to the container's log, where that is the container's to write: its first process may be of
// another user.
constexpr std::string_view kScript =
    R"sh(deadline={}
log=/proc/1/fd/1
{{ : >>"$log"; }} 2>/dev/null || log=/dev/null
serving() {{ grep -lsqaE '^ray::(ServeReplica|ProxyActor)' /proc/[0-9]*/cmdline; }}
head_answers() {{ timeout 2 bash -c ': >"/dev/tcp/${{RAY_ADDRESS%:*}}/${{RAY_ADDRESS##*:}}"' 2>/dev/null; }}
drain() {{
  local left=$((deadline - SECONDS))
  timeout 60 ray drain-node --reason DRAIN_NODE_REASON_PREEMPTION \
    --reason-message "the Pod is being deleted" \
    --deadline-remaining-seconds $((left > 1 ? left : 1)) >>"$log" 2>&1
}}
answered=0
while serving; do
  drain && break
  [ $? != 2 ] || exit 0
  ! head_answers || answered=$SECONDS
  [ $SECONDS -lt $deadline ] && [ $((SECONDS - answered)) -lt 10 ] || exit 0
  sleep 1
done
while serving; do sleep 1; done
)sh";

}  // namespace

void add_serve_drain(JsonObject& pod_spec) {
  JsonObject& ray = ray_container(pod_spec);
  if (has_value(ray, "lifecycle")) return;
  if (!has_value(pod_spec, "terminationGracePeriodSeconds"))
    pod_spec["terminationGracePeriodSeconds"] = kGraceSeconds;
  const auto grace = int_in(pod_spec, "terminationGracePeriodSeconds");
  const auto script = fmt::format(kScript, std::max<std::int64_t>(1, grace - kMarginSeconds));
  ray["lifecycle"] =
      JsonObject{{"preStop", {{"exec", {{"command", JsonArray{"bash", "-c", script}}}}}}};
}

}  // namespace manta::ray
