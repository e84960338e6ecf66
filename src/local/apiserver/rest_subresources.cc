// Subresources that are not simply a part of their object, and the review kinds that store nothing.
#include "fmt/format.h"
#include "local/apiserver/crd.h"
#include "local/apiserver/field_errors.h"
#include "local/apiserver/json_edit.h"
#include "local/apiserver/rest.h"

namespace manta::local {
namespace {

const Json* at_steps(const Json& object, const std::vector<std::string>& steps) {
  const Json* at = &object;
  for (const auto& step : steps) {
    if (!at->is_object()) return nullptr;
    at = at->get_object().if_contains(step);
    if (!at) return nullptr;
  }
  return at;
}

void set_steps(Json& object, const std::vector<std::string>& steps, Json value) {
  Json* at = &object;
  for (const auto& step : steps) {
    if (!at->is_object()) *at = JsonObject{};
    at = &at->get_object()[step];
  }
  *at = std::move(value);
}

ScalePaths scale_paths(const Kind& kind) {
  if (!kind.builtin()) return *kind.crd->scale;
  return {{"spec", "replicas"}, {"status", "replicas"}, {}};
}

std::string selector_text(const Kind& kind, const ScalePaths& paths, const Json& object) {
  if (!kind.builtin()) {
    if (paths.selector.empty()) return {};
    const auto* value = at_steps(object, paths.selector);
    return value && value->is_string() ? std::string(value->get_string()) : std::string();
  }
  const auto* selector = find(object, {"spec", "selector"});
  if (!selector) return {};
  auto parsed = kube::LabelSelector::from_json(*selector);
  return parsed ? parsed->to_string() : std::string();
}

Json scale_of(const Kind& kind, const ScalePaths& paths, const Json& object) {
  JsonObject metadata;
  for (const auto* field : {"name", "namespace", "uid", "resourceVersion", "creationTimestamp"})
    if (const auto* value = find(object, {"metadata", field})) metadata[field] = *value;
  const auto* wanted = at_steps(object, paths.spec_replicas);
  const auto* have = at_steps(object, paths.status_replicas);
  JsonObject spec, status{{"replicas", have && have->is_int64() ? *have : Json(0)}};
  if (wanted && wanted->is_int64()) spec["replicas"] = *wanted;
  if (auto text = selector_text(kind, paths, object); !text.empty()) status["selector"] = text;
  return JsonObject{{"kind", "Scale"},
                    {"apiVersion", "autoscaling/v1"},
                    {"metadata", std::move(metadata)},
                    {"spec", std::move(spec)},
                    {"status", std::move(status)}};
}

/// A body may leave out what the path says, not gainsay it.
bool names_same(const kube::Request& request, std::string_view name) {
  const auto own = string_at(request.body, {"metadata", "name"});
  return own.empty() || own == name;
}

/// The answer to a POST that makes no object of its own.
Json created_status() {
  return JsonObject{{"kind", "Status"},
                    {"apiVersion", "v1"},
                    {"metadata", JsonObject{}},
                    {"status", "Success"},
                    {"code", 201}};
}

}  // namespace

Result<Json> Rest::scale(const Kind& kind, kube::Request& request, Context& context) {
  auto current = get(kind, request.namespace_, request.name);
  if (!current) return current;
  const auto paths = scale_paths(kind);
  Json wanted = scale_of(kind, paths, *current);
  if (request.verb == kube::Verb::Get) return wanted;
  if (request.verb == kube::Verb::Update)
    wanted = request.body;
  else if (request.verb == kube::Verb::Patch) {
    if (request.patch_type == kube::PatchType::Json) {
      if (auto done = json_patch(wanted, request.body); !done) return failed(done.error());
    } else {
      merge_patch(wanted, request.body);
    }
  }
  const auto replicas = int_at(wanted, {"spec", "replicas"});
  if (replicas < 0) {
    FieldErrors errors;
    errors.invalid("spec.replicas", Json(replicas), "must be greater than or equal to 0");
    return failed(errors.to_error({"autoscaling", "v1", "scales", "Scale"}, request.name));
  }
  Json changed = *current;
  set_steps(changed, paths.spec_replicas, Json(replicas));
  if (const auto version = string_at(wanted, {"metadata", "resourceVersion"}); !version.empty())
    metadata_of(changed)["resourceVersion"] = version;
  auto inner = request;
  inner.subresource = "scale";
  inner.patch_type = kube::PatchType::Merge;
  auto written = replace(kind, std::move(*current), std::move(changed), inner, context);
  if (!written) return written;
  return scale_of(kind, paths, *written);
}

Result<Json> Rest::bind(const kube::Request& request, Context& context) {
  const auto pods = kinds_.find("", "v1", "pods");
  const auto name = request.name.empty()
                        ? std::string(string_at(request.body, {"metadata", "name"}))
                        : request.name;
  if (!names_same(request, name))
    return failed(bad_request("name in URL does not match name in Binding object"));
  auto pod = get(*pods, request.namespace_, name);
  if (!pod) return pod;
  // Whoever chose a node for an earlier Pod of this name is too late.
  for (const auto& [field, called] :
       {std::pair{"uid", "UID"}, {"resourceVersion", "ResourceVersion"}}) {
    const auto wanted = string_at(request.body, {"metadata", field});
    const auto has = string_at(*pod, {"metadata", field});
    if (!wanted.empty() && wanted != has)
      return failed(conflict({"", "v1", "pods/binding", "Binding"}, name,
                             fmt::format("Precondition failed: {0} in precondition: {1}, {0} in "
                                         "object meta: {2}",
                                         called, wanted, has)));
  }
  const auto node = std::string(string_at(request.body, {"target", "name"}));
  if (node.empty()) {
    FieldErrors errors;
    errors.required("target.name");
    return failed(errors.to_error({"", "v1", "bindings", "Binding"}, name));
  }
  if (find(*pod, {"metadata", "deletionTimestamp"}))
    return failed(
        conflict({"", "v1", "pods/binding", "Binding"}, name,
                 fmt::format("pod {} is being deleted, cannot be assigned to a host", name)));
  if (const auto has = string_at(*pod, {"spec", "nodeName"}); !has.empty())
    return failed(conflict({"", "v1", "pods/binding", "Binding"}, name,
                           fmt::format("pod {} is already assigned to node \"{}\"", name, has)));
  if (!array_at(*pod, {"spec", "schedulingGates"}).empty())
    return failed(conflict({"", "v1", "pods/binding", "Binding"}, name,
                           fmt::format("pod {} has non-empty .spec.schedulingGates", name)));
  Json object = std::move(*pod);
  object_made_at(object, {"spec"})["nodeName"] = node;
  for (const auto& [key, value] : object_at(request.body, {"metadata", "annotations"}))
    object_made_at(object, {"metadata", "annotations"})[key] = value;
  auto& status = object_made_at(object, {"status"});
  JsonArray conditions;
  for (const auto& condition : array_at(object, {"status", "conditions"}))
    if (string_at(condition, {"type"}) != "PodScheduled") conditions.push_back(condition);
  conditions.push_back(JsonObject{{"type", "PodScheduled"},
                                  {"status", "True"},
                                  {"lastProbeTime", nullptr},
                                  {"lastTransitionTime", format_rfc3339(loop_.now())}});
  status["conditions"] = std::move(conditions);
  auto written = write(*pods, std::move(object), request.dry_run);
  if (!written) return written;
  context.created = true;
  return created_status();
}

Result<Json> Rest::evict(const Kind& kind, kube::Request& request, Context& context) {
  if (!names_same(request, request.name))
    return failed(bad_request("name in URL does not match name in Eviction object"));
  kube::Request deletion;
  deletion.verb = kube::Verb::Delete;
  deletion.namespace_ = request.namespace_;
  deletion.name = request.name;
  deletion.dry_run = request.dry_run;
  if (const auto* grace = find(request.body, {"deleteOptions", "gracePeriodSeconds"});
      grace && grace->is_int64())
    deletion.grace_period_seconds = grace->get_int64();
  deletion.precondition_uid =
      std::string(string_at(request.body, {"deleteOptions", "preconditions", "uid"}));
  auto removed = remove(kind, deletion, context);
  if (!removed) return removed;
  context.created = true;
  return created_status();
}

Result<Json> Rest::finalize_namespace(const Kind& kind, kube::Request& request, Context&) {
  auto current = get(kind, "", request.name);
  if (!current) return current;
  if (const auto version = string_at(request.body, {"metadata", "resourceVersion"});
      !version.empty() && version != string_at(*current, {"metadata", "resourceVersion"}))
    return failed(object_modified(kind.resource, request.name));
  Json object = std::move(*current);
  JsonArray finalizers = array_at(request.body, {"spec", "finalizers"});
  auto& spec = object_made_at(object, {"spec"});
  const bool free = finalizers.empty();
  if (free)
    spec.erase("finalizers");
  else
    spec["finalizers"] = std::move(finalizers);
  if (free && find(object, {"metadata", "deletionTimestamp"}) &&
      array_at(object, {"metadata", "finalizers"}).empty())
    return erase(kind, std::move(object), request.dry_run);
  return write(kind, std::move(object), request.dry_run);
}

Result<Json> Rest::create_token(const Kind& kind, kube::Request& request, Context& context) {
  auto account = get(kind, request.namespace_, request.name);
  if (!account) return account;
  const auto seconds = int_at(request.body, {"spec", "expirationSeconds"}, 3600);
  if (seconds < 600) {
    FieldErrors errors;
    errors.invalid("spec.expirationSeconds", Json(seconds),
                   "may not specify a duration less than 10 minutes");
    return failed(
        errors.to_error({"authentication.k8s.io", "v1", "tokenrequests", "TokenRequest"}, ""));
  }
  auto token = fmt::format("manta-sa-{}{}", random_uuid(random_), random_uuid(random_));
  Caller caller;
  caller.user = fmt::format("system:serviceaccount:{}:{}", request.namespace_, request.name);
  caller.groups = {"system:serviceaccounts",
                   fmt::format("system:serviceaccounts:{}", request.namespace_),
                   "system:authenticated"};
  const auto until = loop_.now() + std::chrono::seconds{seconds};
  std::erase_if(tokens_, [&](const auto& entry) { return entry.second.until < loop_.now(); });
  if (!request.dry_run) tokens_[token] = {caller, until};
  Json answer = request.body.is_object() ? request.body : Json(JsonObject{});
  auto& members = answer.get_object();
  members["kind"] = "TokenRequest";
  members["apiVersion"] = "authentication.k8s.io/v1";
  object_made_at(answer, {"metadata"})["name"] = request.name;
  metadata_of(answer)["namespace"] = request.namespace_;
  object_made_at(answer, {"spec"})["expirationSeconds"] = seconds;
  members["status"] = JsonObject{{"token", token}, {"expirationTimestamp", format_rfc3339(until)}};
  context.created = true;
  return answer;
}

const Caller* Rest::caller_of_token(std::string_view token) const {
  const auto found = tokens_.find(token);
  const bool valid = found != tokens_.end() && loop_.now() <= found->second.until;
  return valid ? &found->second.caller : nullptr;
}

std::optional<Result<Json>> Rest::review(const Kind& kind, kube::Request& request,
                                         Context& context) {
  const auto& group = kind.resource.group;
  if (group != "authorization.k8s.io" && group != "authentication.k8s.io") return std::nullopt;
  if (request.verb != kube::Verb::Create)
    return failed(
        Error{.code = ErrorCode::MethodNotAllowed,
              .message = "the server does not allow this method on the requested resource",
              .http_status = 405});
  Json answer = request.body.is_object() ? request.body : Json(JsonObject{});
  auto& members = answer.get_object();
  members["kind"] = kind.resource.kind;
  members["apiVersion"] = kind.resource.api_version();
  object_made_at(answer, {"metadata"});
  auto user = [](const Caller& caller) {
    JsonArray groups;
    for (const auto& name : caller.groups) groups.push_back(Json(name));
    return JsonObject{{"username", caller.user}, {"groups", std::move(groups)}};
  };
  if (kind.resource.plural == "selfsubjectrulesreviews")
    members["status"] = JsonObject{
        {"resourceRules", JsonArray{JsonObject{{"verbs", JsonArray{"*"}},
                                               {"apiGroups", JsonArray{"*"}},
                                               {"resources", JsonArray{"*"}}}}},
        {"nonResourceRules",
         JsonArray{JsonObject{{"verbs", JsonArray{"*"}}, {"nonResourceURLs", JsonArray{"*"}}}}},
        {"incomplete", false}};
  else if (kind.resource.plural == "selfsubjectreviews")
    members["status"] = JsonObject{{"userInfo", user(context.caller)}};
  else if (kind.resource.plural == "tokenreviews") {
    const auto* found = caller_of_token(string_at(request.body, {"spec", "token"}));
    if (found == nullptr)
      members["status"] = JsonObject{{"authenticated", false}, {"user", JsonObject{}}};
    else
      members["status"] = JsonObject{{"authenticated", true}, {"user", user(*found)}};
  } else {
    members["status"] =
        JsonObject{{"allowed", true}, {"reason", "the embedded server has one user"}};
  }
  context.created = true;
  return answer;
}

}  // namespace manta::local
