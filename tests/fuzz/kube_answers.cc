// What an API server answers: Status objects, watch streams, and objects of any shape for the
// projections of the caches.
#include "fuzz/fuzz.h"
#include "kube/api.h"
#include "kube/http_api_watch.h"
#include "kube/views.h"

using namespace manta;
using namespace manta::fuzz;

static void check_status(const Json& status) {
  for (const int http : {0, 404, 409, 422, 500}) {
    const auto error = kube::error_from_status(http, status);
    FUZZ_CHECK(!error.message.empty(), dump_json(status));
    const auto back = kube::status_from_error(error, kube::kPods, "x");
    FUZZ_CHECK(back.is_object() && string_at(back, {"status"}) == "Failure", dump_json(back));
    const auto again = kube::error_from_status(0, back);
    FUZZ_CHECK(again.code == error.code, dump_json(status), dump_json(back));
    FUZZ_CHECK(again.message == error.message, dump_json(status), dump_json(back));
    FUZZ_CHECK(again.causes.size() == error.causes.size(), dump_json(status), dump_json(back));
  }
}

struct Watched {
  std::vector<kube::WatchEvent> events = {};
  std::string error = {};
};
template <class Piece>
static Watched watch(std::string_view bytes, std::size_t limit, Piece piece) {
  Watched out;
  kube::WatchDecoder decoder([&](kube::WatchEvent event) { out.events.push_back(event); }, limit);
  while (!bytes.empty()) {
    const auto size = std::min(bytes.size(), std::max<std::size_t>(piece(), 1));
    if (const auto fed = decoder.feed(bytes.substr(0, size)); !fed) {
      out.error = fed.error().message;
      break;
    }
    bytes.remove_prefix(size);
  }
  return out;
}

static void check_watch(std::string_view bytes, Input& in) {
  const std::size_t limit = in.number<std::size_t>(10, 2000);
  const auto whole = watch(bytes, limit, [&] { return bytes.size(); });
  const auto cut = watch(bytes, limit, [&] { return in.number<std::size_t>(1, 30); });
  FUZZ_CHECK(whole.error == cut.error, bytes, whole.error, cut.error);
  FUZZ_CHECK(whole.events.size() == cut.events.size(), bytes);
  for (std::size_t i = 0; i < whole.events.size(); ++i)
    FUZZ_CHECK(whole.events[i].type == cut.events[i].type &&
                   whole.events[i].object == cut.events[i].object,
               bytes);
}

// An object with the fields that projections read, each perhaps of another type.
static Json shaped(Input& in, int depth = 6) {
  static constexpr std::string_view kFields[] = {"metadata",
                                                 "name",
                                                 "namespace",
                                                 "uid",
                                                 "labels",
                                                 "annotations",
                                                 "spec",
                                                 "status",
                                                 "conditions",
                                                 "type",
                                                 "containers",
                                                 "phase",
                                                 "podIP",
                                                 "nodeName",
                                                 "containerStatuses",
                                                 "state",
                                                 "lastState",
                                                 "terminated",
                                                 "waiting",
                                                 "exitCode",
                                                 "restartCount",
                                                 "ports",
                                                 "selector",
                                                 "clusterIP",
                                                 "port",
                                                 "targetPort",
                                                 "nodePort",
                                                 "data",
                                                 "auth_token",
                                                 "ownerReferences",
                                                 "finalizers",
                                                 "controller",
                                                 "apiVersion",
                                                 "kind",
                                                 "resourceVersion",
                                                 "generation",
                                                 "reason",
                                                 "message",
                                                 "code",
                                                 "details",
                                                 "causes",
                                                 "field",
                                                 "retryAfterSeconds",
                                                 "deletionTimestamp",
                                                 "creationTimestamp",
                                                 "lastTransitionTime",
                                                 "restartPolicy",
                                                 "object"};
  static constexpr std::string_view kTexts[] = {
      "a",     "Running", "True", "2026-01-02T03:04:05Z", "Conflict", "Invalid", "42", "YWJj",
      "ADDED", "Always",  "Ready"};
  switch (in.number(0, depth > 0 ? 7 : 3)) {
    case 0:
      return Json(in.one_of(kTexts));
    case 1:
      return in.number<std::int64_t>(-1, 600);
    case 2:
      return in.flag();
    case 3:
      return in.json(0);
    case 4: {
      JsonArray array;
      for (int n = in.number(0, 3); n > 0; --n) array.push_back(shaped(in, depth - 1));
      return array;
    }
    default: {
      JsonObject object;
      for (int n = in.number(1, 6); n > 0; --n) object[in.one_of(kFields)] = shaped(in, depth - 1);
      return object;
    }
  }
}

static void check_views(const Json& object) {
  const auto meta = kube::project_meta(object);
  const auto pod = kube::project_pod(object);
  const auto service = kube::project_service(object);
  const auto job = kube::project_job(object);
  const auto secret = kube::project_secret(object);
  const auto spec = kube::project_spec(object);
  // All read the same metadata, so all fail or none does; some read the annotations as well.
  for (const bool ok : {service.has_value(), job.has_value(), secret.has_value()})
    FUZZ_CHECK(ok == meta.has_value(), dump_json(object));
  for (const bool ok : {pod.has_value(), spec.has_value()})
    FUZZ_CHECK(ok == meta.has_value() ||
                   (meta && pod.error().message.find("annotations") != std::string::npos),
               dump_json(object));
  if (!meta) return FUZZ_CHECK(!meta.error().message.empty(), dump_json(object));
  FUZZ_CHECK(!meta->meta.key.name.empty(), dump_json(object));
  FUZZ_CHECK(meta->meta.key == kube::key_of(object), dump_json(object));
  FUZZ_CHECK(
      pod->containerStatuses.size() <= array_at(object, {"status", "containerStatuses"}).size(),
      dump_json(object));
  (void)pod->is_ready();
  (void)pod->container("a");
  (void)job->true_condition("Ready");
  (void)kube::LabelSelector::from_json(object);
}

FUZZ(data) {
  Input in(data);
  check_watch(data, in);
  Input choices(data);
  check_status(shaped(choices));
  auto object = shaped(choices);
  if (choices.flag()) {  // past parse_meta most of the time
    ensure(object, {"metadata", "name"}) = "a";
    ensure(object, {"status"}) = shaped(choices);
    ensure(object, {"spec"}) = shaped(choices);
  }
  check_views(object);
  std::string lines;
  for (int n = choices.number(0, 5); n > 0; --n) {
    const Json event{
        {"type", choices.one_of({"ADDED", "MODIFIED", "DELETED", "BOOKMARK", "ERROR"})},
        {"object", shaped(choices, 3)}};
    lines += dump_json(event) + std::string(choices.one_of({"\n", "\r\n", "\n\n", ""}));
  }
  check_watch(lines, choices);
}
