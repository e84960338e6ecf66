#include "ray/builders/tls.h"

#include "ray/builders/edit.h"
#include "ray/labels.h"
#include "ray/names.h"

#include <fmt/format.h>

namespace manta::ray {
namespace {

// cert-manager reissues the certificate once the operator has told it the Pod's address; until then
// peers would refuse it. The Secret's files change under the mount, so reading again is enough.
constexpr std::string_view kWaitScript = R"sh(cert=/etc/ray/tls/tls.crt
: "${POD_IP:=$(hostname -i 2>/dev/null | awk '{print $1}')}"
if ! command -v openssl >/dev/null 2>&1; then
  echo "openssl is not in this image, so the certificate cannot be checked" >&2
  exit 1
fi
echo "Waiting for TLS cert to include IP SAN for ${POD_IP}..."
pattern=$(printf '%s' "$POD_IP" | sed 's/[.]/[.]/g')
until openssl x509 -in "$cert" -noout -text 2>/dev/null |
    grep -qE "IP Address:${pattern}([^0-9.]|\$)"; do
  sleep 2
done
echo "TLS cert now includes IP SAN for ${POD_IP}"
)sh";

void copy_field(const JsonObject& from, JsonObject& to, std::string_view key) {
  if (has_value(from, key)) to[key] = from.at(key);
}

JsonObject wait_container(const JsonObject& ray) {
  JsonObject container{{"name", kContainerWaitTls}};
  copy_field(ray, container, "image");
  container["command"] = JsonArray{"sh", "-c"};
  container["args"] = JsonArray{kWaitScript};
  append_env_field(container, kEnvPodIp, "status.podIP");
  container["resources"] = fixed_resources("50m", "64Mi");
  append_mount(container, kVolumeTls, kPathTls, /*read_only=*/true);
  copy_field(ray, container, "imagePullPolicy");
  copy_field(ray, container, "securityContext");
  return container;
}

}  // namespace

void add_tls(JsonObject& container) {
  default_env(container, kEnvUseTls, "1");
  default_env(container, kEnvTlsCert, fmt::format("{}/tls.crt", kPathTls));
  default_env(container, kEnvTlsKey, fmt::format("{}/tls.key", kPathTls));
  default_env(container, kEnvTlsCa, fmt::format("{}/ca.crt", kPathTls));
  if (!mounts_volume(container, kVolumeTls) && !mounts_path(container, kPathTls))
    append_mount(container, kVolumeTls, kPathTls, /*read_only=*/true);
}

void add_tls_to_pod(JsonObject& pod_spec, const RayCluster& cluster, RayNode node) {
  const std::string& name = cluster.meta.key.name;
  add_tls(ray_container(pod_spec));
  JsonArray& inits = array_in(pod_spec, "initContainers");
  for (Json& init : inits)
    if (init.is_object() && text_in(init.get_object(), "name") == kContainerWaitGcs)
      add_tls(init.get_object());
  if (find_named(inits, kContainerWaitTls) == nullptr)
    inits.insert(inits.begin(), wait_container(ray_container(pod_spec)));
  const std::string secret =
      node == RayNode::Head ? head_tls_secret_name(name) : worker_tls_secret_name(name);
  default_volume(pod_spec,
                 JsonObject{{"name", kVolumeTls}, {"secret", JsonObject{{"secretName", secret}}}});
}

}  // namespace manta::ray
