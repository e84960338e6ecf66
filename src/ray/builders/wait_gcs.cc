#include "ray/builders/wait_gcs.h"

#include "base/shell.h"
#include "ray/builders/cluster_facts.h"
#include "ray/builders/command.h"
#include "ray/builders/edit.h"
#include "ray/builders/start_params.h"
#include "ray/labels.h"

#include <fmt/format.h>

#include <algorithm>

namespace manta::ray {
namespace {

// A python start costs every worker a second of CPU, so GCS' port is tried first, which costs
// milliseconds, and `ray health-check` asked once it is open. It is asked every ten seconds in any
// case: an image may lack `timeout`, or its bash /dev/tcp. `timeout` bounds a connection attempt to
// an address that drops packets. The first two minutes are quiet, since a head takes that long to
// start; then its errors are shown. Plain sh, for machines without bash (LM-04).
constexpr std::string_view kScript = R"sh(
check() {
  if [ "$elapsed" -le 120 ]; then
    ray health-check --address "$host:$port" >/dev/null 2>&1 && echo "GCS is ready."
  else
    ray health-check --address "$host:$port" &&
      echo "GCS is ready. Any error messages above can be safely ignored."
  fi
}
begin=$(date +%s)
report_at=0
check_at=10
while true; do
  elapsed=$(( $(date +%s) - begin ))
  if [ "$elapsed" -ge "$check_at" ] ||
      timeout 2 bash -c ': <>"/dev/tcp/$0/$1"' "$host" "$port" 2>/dev/null; then
    check && break
    check_at=$(( elapsed + 10 ))
  fi
  if [ "$elapsed" -ge "$report_at" ]; then
    if [ "$elapsed" -le 120 ]; then
      echo "$elapsed seconds elapsed: Waiting for GCS to be ready."
    else
      echo "$elapsed seconds elapsed: Still waiting for GCS to be ready." \
        "See https://docs.ray.io/en/master/cluster/kubernetes/troubleshooting.html"
    fi
    report_at=$(( elapsed + 5 ))
  fi
  sleep 0.3
done
)sh";

// A port that names a variable of the Ray container is expanded, as `ray start` expands it;
// anything else is a plain word.
std::string port_word(std::string_view port) {
  const bool variable = port.starts_with('$') && std::ranges::all_of(port.substr(1), [](char c) {
                          return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                                 (c >= '0' && c <= '9') || c == '_' || c == '{' || c == '}';
                        });
  return variable ? fmt::format("\"{}\"", port) : shell_quote(port);
}

void copy_field(const JsonObject& from, JsonObject& to, std::string_view key) {
  if (has_value(from, key)) to[key] = from.at(key);
}

}  // namespace

std::string wait_gcs_script(std::string_view host, std::string_view port) {
  return fmt::format("host={} port={}{}", shell_quote(host), port_word(port), kScript);
}

JsonObject build_wait_gcs_container(const JsonObject& ray_container, const RayCluster& cluster,
                                    const BuildOptions& options) {
  JsonObject container{{"name", kContainerWaitGcs}};
  copy_field(ray_container, container, "image");
  container["command"] = bash_command(options);
  container["args"] = JsonArray{wait_gcs_script(
      head_host(cluster, options), gcs_port(start_params(cluster.spec.headGroupSpec)))};
  copy_field(ray_container, container, "env");
  container["resources"] = fixed_resources("200m", "256Mi");
  copy_field(ray_container, container, "volumeMounts");
  copy_field(ray_container, container, "imagePullPolicy");
  copy_field(ray_container, container, "securityContext");
  return container;
}

}  // namespace manta::ray
