#include "operator/crd_check.h"

#include "base/log.h"
#include "ray/reflect.h"
#include "ray/types.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace manta::operator_ {
namespace {

constexpr Duration kPause = std::chrono::seconds{2};
constexpr int kAttempts = 60;
constexpr std::size_t kShown = 12;

Json sample_of(const ray::TypeInfo& type) {
  using enum ray::TypeKind;
  switch (type.kind) {
    case Bool:
      return true;
    case Int32:
    case Int64:
    case Float:
      return 1;
    case String:
      return "x";
    case Quantity:
      return "1";
    case Time:
      return "2026-01-01T00:00:00Z";
    case StringMap:
      return JsonObject{{"k", "v"}};
    case Json:
      return nullptr;  // whatever it is, the key is what counts
    case Optional:
      return sample_of(*type.element);
    case List:
      return JsonArray{sample_of(*type.element)};
    case Map:
      return JsonObject{{"k", sample_of(*type.element)}};
    case Struct:
      break;
  }
  JsonObject object;
  for (const auto& field : type.fields) object[field.name] = sample_of(*field.type);
  return object;
}

std::string remedy(const kube::Resource& resource) {
  return fmt::format(
      "install this release's definitions: kubectl apply --server-side --force-conflicts -f "
      "deploy/crd/{}_{}.yaml",
      resource.group, resource.plural);
}

std::string definition(const kube::Resource& resource) {
  return fmt::format("CustomResourceDefinition {}.{}", resource.plural, resource.group);
}

// Fields of our own that upstream's definitions do not have. Without them what they ask for does
// not happen, and nothing else goes wrong, so that we can start where upstream was.
bool is_extra(const kube::Resource& resource, std::string_view path) {
  const auto key = path.substr(path.rfind('.') + 1);
  for (const auto* extra : {"retryStrategy", "concurrencyPolicy", "startingDeadlineSeconds",
                            "successfulJobsHistoryLimit", "failedJobsHistoryLimit"})
    if (key == extra) return true;
  const bool has_conditions = resource == ray::kRayClusters || resource == ray::kRayServices;
  return path == "status.conditions" && !has_conditions;
}

// Of the NotFounds the one that means the namespace, which is looked for after the object is read.
bool is_missing_namespace(const Error& error) { return error.message.starts_with("namespaces "); }

}  // namespace

Json schema_probe(const kube::Resource& resource) {
  const auto object = [&](const ray::TypeInfo& spec, const ray::TypeInfo& status) -> Json {
    return JsonObject{{"apiVersion", resource.api_version()},
                      {"kind", resource.kind},
                      {"metadata", JsonObject{{"name", "manta-schema-probe"}}},
                      {"spec", sample_of(spec)},
                      {"status", sample_of(status)}};
  };
  if (resource == ray::kRayClusters)
    return object(ray::type_of<ray::RayClusterSpec>(), ray::type_of<ray::RayClusterStatus>());
  if (resource == ray::kRayJobs)
    return object(ray::type_of<ray::RayJobSpec>(), ray::type_of<ray::RayJobStatus>());
  if (resource == ray::kRayServices)
    return object(ray::type_of<ray::RayServiceSpec>(), ray::type_of<ray::RayServiceStatus>());
  MANTA_CHECK(resource == ray::kRayCronJobs);
  return object(ray::type_of<ray::RayCronJobSpec>(), ray::type_of<ray::RayCronJobStatus>());
}

std::vector<std::string> unknown_fields(std::string_view message) {
  static constexpr std::string_view kMark = "unknown field \"";
  std::vector<std::string> fields;
  for (auto at = message.find(kMark); at != std::string_view::npos; at = message.find(kMark, at)) {
    at += kMark.size();
    const auto end = message.find('"', at);
    if (end == std::string_view::npos) break;
    fields.emplace_back(message.substr(at, end - at));
  }
  return fields;
}

namespace {

enum class Found { Fits, Missing };

Task<Result<Found>> probe(kube::Api& api, std::string namespace_, kube::Resource resource) {
  auto body = schema_probe(resource);
  ensure(body, {"metadata", "namespace"}) = std::string_view(namespace_);
  auto answer = co_await api.call({.verb = kube::Verb::Create,
                                   .resource = resource,
                                   .namespace_ = namespace_,
                                   .body = std::move(body),
                                   .field_validation = "Strict",
                                   .dry_run = true});
  if (answer) co_return Found::Fits;
  const auto& error = answer.error();
  if (error.code == ErrorCode::Unavailable && error.http_status == 0) co_return failed(error);
  if (error.code == ErrorCode::NotFound && !is_missing_namespace(error)) co_return Found::Missing;
  auto fields = unknown_fields(error.message);
  std::vector<std::string> extra;
  std::erase_if(fields, [&](const std::string& path) {
    if (is_extra(resource, path)) extra.push_back(path);
    return is_extra(resource, path);
  });
  if (!extra.empty())
    log::info("a CustomResourceDefinition lacks fields of optional features",
              {{"logger", "setup"},
               {"definition", definition(resource)},
               {"fields", fmt::format("{}", fmt::join(extra, ", "))}});
  // Any other refusal is about the probe's values, or comes from somebody else's webhook.
  if (fields.empty()) co_return Found::Fits;
  const auto count = fields.size();
  if (count > kShown) fields.resize(kShown);
  co_return failed(
      ErrorCode::Invalid,
      fmt::format("the stored {} lacks {} field{} that this operator needs: {}{}; {}",
                  definition(resource), count, count == 1 ? "" : "s", fmt::join(fields, ", "),
                  count > kShown ? ", …" : "", remedy(resource)));
}

}  // namespace

Task<Result<void>> check_crds(Loop& loop, kube::Api& api, std::string namespace_,
                              std::vector<kube::Resource> resources, std::stop_token stop) {
  for (const auto& resource : resources)
    for (int attempt = 1;; ++attempt) {
      const auto found = co_await probe(api, namespace_, resource);
      if (!found) co_return failed(found.error());
      if (*found == Found::Fits) break;
      if (attempt == kAttempts)
        co_return failed(ErrorCode::NotFound,
                         fmt::format("there is no {}; {}", definition(resource), remedy(resource)));
      if (attempt == 1)
        log::info("waiting for a CustomResourceDefinition",
                  {{"logger", "setup"}, {"missing", definition(resource)}});
      if (!co_await sleep(loop, kPause, stop)) co_return Result<void>{};
    }
  co_return Result<void>{};
}

}  // namespace manta::operator_
