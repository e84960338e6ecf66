#include "operator/discovery.h"

#include "controllers/batchscheduler/gang.h"

#include <fmt/format.h>

#include <charconv>

namespace manta::operator_ {
namespace {

Task<Result<Json>> get_json(kube::Api& api, std::string path) {
  auto answer = co_await api.raw({.path = path});
  if (!answer) co_return std::unexpected(answer.error().in("reading " + path));
  if (answer->status != 200) {
    const auto status = parse_json(answer->body);
    const auto error = kube::error_from_status(answer->status, status ? *status : Json());
    co_return failed(error.in(fmt::format("reading {}: HTTP status {}", path, answer->status)));
  }
  co_return parse_json(answer->body);
}

}  // namespace

Task<Result<Served>> discover(kube::Api& api) {
  auto groups = co_await get_json(api, "/apis");
  if (!groups) co_return std::unexpected(groups.error());
  Served served;
  for (const auto& group : array_at(*groups, {"groups"})) {
    const auto name = string_at(group, {"name"});
    if (name == "route.openshift.io" || name == "security.openshift.io" ||
        name == "config.openshift.io")
      served.openshift = true;
    if (name != "cert-manager.io") continue;
    for (const auto& version : array_at(group, {"versions"}))
      if (string_at(version, {"version"}) == "v1") served.cert_manager = true;
  }
  co_return served;
}

Task<Result<void>> find_workload_scheduling(kube::Api& api) {
  const auto version = controllers::batchscheduler::kPodGroups.api_version();
  const auto served = co_await get_json(api, "/apis/" + version);
  if (served) co_return Result<void>{};
  co_return failed(
      served.error().in(fmt::format("no served scheduling.k8s.io API version available for "
                                    "kubernetes-was-v1alpha2: {} API is not available",
                                    version)));
}

Task<Result<std::string>> server_version(kube::Api& api) {
  auto version = co_await get_json(api, "/version");
  if (!version) co_return std::unexpected(version.error());
  co_return std::string(string_at(*version, {"gitVersion"}));
}

Result<bool> version_at_least(std::string_view git_version, int major, int minor) {
  auto rest = git_version;
  if (rest.starts_with('v')) rest.remove_prefix(1);
  const auto number = [&rest]() -> std::optional<int> {
    int value = 0;
    const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), value);
    if (error != std::errc{}) return std::nullopt;
    rest.remove_prefix(static_cast<std::size_t>(end - rest.data()));
    if (rest.starts_with('.')) rest.remove_prefix(1);
    return value;
  };
  const auto have_major = number();
  const auto have_minor = number();
  if (!have_major || !have_minor)
    return failed(ErrorCode::Invalid, fmt::format("cannot read the version \"{}\"", git_version));
  return std::pair(*have_major, *have_minor) >= std::pair(major, minor);
}

}  // namespace manta::operator_
