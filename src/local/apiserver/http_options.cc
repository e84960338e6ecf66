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

Result<void> read_propagation(std::string_view policy, kube::Request& request) {
  request.propagation = propagation_of(policy);
  if (request.propagation != kube::Propagation::Default) return {};
  FieldErrors errors;
  errors.not_supported("propagationPolicy", Json(policy), {"Foreground", "Background", "Orphan"});
  return failed(errors.to_error({"", "v1", "", "DeleteOptions"}, ""));
}

/// Our name for who writes: the first part of the User-Agent, as the server takes it.
std::string default_manager(const Caller& caller) {
  return caller.user_agent.substr(0, caller.user_agent.find('/'));
}

constexpr std::int64_t kMaxManager = 128;

Error unknown_dry_run(std::string_view value, std::string kind) {
  FieldErrors errors;
  errors.add("dryRun", "FieldValueNotSupported",
             fmt::format("Unsupported value: [\"{}\"]: supported values: \"All\"", value));
  return errors.to_error({"meta.k8s.io", "v1", "", std::move(kind)}, "");
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
  if (const auto size = first(query, "fieldManager").size(); size > kMaxManager) {
    FieldErrors errors;
    errors.too_long("fieldManager", kMaxManager);
    return failed(errors.to_error({"meta.k8s.io", "v1", "", options_kind(http.method)}, ""));
  }
  request.field_validation = first(query, "fieldValidation");
  request.force = is_true(first(query, "force"));
  if (const auto dry = first(query, "dryRun"); !dry.empty()) {
    if (dry != "All") return failed(unknown_dry_run(dry, options_kind(http.method)));
    request.dry_run = true;
  }
  auto limit = number(query, "limit");
  if (!limit) return failed(limit.error());
  request.limit = limit->value_or(0);
  return {};
}

Result<void> check_list_options(const QueryMap& query, bool watching) {
  if (auto seconds = number(query, "timeoutSeconds"); !seconds) return failed(seconds.error());
  const auto match = first(query, "resourceVersionMatch");
  const auto version = first(query, "resourceVersion");
  const auto initial = query.contains("sendInitialEvents");
  FieldErrors errors;
  const auto forbid = [&](std::string_view field, std::string_view why) {
    errors.forbidden(std::string(field), why);
  };
  if (initial) {
    if (match != "NotOlderThan")
      forbid("resourceVersionMatch",
             "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan");
    if (!watching) {
      errors = {};
      forbid("sendInitialEvents", "sendInitialEvents is forbidden for list");
    }
  } else if (watching && !match.empty()) {
    forbid("resourceVersionMatch",
           "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided");
  } else if (!match.empty()) {
    if (version.empty())
      forbid("resourceVersionMatch",
             "resourceVersionMatch is forbidden unless resourceVersion is provided");
    if (!first(query, "continue").empty())
      forbid("resourceVersionMatch", "resourceVersionMatch is forbidden when continue is provided");
    if (match != "Exact" && match != "NotOlderThan")
      errors.not_supported("resourceVersionMatch", Json(match), {"Exact", "NotOlderThan", ""});
    if (match == "Exact" && version == "0")
      forbid("resourceVersionMatch",
             "resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\"");
  }
  if (errors.empty()) return {};
  return failed(errors.to_error({"meta.k8s.io", "v1", "", "ListOptions"}, ""));
}

Result<void> read_delete_options(const Json& body, const QueryMap& query, kube::Request& request) {
  auto grace = number(query, "gracePeriodSeconds");
  if (!grace) return failed(grace.error());
  request.grace_period_seconds = *grace;
  if (const auto policy = first(query, "propagationPolicy"); !policy.empty())
    if (auto ok = read_propagation(policy, request); !ok) return ok;
  if (const auto orphan = first(query, "orphanDependents"); !orphan.empty())
    request.propagation =
        is_true(orphan) ? kube::Propagation::Orphan : kube::Propagation::Background;
  if (!body.is_object()) return {};
  if (const auto* value = find(body, {"gracePeriodSeconds"}); value && value->is_int64())
    request.grace_period_seconds = value->get_int64();
  if (const auto policy = string_at(body, {"propagationPolicy"}); !policy.empty()) {
    if (auto ok = read_propagation(policy, request); !ok) return ok;
    if (const auto* orphan = find(body, {"orphanDependents"}); orphan && orphan->is_bool()) {
      FieldErrors errors;
      errors.invalid("propagationPolicy", Json(policy),
                     "orphanDependents and deletionPropagation cannot be both set");
      return failed(errors.to_error({"meta.k8s.io", "v1", "", "DeleteOptions"}, ""));
    }
  }
  if (const auto* orphan = find(body, {"orphanDependents"}); orphan && orphan->is_bool())
    request.propagation =
        orphan->get_bool() ? kube::Propagation::Orphan : kube::Propagation::Background;
  request.precondition_uid = string_at(body, {"preconditions", "uid"});
  request.precondition_resource_version = string_at(body, {"preconditions", "resourceVersion"});
  for (const auto& value : array_at(body, {"dryRun"})) {
    // Whoever asks for a trial in a word that we do not know must not lose the object.
    if (value != Json("All"))
      return failed(unknown_dry_run(
          value.is_string() ? std::string_view(value.get_string()) : std::string_view(),
          "DeleteOptions"));
    request.dry_run = true;
  }
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
