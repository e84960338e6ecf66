#include "operator/webhooks/admission.h"

#include "base/log.h"
#include "kube/api.h"
#include "ray/spec_hash.h"
#include "ray/types.h"
#include "ray/validation.h"

#include <fmt/format.h>

#include <algorithm>

namespace manta::operator_ {
namespace {

struct Webhook {
  std::string path;
  const kube::Resource* resource;
  std::string logger;
};
const std::vector<Webhook>& webhooks() {
  static const std::vector<Webhook> all = {
      {"/validate-ray-io-v1-raycluster", &ray::kRayClusters, "raycluster-resource"},
      {"/validate-ray-io-v1-rayjob", &ray::kRayJobs, "rayjob-resource"},
      {"/validate-ray-io-v1-rayservice", &ray::kRayServices, "rayservice-resource"}};
  return all;
}

using Causes = std::vector<FieldCause>;

// A field error as apimachinery words it, but for the field's path.
FieldCause invalid(std::string field, std::string_view value, std::string_view message) {
  return {.field = std::move(field),
          .reason = "FieldValueInvalid",
          .message = fmt::format("Invalid value: {}: {}", value, message)};
}

void check_name(Causes& causes, const kube::ObjectMeta& meta, const Result<void>& metadata) {
  if (!metadata)
    causes.push_back(invalid("metadata.name", dump_json(Json(std::string_view(meta.key.name))),
                             metadata.error().message));
}

Result<Causes> check_cluster(const Json& object) {
  const auto cluster = ray::parse_ray_cluster(object);
  if (!cluster) return failed(cluster.error());
  Causes causes;
  check_name(causes, cluster->meta, ray::validate_cluster_metadata(cluster->meta));
  if (const auto i = ray::duplicate_worker_group(cluster->spec))
    causes.push_back(invalid(fmt::format("spec.workerGroupSpecs[{}]", *i),
                             ray::canonical_text(cluster->spec.workerGroupSpecs[*i]),
                             "worker group names must be unique"));
  return causes;
}

template <class Object>
Result<Causes> check_metadata(const Result<Object>& object,
                              Result<void> (*validate)(const kube::ObjectMeta& meta)) {
  if (!object) return failed(object.error());
  Causes causes;
  check_name(causes, object->meta, validate(object->meta));
  return causes;
}

Result<Causes> check(std::string_view kind, const Json& object) {
  if (kind == ray::kRayClusters.kind) return check_cluster(object);
  if (kind == ray::kRayJobs.kind)
    return check_metadata(ray::parse_ray_job(object), ray::validate_job_metadata);
  return check_metadata(ray::parse_ray_service(object), ray::validate_service_metadata);
}

Error denial(std::string_view kind, std::string_view name, Causes causes) {
  std::string text;
  for (const auto& cause : causes)
    text += fmt::format("{}{}: {}", text.empty() ? "" : ", ", cause.field, cause.message);
  if (causes.size() > 1) text = "[" + text + "]";
  return {.code = ErrorCode::Invalid,
          .message = fmt::format("{}.ray.io {} is invalid: {}", kind, dump_json(Json(name)), text),
          .causes = std::move(causes)};
}

Json review_of(std::string_view uid, bool allowed, Json status) {
  return JsonObject{
      {"kind", "AdmissionReview"},
      {"apiVersion", "admission.k8s.io/v1"},
      {"response", JsonObject{{"uid", uid}, {"allowed", allowed}, {"status", std::move(status)}}}};
}

Json unreadable(std::string_view uid, std::string_view message) {
  return review_of(uid, false,
                   JsonObject{{"metadata", JsonObject{}}, {"message", message}, {"code", 400}});
}

// What both operations carry must be readable, though only the new object is judged.
Result<void> judge(const Webhook& webhook, const Json& request) {
  const auto operation = string_at(request, {"operation"});
  if (operation == "DELETE" || operation == "CONNECT") return {};
  if (operation != "CREATE" && operation != "UPDATE")
    return failed(ErrorCode::BadRequest, fmt::format("unknown operation \"{}\"", operation));
  const auto* object = find(request, {"object"});
  if (!object) return failed(ErrorCode::BadRequest, "there is no content to decode");
  log::info(operation == "CREATE" ? "validate create" : "validate update",
            {{"logger", webhook.logger}, {"name", string_at(*object, {"metadata", "name"})}});
  const auto& kind = webhook.resource->kind;
  if (operation == "UPDATE") {
    const auto* old = find(request, {"oldObject"});
    if (!old) return failed(ErrorCode::BadRequest, "there is no content to decode");
    if (auto readable = check(kind, *old); !readable)
      return failed(ErrorCode::BadRequest, readable.error().message);
  }
  return admit_object(kind, *object);
}

}  // namespace

const std::vector<std::string>& admission_paths() {
  static const std::vector<std::string> paths = [] {
    std::vector<std::string> out;
    for (const auto& webhook : webhooks()) out.push_back(webhook.path);
    return out;
  }();
  return paths;
}

Result<void> admit_object(std::string_view kind, const Json& object) {
  auto causes = check(kind, object);
  if (!causes) return failed(ErrorCode::BadRequest, causes.error().message);
  if (causes->empty()) return {};
  return failed(denial(kind, string_at(object, {"metadata", "name"}), std::move(*causes)));
}

Json review_admission(std::string_view path, std::string_view content_type, std::string_view body) {
  const auto webhook = std::ranges::find(webhooks(), path, &Webhook::path);
  MANTA_CHECK(webhook != webhooks().end());
  if (body.empty()) return unreadable("", "request body is empty");
  if (content_type.substr(0, content_type.find(';')) != "application/json")
    return unreadable("", fmt::format("contentType={}, expected application/json", content_type));
  const auto review = parse_json(body);
  if (!review) return unreadable("", review.error().message);
  const auto uid = string_at(*review, {"request", "uid"});
  if (string_at(*review, {"apiVersion"}) != "admission.k8s.io/v1" ||
      string_at(*review, {"kind"}) != "AdmissionReview")
    return unreadable(uid, "expected an AdmissionReview of admission.k8s.io/v1");
  const auto* request = find(*review, {"request"});
  if (!request || !request->is_object()) return unreadable(uid, "the review has no request");
  const auto verdict = judge(*webhook, *request);
  if (verdict) return review_of(uid, true, JsonObject{{"metadata", JsonObject{}}, {"code", 200}});
  const auto& error = verdict.error();
  if (error.code != ErrorCode::Invalid) return unreadable(uid, error.message);
  const auto name = string_at(*request, {"object", "metadata", "name"});
  return review_of(uid, false, kube::status_from_error(error, *webhook->resource, name));
}

}  // namespace manta::operator_
