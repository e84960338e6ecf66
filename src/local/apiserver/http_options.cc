#include "local/apiserver/http_options.h"

#include "fmt/format.h"
#include "local/apiserver/field_errors.h"

namespace manta::local {
namespace {

kube::Propagation propagation_of(std::string_view text) {
  if (text == "Orphan") return kube::Propagation::Orphan;
  if (text == "Background") return kube::Propagation::Background;
  if (text == "Foreground") return kube::Propagation::Foreground;
  return kube::Propagation::Default;
}

/// Our name for who writes: the first part of the User-Agent, as the server takes it.
std::string default_manager(const Caller& caller) {
  return caller.user_agent.substr(0, caller.user_agent.find('/'));
}

std::string options_kind(std::string_view method) {
  return method == "POST"     ? "CreateOptions"
         : method == "PUT"    ? "UpdateOptions"
         : method == "DELETE" ? "DeleteOptions"
                              : "PatchOptions";
}

}  // namespace

Result<void> read_options(const HttpRequest& http, const QueryMap& query, kube::Request& request) {
  request.label_selector = first(query, "labelSelector");
  request.field_selector = first(query, "fieldSelector");
  request.resource_version = first(query, "resourceVersion");
  request.resource_version_match = first(query, "resourceVersionMatch");
  request.continue_ = first(query, "continue");
  request.field_manager = first(query, "fieldManager");
  if (request.field_manager.empty()) request.field_manager = default_manager(http.caller);
  request.field_validation = first(query, "fieldValidation");
  request.force = is_true(first(query, "force"));
  if (const auto dry = first(query, "dryRun"); !dry.empty()) {
    if (dry != "All") {
      FieldErrors errors;
      errors.add("dryRun", "FieldValueNotSupported",
                 fmt::format("Unsupported value: [\"{}\"]: supported values: \"All\"", dry));
      return failed(errors.to_error({"meta.k8s.io", "v1", "", options_kind(http.method)}, ""));
    }
    request.dry_run = true;
  }
  auto limit = number(query, "limit");
  if (!limit) return failed(limit.error());
  request.limit = limit->value_or(0);
  return {};
}

Result<void> read_delete_options(const Json& body, const QueryMap& query, kube::Request& request) {
  auto grace = number(query, "gracePeriodSeconds");
  if (!grace) return failed(grace.error());
  request.grace_period_seconds = *grace;
  request.propagation = propagation_of(first(query, "propagationPolicy"));
  if (const auto orphan = first(query, "orphanDependents"); !orphan.empty())
    request.propagation =
        is_true(orphan) ? kube::Propagation::Orphan : kube::Propagation::Background;
  if (!body.is_object()) return {};
  if (const auto* value = find(body, {"gracePeriodSeconds"}); value && value->is_int64())
    request.grace_period_seconds = value->get_int64();
  if (const auto policy = string_at(body, {"propagationPolicy"}); !policy.empty()) {
    request.propagation = propagation_of(policy);
    if (request.propagation == kube::Propagation::Default) {
      FieldErrors errors;
      errors.not_supported("propagationPolicy", Json(policy),
                           {"Foreground", "Background", "Orphan"});
      return failed(errors.to_error({"", "v1", "", "DeleteOptions"}, ""));
    }
  }
  if (const auto* orphan = find(body, {"orphanDependents"}); orphan && orphan->is_bool())
    request.propagation =
        orphan->get_bool() ? kube::Propagation::Orphan : kube::Propagation::Background;
  request.precondition_uid = string_at(body, {"preconditions", "uid"});
  request.precondition_resource_version = string_at(body, {"preconditions", "resourceVersion"});
  for (const auto& value : array_at(body, {"dryRun"}))
    if (value == Json("All")) request.dry_run = true;
  return {};
}

Result<LogOptions> read_log_options(const QueryMap& query, Time now) {
  LogOptions options;
  options.follow = is_true(first(query, "follow"));
  options.previous = is_true(first(query, "previous"));
  options.timestamps = is_true(first(query, "timestamps"));
  for (const auto& [name, slot] : {std::pair{"tailLines", &options.tail_lines},
                                   std::pair{"limitBytes", &options.limit_bytes}}) {
    auto value = number(query, name);
    if (!value) return failed(value.error());
    *slot = *value;
  }
  auto seconds = number(query, "sinceSeconds");
  if (!seconds) return failed(seconds.error());
  if (*seconds) options.since = now - std::chrono::seconds{**seconds};
  if (const auto since = first(query, "sinceTime"); !since.empty()) {
    auto time = parse_rfc3339(since);
    if (!time) return failed(bad_request(fmt::format("sinceTime: {}", time.error().message)));
    options.since = *time;
  }
  return options;
}

}  // namespace manta::local
