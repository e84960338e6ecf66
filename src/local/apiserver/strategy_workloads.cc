// Jobs, CronJobs and the apps kinds. Source: Kubernetes pkg/apis/{batch,apps}/v1/defaults.go.
#include "fmt/format.h"
#include "local/apiserver/json_edit.h"
#include "local/apiserver/rest.h"
#include "local/apiserver/strategy.h"

namespace manta::local {
namespace {

JsonObject& spec_of(Json& object) { return object_made_at(object, {"spec"}); }

void default_template(JsonObject& spec) {
  auto& template_ = spec["template"];
  if (!template_.is_object()) template_ = JsonObject{};
  set_default(template_.get_object(), "metadata", JsonObject{});
  if (!template_.get_object().contains("spec")) template_.get_object()["spec"] = JsonObject{};
  default_pod_template(template_);
}

void default_status(Json& object, std::initializer_list<std::string_view> zeros = {}) {
  auto& status = object_made_at(object, {"status"});
  for (const auto zero : zeros) set_default(status, zero, 0);
}

bool labels_match(const JsonObject& selector, const JsonObject& labels) {
  for (const auto& [key, value] : selector) {
    const auto* own = labels.if_contains(key);
    if (!own || *own != value) return false;
  }
  return true;
}

/// validate_pod_spec works on a Pod's spec; templates add their own path before it.
void validate_template(const Json& object, FieldErrors& errors) {
  if (const auto* spec = find(object, {"spec", "template", "spec"}))
    validate_pod_spec(*spec, "spec.template.spec", errors);
}

}  // namespace

void default_job(Json& job) {
  auto& spec = spec_of(job);
  if (!spec.contains("completions") && !spec.contains("parallelism")) {
    spec["completions"] = 1;
    spec["parallelism"] = 1;
  }
  set_default(spec, "parallelism", 1);
  set_default(spec, "backoffLimit", spec.contains("backoffLimitPerIndex") ? 2147483647 : 6);
  set_default(spec, "completionMode", "NonIndexed");
  set_default(spec, "suspend", false);
  set_default(spec, "manualSelector", false);
  set_default(spec, "podReplacementPolicy",
              spec.contains("podFailurePolicy") ? "Failed" : "TerminatingOrFailed");
  default_template(spec);
  default_status(job);
}

Result<void> prepare_job(Rest&, const Kind&, Json& job) {
  if (bool_at(job, {"spec", "manualSelector"})) return {};
  const auto uid = std::string(string_at(job, {"metadata", "uid"}));
  const auto name = std::string(string_at(job, {"metadata", "name"}));
  auto label = [&](JsonObject& labels) {
    labels["batch.kubernetes.io/controller-uid"] = uid;
    labels["batch.kubernetes.io/job-name"] = name;
    labels["controller-uid"] = uid;
    labels["job-name"] = name;
  };
  label(object_made_at(job, {"spec", "template", "metadata", "labels"}));
  // The API server shows a Job without labels the template's.
  if (object_at(job, {"metadata", "labels"}).empty())
    ensure(job, {"metadata", "labels"}) =
        Json(object_at(job, {"spec", "template", "metadata", "labels"}));
  object_made_at(job, {"spec", "selector", "matchLabels"})["batch.kubernetes.io/controller-uid"] =
      uid;
  return {};
}

void validate_job(const Json& job, FieldErrors& errors) {
  for (const auto* field : {"parallelism", "completions", "activeDeadlineSeconds", "backoffLimit",
                            "ttlSecondsAfterFinished"})
    if (const auto* value = find(job, {"spec", field});
        value && value->is_int64() && value->get_int64() < 0)
      errors.invalid(fmt::format("spec.{}", field), *value, "must be greater than or equal to 0");
  validate_template(job, errors);
  const std::string policy(string_at(job, {"spec", "template", "spec", "restartPolicy"}));
  if (policy == "Always")
    errors.required("spec.template.spec.restartPolicy", "valid values: \"OnFailure\", \"Never\"");
  else if (policy != "OnFailure" && policy != "Never")
    errors.not_supported("spec.template.spec.restartPolicy", Json(policy), {"OnFailure", "Never"});
}

void validate_job_update(const Json& job, const Json& old, FieldErrors& errors) {
  auto immutable = [&](std::initializer_list<std::string_view> path, std::string text) {
    const auto* before = find(old, path);
    const auto* after = find(job, path);
    const Json none;
    if ((before ? *before : none) != (after ? *after : none))
      errors.invalid(std::move(text), after ? *after : none, "field is immutable");
  };
  immutable({"spec", "selector"}, "spec.selector");
  immutable({"spec", "completionMode"}, "spec.completionMode");
  if (string_at(job, {"spec", "completionMode"}) != "Indexed")
    immutable({"spec", "completions"}, "spec.completions");
  // A suspended Job that never started may still have its template's scheduling changed.
  const bool movable =
      bool_at(old, {"spec", "suspend"}) && string_at(old, {"status", "startTime"}).empty();
  if (!movable) immutable({"spec", "template"}, "spec.template");
}

void default_cron_job(Json& job) {
  auto& spec = spec_of(job);
  set_default(spec, "concurrencyPolicy", "Allow");
  set_default(spec, "suspend", false);
  set_default(spec, "successfulJobsHistoryLimit", 3);
  set_default(spec, "failedJobsHistoryLimit", 1);
  auto& template_ = object_made_at(job, {"spec", "jobTemplate"});
  set_default(template_, "metadata", JsonObject{});
  default_template(object_made_at(job, {"spec", "jobTemplate", "spec"}));
  default_status(job);
}

void default_deployment(Json& deployment) {
  auto& spec = spec_of(deployment);
  set_default(spec, "replicas", 1);
  set_default(spec, "revisionHistoryLimit", 10);
  set_default(spec, "progressDeadlineSeconds", 600);
  auto& strategy = object_made_at(deployment, {"spec", "strategy"});
  set_default(strategy, "type", "RollingUpdate");
  if (string_at(deployment, {"spec", "strategy", "type"}) == "RollingUpdate") {
    auto& rolling = object_made_at(deployment, {"spec", "strategy", "rollingUpdate"});
    set_default(rolling, "maxSurge", "25%");
    set_default(rolling, "maxUnavailable", "25%");
  }
  default_template(spec);
  default_status(deployment);
}

void default_replica_set(Json& set) {
  auto& spec = spec_of(set);
  set_default(spec, "replicas", 1);
  default_template(spec);
  default_status(set, {"replicas"});
}

void default_stateful_set(Json& set) {
  auto& spec = spec_of(set);
  set_default(spec, "replicas", 1);
  set_default(spec, "revisionHistoryLimit", 10);
  set_default(spec, "podManagementPolicy", "OrderedReady");
  auto& update = object_made_at(set, {"spec", "updateStrategy"});
  set_default(update, "type", "RollingUpdate");
  if (string_at(set, {"spec", "updateStrategy", "type"}) == "RollingUpdate") {
    auto& rolling = object_made_at(set, {"spec", "updateStrategy", "rollingUpdate"});
    set_default(rolling, "partition", 0);
    set_default(rolling, "maxUnavailable", 1);
  }
  auto& retention = object_made_at(set, {"spec", "persistentVolumeClaimRetentionPolicy"});
  set_default(retention, "whenDeleted", "Retain");
  set_default(retention, "whenScaled", "Retain");
  default_template(spec);
  default_status(set, {"replicas", "availableReplicas"});
}

void default_daemon_set(Json& set) {
  set_default(object_made_at(set, {"metadata", "annotations"}),
              "deprecated.daemonset.template.generation", "1");
  auto& spec = spec_of(set);
  set_default(spec, "revisionHistoryLimit", 10);
  auto& update = object_made_at(set, {"spec", "updateStrategy"});
  set_default(update, "type", "RollingUpdate");
  if (string_at(set, {"spec", "updateStrategy", "type"}) == "RollingUpdate") {
    auto& rolling = object_made_at(set, {"spec", "updateStrategy", "rollingUpdate"});
    set_default(rolling, "maxSurge", 0);
    set_default(rolling, "maxUnavailable", 1);
  }
  default_template(spec);
  default_status(set, {"currentNumberScheduled", "desiredNumberScheduled", "numberMisscheduled",
                       "numberReady"});
}

void validate_workload(const Json& workload, FieldErrors& errors) {
  if (const auto* replicas = find(workload, {"spec", "replicas"});
      replicas && replicas->is_int64() && replicas->get_int64() < 0)
    errors.invalid("spec.replicas", *replicas, "must be greater than or equal to 0");
  const auto* selector = find(workload, {"spec", "selector"});
  const auto& labels = object_at(workload, {"spec", "template", "metadata", "labels"});
  if (!selector || selector->is_null())
    errors.required("spec.selector");
  else if (object_at(*selector, {"matchLabels"}).empty() &&
           array_at(*selector, {"matchExpressions"}).empty())
    errors.invalid("spec.selector", *selector, "empty selector is invalid for deployment");
  else if (!labels_match(object_at(*selector, {"matchLabels"}), labels))
    errors.invalid("spec.template.metadata.labels", Json(labels),
                   "`selector` does not match template `labels`");
  validate_template(workload, errors);
  const std::string policy(string_at(workload, {"spec", "template", "spec", "restartPolicy"}));
  if (policy == "Never" || policy == "OnFailure")
    errors.not_supported("spec.template.spec.restartPolicy", Json(policy), {"Always"});
}

void validate_selector_update(const Json& workload, const Json& old, FieldErrors& errors) {
  const auto* before = find(old, {"spec", "selector"});
  const auto* after = find(workload, {"spec", "selector"});
  if (before && after && *before != *after)
    errors.invalid("spec.selector", *after, "field is immutable");
}

}  // namespace manta::local
