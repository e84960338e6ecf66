// What the ServiceAccount admission plugin does to Pods. Source:
// plugin/pkg/admission/serviceaccount.
#include "base/random.h"
#include "fmt/format.h"
#include "local/apiserver/json_edit.h"
#include "local/apiserver/rest.h"
#include "local/apiserver/strategy.h"

#include <algorithm>

namespace manta::local {
namespace {

constexpr std::string_view kTokenPath = "/var/run/secrets/kubernetes.io/serviceaccount";

bool is_mounted(const JsonObject& container) {
  const auto* mounts = container.if_contains("volumeMounts");
  return mounts && mounts->is_array() &&
         std::ranges::any_of(mounts->get_array(), [](const Json& mount) {
           return string_at(mount, {"mountPath"}) == kTokenPath;
         });
}

void append(JsonObject& object, std::string_view list, JsonObject item) {
  auto& array = object[list];
  if (!array.is_array()) array = JsonArray{};
  array.get_array().push_back(std::move(item));
}

JsonObject token_volume(const std::string& name) {
  return {
      {"name", name},
      {"projected",
       JsonObject{
           {"sources",
            JsonArray{
                JsonObject{{"serviceAccountToken",
                            JsonObject{{"expirationSeconds", 3607}, {"path", "token"}}}},
                JsonObject{{"configMap",
                            JsonObject{{"name", "kube-root-ca.crt"},
                                       {"items", JsonArray{JsonObject{{"key", "ca.crt"},
                                                                      {"path", "ca.crt"}}}}}}},
                JsonObject{{"downwardAPI",
                            JsonObject{{"items", JsonArray{JsonObject{
                                                     {"path", "namespace"},
                                                     {"fieldRef",
                                                      JsonObject{{"apiVersion", "v1"},
                                                                 {"fieldPath",
                                                                  "metadata.namespace"}}}}}}}}}}},
           {"defaultMode", 420}}}};
}

}  // namespace

Result<void> apply_service_account(Rest& rest, Json& pod) {
  auto& spec = object_made_at(pod, {"spec"});
  std::string name(string_at(pod, {"spec", "serviceAccountName"}));
  if (name.empty()) name = "default";
  spec["serviceAccountName"] = name;
  spec["serviceAccount"] = name;
  const std::string ns(string_at(pod, {"metadata", "namespace"}));
  const auto accounts = rest.kinds().find("", "v1", "serviceaccounts");
  auto account = rest.read(*accounts, ns, name);
  if (!account) return failed(account.error());
  // The controller makes "default" a moment after its namespace; the token is waited for then.
  if (!*account && name != "default")
    return failed(
        Error{.code = ErrorCode::Forbidden,
              .message = fmt::format("pods \"{}\" is forbidden: error looking up service account "
                                     "{}/{}: serviceaccount \"{}\" not found",
                                     string_at(pod, {"metadata", "name"}), ns, name, name),
              .http_status = 403});
  static const Json kNone = JsonObject{};
  const Json& found = *account ? **account : kNone;
  const bool wanted = bool_at(pod, {"spec", "automountServiceAccountToken"},
                              bool_at(found, {"automountServiceAccountToken"}, true));
  if (!wanted) return {};
  const auto volume = "kube-api-access-" + random_suffix(rest.random());
  bool used = false;
  for (const auto* list : {"initContainers", "containers"})
    each_object(spec, list, [&](JsonObject& container) {
      if (is_mounted(container)) return;
      append(container, "volumeMounts",
             {{"name", volume}, {"readOnly", true}, {"mountPath", kTokenPath}});
      used = true;
    });
  if (used) append(spec, "volumes", token_volume(volume));
  return {};
}

}  // namespace manta::local
