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

// Replicas and the proxy are processes of Ray's workers, which are titled by what they run. A Ray
// that knows no drain-node, or a head that is gone, leaves things as they were. What is printed
// goes to the container's log.
constexpr std::string_view kScript =
    R"sh(serving() {{ grep -lsqaE '^ray::(ServeReplica|ProxyActor)' /proc/[0-9]*/cmdline; }}
serving || exit 0
ray drain-node --reason DRAIN_NODE_REASON_PREEMPTION --reason-message "the Pod is being deleted" \
  --deadline-remaining-seconds {} >/proc/1/fd/1 2>&1 || exit 0
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
