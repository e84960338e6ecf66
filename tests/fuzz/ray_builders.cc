// Builders: any cluster that can be read gets its objects, and Pods keep what the user's template
// holds besides.
#include "fuzz/ray_shape.h"
#include "ray/builders/access.h"
#include "ray/builders/certificates.h"
#include "ray/builders/children.h"
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

// What is sent must read back as it was.
static void check_text(const Json& object) {
  const auto text = dump_json(object);
  const auto again = parse_json(text);
  FUZZ_CHECK(again && dump_json(*again) == text, text);
}

static void check_cluster_objects(const RayCluster& cluster, const BuildOptions& opts) {
  check_text(build_head_service(cluster, opts));
  check_text(build_head_service(with_declared_ports(cluster), opts));
  check_text(build_headless_worker_service(cluster));
  if (const auto serve = build_serve_service(cluster)) check_text(*serve);
  check_text(build_head_ingress(cluster));
  check_text(build_head_route(cluster));
  for (const auto& policy : build_network_policies(cluster)) check_text(policy);
  check_text(build_autoscaler_service_account(cluster));
  check_text(build_autoscaler_role(cluster, opts));
  check_text(build_autoscaler_role_binding(cluster));
  check_text(build_auth_secret(cluster, {}));
  const auto claim = build_gcs_claim(cluster);
  check_text(claim);
  FUZZ_CHECK(gcs_claim_drift(cluster, claim).empty(), dump_json(claim));
  (void)gcs_claim_drift(cluster, cluster.spec.headGroupSpec.template_);
  check_text(build_ca_certificate(cluster));
  check_text(build_head_certificate(cluster, {"10.0.0.1", ""}, opts));
  check_text(build_worker_certificate(cluster, {}));
  check_text(build_redis_cleanup_job(cluster, opts));
}

static void check_objects_of_others(Input& in, const RayCluster& cluster,
                                    const BuildOptions& opts) {
  if (const auto job = parse_ray_job(make_ray_job(in, 0))) {
    if (const auto submitter = build_submitter_job(*job, cluster, opts)) check_text(*submitter);
    if (const auto sidecar = build_sidecar_submitter(*job, cluster, opts)) check_text(*sidecar);
    if (const auto child = build_cluster_for_job(*job, opts)) check_text(*child);
    check_text(build_head_service(*job, cluster, opts));
  }
  if (const auto service = parse_ray_service(make_ray_service(in, 0))) {
    if (const auto serve = build_serve_service(*service, cluster)) check_text(*serve);
    if (const auto serve = build_incremental_serve_service(*service, cluster)) check_text(*serve);
    check_text(build_head_service(*service, cluster, opts));
    check_text(build_cluster_for_service(*service, "child", in.flag(), opts));
    check_text(build_gateway(*service));
    check_text(build_http_route(*service, {cluster, 40}, RouteTarget{cluster, 60}));
  }
  if (const auto cron_job = parse_ray_cron_job(make_ray_cron_job(in, 0)))
    check_text(build_job_for_cron_job(*cron_job, Time{std::chrono::hours{500'000}}));
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
  check_text(json_of(desired_resources(cluster->spec)));
  check_text(json_of(scheduled_resources(cluster->spec)));
  check_cluster_objects(*cluster, opts);
  check_objects_of_others(in, *cluster, opts);
}
