#include "local/apiserver/rest.h"

#include "base/log.h"
#include "fmt/format.h"
#include "local/apiserver/crd.h"
#include "local/apiserver/field_errors.h"
#include "local/apiserver/strategy.h"

#include <malloc.h>

namespace manta::local {
namespace {

bool is_core(const Kind& kind, std::string_view plural) {
  return kind.builtin() && kind.resource.group.empty() && kind.resource.plural == plural;
}

bool is_crd(const Kind& kind) {
  return kind.builtin() && kind.resource.plural == "customresourcedefinitions";
}

Error not_allowed(const Kind& kind, std::string_view verb) {
  return {.code = ErrorCode::MethodNotAllowed,
          .message = fmt::format("{} is not supported on resources of kind \"{}\"", verb,
                                 qualified_resource(kind.resource)),
          .http_status = 405};
}

constexpr std::string_view kCleanup = "customresourcecleanup.apiextensions.k8s.io";

}  // namespace

Rest::Rest(Loop& loop, Random& random, Store& store, ApiServerOptions options)
    : loop_(loop),
      random_(random),
      store_(store),
      options_(std::move(options)),
      types_(options_.types ? options_.types : std::make_shared<const SharedTypes>()),
      kinds_(types_->kinds()),
      hub_(loop, store) {
  load_crds();
  make_first_objects();
}

Rest::~Rest() = default;

void Rest::load_crds() {
  const auto crds = kinds_.find("apiextensions.k8s.io", "v1", "customresourcedefinitions");
  auto page = list(*crds, {});
  if (!page) return;
  for (const auto& text : page->items) {
    auto crd = parse_json(*text);
    if (!crd) continue;
    if (find(*crd, {"metadata", "deletionTimestamp"}))
      going_crds_.emplace(string_at(*crd, {"metadata", "name"}));
    kinds_.set_custom(string_at(*crd, {"spec", "group"}),
                      string_at(*crd, {"spec", "names", "plural"}), kinds_of_crd(*crd));
  }
}

/// What every cluster has from the start.
void Rest::make_first_objects() {
  auto make = [&](std::string_view group, std::string_view version, std::string_view plural,
                  std::string namespace_, Json object) {
    const auto kind = kinds_.find(group, version, plural);
    kube::Request request;
    request.verb = kube::Verb::Create;
    request.namespace_ = std::move(namespace_);
    request.body = std::move(object);
    request.field_manager = "kube-apiserver";
    Context context;
    return create(*kind, request, context);  // AlreadyExists on later starts
  };
  auto named = [](std::string_view api_version, std::string_view kind, std::string_view name) {
    return JsonObject{
        {"apiVersion", api_version}, {"kind", kind}, {"metadata", JsonObject{{"name", name}}}};
  };
  for (const auto& name : options_.namespaces)
    (void)make("", "v1", "namespaces", "", named("v1", "Namespace", name));
  for (const auto& [name, value, text] :
       {std::tuple{"system-cluster-critical", 2000000000,
                   "Used for system critical pods that must run in the cluster, but can be moved "
                   "to another node if necessary."},
        std::tuple{
            "system-node-critical", 2000001000,
            "Used for system critical pods that must not be moved from their current node."}}) {
    auto object = named("scheduling.k8s.io/v1", "PriorityClass", name);
    object["value"] = value;
    object["description"] = text;
    (void)make("scheduling.k8s.io", "v1", "priorityclasses", "", std::move(object));
  }
  if (std::ranges::find(options_.namespaces, "default") == options_.namespaces.end()) return;
  const auto slash = options_.service_cidr.find('/');
  auto first = options_.service_cidr.substr(0, slash);
  first = first.substr(0, first.rfind('.')) + ".1";
  const std::int64_t port = options_.advertise_port;
  auto service = named("v1", "Service", "kubernetes");
  service["metadata"].as_object()["labels"] =
      JsonObject{{"component", "apiserver"}, {"provider", "kubernetes"}};
  service["spec"] = JsonObject{
      {"clusterIP", first},
      {"ports", JsonArray{JsonObject{
                    {"name", "https"}, {"port", 443}, {"protocol", "TCP"}, {"targetPort", port}}}}};
  (void)make("", "v1", "services", "default", std::move(service));

  // Where this server listens may differ at each start.
  auto keep = [&](std::string_view group, std::string_view plural, const JsonObject& object) {
    auto made = make(group, "v1", plural, "default", object);
    if (!made && made.error().code != ErrorCode::AlreadyExists)
      log::error("cannot tell where this server is", {{"error", made.error().message}});
    if (made) return;
    kube::Request request;
    request.verb = kube::Verb::Update;
    request.namespace_ = "default";
    request.name = "kubernetes";
    request.body = object;
    request.field_manager = "kube-apiserver";
    Context context;
    if (auto kept = update(*kinds_.find(group, "v1", plural), request, context); !kept)
      log::error("cannot tell where this server is", {{"error", kept.error().message}});
  };
  const JsonArray ports{JsonObject{{"name", "https"}, {"port", port}, {"protocol", "TCP"}}};
  const auto& ip = options_.advertise_address;
  auto endpoints = named("v1", "Endpoints", "kubernetes");
  endpoints["metadata"].as_object()["labels"] =
      JsonObject{{"endpointslice.kubernetes.io/skip-mirror", "true"}};
  endpoints["subsets"] =
      JsonArray{JsonObject{{"addresses", JsonArray{JsonObject{{"ip", ip}}}}, {"ports", ports}}};
  keep("", "endpoints", endpoints);
  auto slice = named("discovery.k8s.io/v1", "EndpointSlice", "kubernetes");
  slice["metadata"].as_object()["labels"] =
      JsonObject{{"kubernetes.io/service-name", "kubernetes"}};
  slice["addressType"] = "IPv4";
  slice["endpoints"] = JsonArray{
      JsonObject{{"addresses", JsonArray{Json(ip)}}, {"conditions", JsonObject{{"ready", true}}}}};
  slice["ports"] = ports;
  keep("discovery.k8s.io", "endpointslices", slice);
}

void Rest::after_write(const Kind& kind, const Json* object, const std::string& name) {
  if (!is_crd(kind)) {
    // The last object of a CRD that is being deleted takes the CRD with it.
    if (!object && !kind.builtin()) finish_crd(kind.crd->crd_name);
    return;
  }
  if (!object) {
    going_crds_.erase(name);
    const auto dot = name.find('.');
    const auto plural = name.substr(0, dot);
    const auto group = name.substr(dot + 1);
    kinds_.set_custom(group, plural, {});
    hub_.end_all(fmt::format("{}/{}/", group, plural));
    return;
  }
  const auto group = string_at(*object, {"spec", "group"});
  const auto plural = string_at(*object, {"spec", "names", "plural"});
  const auto generation = int_at(*object, {"metadata", "generation"});
  auto& seen = crd_generations_[name];
  if (seen != generation || !kinds_.has_custom(group, plural)) {
    seen = generation;
    kinds_.set_custom(group, plural, kinds_of_crd(*object));
    hub_.end_all(fmt::format("{}/{}/", group, plural));
    // A definition is a hundred times the size of other objects; what reading it took goes back, on
    // a later turn, when the request's own copies are gone.
    loop_.post([] { malloc_trim(0); });
  }
  if (find(*object, {"metadata", "deletionTimestamp"})) {
    going_crds_.insert(name);
    finish_crd(name);
  }
}

void Rest::finish_crd(const std::string& name) {
  if (!going_crds_.contains(name)) return;  // reading one takes long
  const auto crds = kinds_.find("apiextensions.k8s.io", "v1", "customresourcedefinitions");
  auto crd = read(*crds, "", name);
  if (!crd || !*crd || !find(**crd, {"metadata", "deletionTimestamp"})) return;
  if (finishing_crd_) return;  // removing its objects calls back here
  finishing_crd_ = true;
  const auto group = std::string(string_at(**crd, {"spec", "group"}));
  const auto plural = std::string(string_at(**crd, {"spec", "names", "plural"}));
  const auto versions = kinds_.versions(group);
  KindPtr kind;
  for (const auto& version : versions)
    if (!kind) kind = kinds_.find(group, version, plural);
  bool left = false;
  if (kind) {
    Context context;
    kube::Request request;
    (void)remove_collection(*kind, request, context);
    auto count = store_.count(kind->prefix);
    left = count && *count > 0;
  }
  finishing_crd_ = false;
  if (left) return;  // finalizers; their owners finish it
  Json object = std::move(**crd);
  JsonArray kept;
  for (const auto& finalizer : array_at(object, {"metadata", "finalizers"}))
    if (finalizer != Json(kCleanup)) kept.push_back(finalizer);
  const bool free = kept.empty();
  metadata_of(object)["finalizers"] = std::move(kept);
  if (free) (void)erase(*crds, std::move(object), false);
}

Result<Json> Rest::run(kube::Request& request, Context& context) {
  auto found = kind_of(request.resource);
  if (!found) return failed(found.error());
  const KindPtr kind = std::move(*found);  // a CRD's own update may replace it meanwhile
  if (kind->resource.namespaced && request.namespace_.empty() && request.body.is_object())
    request.namespace_ = std::string(string_at(request.body, {"metadata", "namespace"}));
  if (!kind->resource.namespaced) request.namespace_.clear();
  if (!request.subresource.empty()) return run_subresource(*kind, request, context);
  if (auto answer = review(*kind, request, context)) return std::move(*answer);
  switch (request.verb) {
    case kube::Verb::Get:
      return get(*kind, request.namespace_, request.name);
    case kube::Verb::List: {
      auto page = list(*kind, request);
      if (!page) return failed(page.error());
      return list_document(*kind, *page);
    }
    case kube::Verb::Create:
      return create(*kind, request, context);
    case kube::Verb::Update:
      return update(*kind, request, context);
    case kube::Verb::Patch:
      return patch(*kind, request, context);
    case kube::Verb::Delete:
      return remove(*kind, request, context);
    case kube::Verb::DeleteCollection:
      if (!kind->verb("deletecollection")) return failed(not_allowed(*kind, "deletecollection"));
      return remove_collection(*kind, request, context);
  }
  return failed(not_allowed(*kind, "request"));
}

Result<Json> Rest::run_subresource(const Kind& kind, kube::Request& request, Context& context) {
  const auto& sub = request.subresource;
  const auto verb = request.verb;
  auto refused = [] {
    return failed(
        Error{.code = ErrorCode::MethodNotAllowed,
              .message = "the server does not allow this method on the requested resource",
              .http_status = 405});
  };
  auto missing = [&] {
    return failed(Error{.code = ErrorCode::NotFound,
                        .message = "the server could not find the requested resource",
                        .http_status = 404});
  };
  if (sub == "status") {
    if (!kind.has_status) return missing();
    if (request.verb == kube::Verb::Get) return get(kind, request.namespace_, request.name);
    if (request.verb == kube::Verb::Update) return update(kind, request, context);
    if (request.verb == kube::Verb::Patch) return patch(kind, request, context);
    return failed(not_allowed(kind, "request"));
  }
  const bool scalable = kind.builtin() ? kind.resource.plural == "deployments" ||
                                             kind.resource.plural == "replicasets" ||
                                             kind.resource.plural == "statefulsets" ||
                                             kind.resource.plural == "replicationcontrollers"
                                       : kind.crd->scale.has_value();
  if (sub == "scale" && scalable) {
    if (verb != kube::Verb::Get && verb != kube::Verb::Update && verb != kube::Verb::Patch)
      return refused();
    return scale(kind, request, context);
  }
  if (is_core(kind, "pods")) {
    if (sub == "binding") return verb == kube::Verb::Create ? bind(request, context) : refused();
    if (sub == "eviction")
      return verb == kube::Verb::Create ? evict(kind, request, context) : refused();
    if (sub == "ephemeralcontainers" || sub == "resize") {
      if (request.verb == kube::Verb::Get) return get(kind, request.namespace_, request.name);
      return failed(not_allowed(kind, "request"));  // the node cannot change a running Pod
    }
  }
  if (is_core(kind, "namespaces") && sub == "finalize")
    return verb == kube::Verb::Update ? finalize_namespace(kind, request, context) : refused();
  if (is_core(kind, "serviceaccounts") && sub == "token")
    return verb == kube::Verb::Create ? create_token(kind, request, context) : refused();
  return missing();
}

}  // namespace manta::local
