// Builders: any cluster that can be read gets its objects, and Pods keep what the user's template
// holds besides.
#include "fuzz/ray_shape.h"
#include "ray/builders/access.h"
#include "ray/builders/gateway.h"
#include "ray/builders/ingress.h"
#include "ray/builders/network_policy.h"
#include "ray/builders/pod.h"
#include "ray/builders/redis_cleanup.h"
#include "ray/builders/resources.h"
#include "ray/builders/service.h"
#include "ray/builders/submitter.h"

using namespace manta;
using namespace manta::fuzz;
using namespace manta::ray;

static BuildOptions options(Input& in) {
  BuildOptions out;
  out.inject_probes = in.flag();
  out.inject_init_container = in.flag();
  out.login_shell = in.flag();
  out.deterministic_head_pod_name = in.flag();
  out.mtls = in.flag();
  out.history_server = in.flag();
  out.scheduler = static_cast<BatchScheduler>(in.number(0, 5));
  return out;
}

// Marks that no type knows, at each level of the template, to be found again in the Pod.
static void mark(Json& pod_template) {
  if (!pod_template.is_object()) return;
  auto& spec = ensure(pod_template, {"spec"});
  if (!spec.is_object()) return;
  spec.get_object()["futureField"] = JsonObject{{"keep", 1}};
  auto* containers = spec.get_object().if_contains("containers");
  if (!containers || !containers->is_array()) return;
  for (auto& container : containers->get_array())
    if (container.is_object()) container.get_object()["futureKey"] = "keep";
}

static void check_pod(const Json& pod, const Json& pod_template) {
  const auto text = [&] { return dump_json(pod); };
  FUZZ_CHECK(string_at(pod, {"kind"}) == "Pod", text());
  FUZZ_CHECK(find(pod, {"metadata"}) && find(pod, {"spec"}), text());
  if (!find(pod_template, {"spec", "futureField"})) return;
  FUZZ_CHECK(find(pod, {"spec", "futureField", "keep"}), text());
  const auto& wanted = array_at(pod_template, {"spec", "containers"});
  const auto& built = array_at(pod, {"spec", "containers"});
  FUZZ_CHECK(built.size() >= wanted.size(), text());
  for (std::size_t i = 0; i < wanted.size(); ++i)
    if (find(wanted[i], {"futureKey"}))
      FUZZ_CHECK(string_at(built[i], {"futureKey"}) == "keep", text(), dump_json(pod_template));
}

FUZZ(data) {
  Input in(data);
  const auto opts = options(in);
  const auto object = make_ray_cluster(in, in.flag() ? 60 : 0);
  auto cluster = parse_ray_cluster(object);
  if (!cluster) return;
  mark(cluster->spec.headGroupSpec.template_);
  for (auto& group : cluster->spec.workerGroupSpecs) mark(group.template_);

  const auto head = build_head_pod(*cluster, opts);
  check_pod(head, cluster->spec.headGroupSpec.template_);
  FUZZ_CHECK(dump_json(build_head_pod(*cluster, opts)) == dump_json(head), dump_json(head));
  check_pod(build_head_pod_for_cleanup(*cluster, opts), cluster->spec.headGroupSpec.template_);
  for (const auto& group : cluster->spec.workerGroupSpecs) {
    check_pod(build_worker_pod(*cluster, group, {.replica_index = in.number(0, 3)}, opts),
              group.template_);
    const auto wanted = desired_replicas(group);
    FUZZ_CHECK(wanted >= 0 || group.minReplicas.value_or(0) < 0, dump_json(object));
  }
  (void)desired_worker_pods(cluster->spec);
  (void)min_worker_pods(cluster->spec);
  (void)max_worker_pods(cluster->spec);
  (void)json_of(desired_resources(cluster->spec));
  (void)json_of(min_resources(cluster->spec));
  (void)build_head_service(*cluster, opts);
  (void)build_headless_worker_service(*cluster);
  (void)build_serve_service(*cluster);
  (void)build_network_policies(*cluster);
  (void)build_redis_cleanup_job(*cluster, opts);

  const auto job = parse_ray_job(make_ray_job(in, 0));
  if (job) {
    (void)build_submitter_job(*job, *cluster, opts);
    (void)build_sidecar_submitter(*job, *cluster, opts);
    (void)build_head_service(*job, *cluster, opts);
  }
  const auto service = parse_ray_service(make_ray_service(in, 0));
  if (service) {
    (void)build_serve_service(*service, *cluster);
    (void)build_incremental_serve_service(*service, *cluster);
  }
}
