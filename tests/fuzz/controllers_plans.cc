// Planners: any world gives a plan, the same world the same plan, and every write can be sent.
#include "controllers/raycluster/plan.h"
#include "controllers/rayjob/plan.h"
#include "fuzz/ray_shape.h"

using namespace manta;
using namespace manta::fuzz;
using namespace manta::controllers;

static Json pod(Input& in, const ray::RayCluster& cluster) {
  JsonObject labels{{"ray.io/cluster", cluster.meta.key.name},
                    {"ray.io/node-type", in.one_of({"worker", "head", "redis-cleanup"})}};
  const auto& groups = cluster.spec.workerGroupSpecs;
  if (!groups.empty())
    labels["ray.io/group"] = groups[in.number<std::size_t>(0, groups.size() - 1)].groupName;
  if (in.rarely(3)) labels["ray.io/worker-group-replica-index"] = in.text();
  JsonObject meta{{"name", "p" + std::to_string(in.number(0, 5))},
                  {"namespace", "b"},
                  {"labels", std::move(labels)}};
  if (in.rarely(4)) meta["deletionTimestamp"] = "2026-01-02T03:04:05Z";
  JsonObject state;
  if (in.flag()) state["terminated"] = JsonObject{{"exitCode", in.number(0, 2)}};
  return JsonObject{
      {"metadata", std::move(meta)},
      {"spec",
       {{"restartPolicy", in.one_of({"Always", "Never", "OnFailure", "x"})},
        {"containers", {{{"name", "ray"}}}}}},
      {"status",
       {{"phase", in.one_of({"Running", "Pending", "Failed", "Succeeded", "Unknown", ""})},
        {"podIP", in.one_of({"10.0.0.1", ""})},
        {"conditions", {{{"type", "Ready"}, {"status", in.one_of({"True", "False"})}}}},
        {"containerStatuses", {{{"name", "ray"}, {"state", std::move(state)}}}}}}};
}

static std::shared_ptr<const kube::ServiceView> service(Input& in) {
  const Json object{{"metadata", {{"name", "a-head-svc"}, {"namespace", "b"}}},
                    {"spec",
                     {{"clusterIP", in.one_of({"10.1.0.1", "None", ""})},
                      {"ports",
                       {{{"name", in.one_of({"dashboard", "client"})},
                         {"port", in.number(0, 9000)},
                         {"targetPort", in.json(0)}}}}}}};
  return std::make_shared<const kube::ServiceView>(*kube::project_service(object));
}

static Settings settings(Input& in) {
  Settings out;
  out.build.deterministic_head_pod_name = in.flag();
  out.status_conditions = in.flag();
  out.network_policies = in.flag();
  out.embedded_gcs_storage = in.flag();
  out.random_pod_delete = in.flag();
  out.redis_cleanup = in.flag();
  out.delete_rayjob_cr = in.flag();
  out.openshift_routes = in.flag();
  out.seed = "s";
  return out;
}

static std::string text_of(const kube::Plan& plan) {
  std::string out;
  const auto put = [&](const kube::Write& write) {
    out += std::to_string(static_cast<int>(write.kind)) + " " + write.resource.plural + " " +
           write.key.to_string() + " " + write.subresource + " " + dump_json(write.body) + "\n";
  };
  for (const auto& stage : plan.stages) {
    for (const auto& write : stage) put(write);
    out += "--\n";
  }
  if (plan.status) put(*plan.status);
  for (const auto& event : plan.events) out += event.reason + ": " + event.note + "\n";
  for (const auto& fact : plan.facts) out += fact.name + " " + dump_json(fact.query) + "\n";
  return out;
}

static void check_writes(const kube::Plan& plan, const Json& object) {
  std::vector<kube::Write> writes;
  for (const auto& stage : plan.stages) writes.insert(writes.end(), stage.begin(), stage.end());
  if (plan.status) writes.push_back(*plan.status);
  for (const auto& write : writes) {
    const auto shown = dump_json(write.body);
    FUZZ_CHECK(parse_json(shown).has_value(), shown);
    switch (write.kind) {
      case kube::WriteKind::Create:
        FUZZ_CHECK(!write.resource.plural.empty(), shown);
        FUZZ_CHECK(!string_at(write.body, {"metadata", "name"}).empty() ||
                       !string_at(write.body, {"metadata", "generateName"}).empty(),
                   shown, dump_json(object));
        break;
      case kube::WriteKind::Update:
      case kube::WriteKind::Patch:
      case kube::WriteKind::Delete:
        FUZZ_CHECK(!write.resource.plural.empty() && !write.key.name.empty(), shown,
                   dump_json(object));
        break;
      case kube::WriteKind::DeleteCollection:
        FUZZ_CHECK(!write.label_selector.empty(), shown);  // never everything
        break;
      case kube::WriteKind::External:
        FUZZ_CHECK(!write.target.empty(), shown);
        break;
    }
  }
}

FUZZ(data) {
  Input in(data);
  const auto config = settings(in);
  const bool is_job = in.flag();
  const auto object = make_ray_cluster(in, 0);
  auto cluster = ray::parse_ray_cluster(object);
  if (!cluster) return;
  if (in.rarely(6)) cluster->meta.deleting = Time{};
  raycluster::Pods pods;
  for (int n = in.number(0, 5); n > 0; --n)
    if (auto view = kube::project_pod(pod(in, *cluster)))
      pods.push_back(std::make_shared<const kube::PodView>(std::move(*view)));
  kube::Facts facts;
  if (in.flag())
    facts["job-info"] = kube::Fact{
        .answer = Json{{"status", in.one_of({"RUNNING", "FAILED", "SUCCEEDED", "PENDING", "x"})},
                       {"start_time", in.json(0)}}};
  kube::Failures failures;
  if (in.rarely(4))
    failures[std::string(in.one_of({"", "head", "submit"}))] =
        kube::Failure{.error = {.message = "m"}, .attempts = 1};
  const kube::PlanContext context{
      .now = Time{std::chrono::seconds{1'800'000'000}}, .facts = facts, .failures = failures};
  const auto shared = std::make_shared<const ray::RayCluster>(*cluster);

  if (!is_job) {
    const raycluster::RayClusterSeen seen{.cluster = shared,
                                          .pods = pods,
                                          .head_services = {service(in)},
                                          .headless_service = in.flag(),
                                          .auth_secret = in.flag(),
                                          .service_account = in.flag()};
    const auto plan = raycluster::plan(seen, config, context);
    check_writes(plan, object);
    FUZZ_CHECK(text_of(plan) == text_of(raycluster::plan(seen, config, context)), text_of(plan));
    return;
  }
  const auto job_object = make_ray_job(in, 0);
  auto job = ray::parse_ray_job(job_object);
  if (!job) return;
  if (in.rarely(6)) job->meta.deleting = Time{};
  if (in.flag())
    job->status.jobDeploymentStatus =
        in.one_of({"", "New", "Initializing", "Waiting", "Running", "Complete", "Failed",
                   "Suspending", "Suspended", "Retrying", "ValidationFailed"});
  rayjob::RayJobSeen seen{.job = std::make_shared<const ray::RayJob>(*job)};
  if (in.flag()) seen.cluster = shared;
  if (in.flag()) seen.cluster_service = service(in);
  if (in.flag()) seen.heads = pods;
  if (in.flag())
    seen.submitter = std::make_shared<const kube::JobView>(*kube::project_job(Json{
        {"metadata", {{"name", "a"}}},
        {"status",
         {{"conditions", {{{"type", in.one_of({"Complete", "Failed"})}, {"status", "True"}}}}}}}));
  const auto plan = rayjob::plan(seen, config, context);
  check_writes(plan, job_object);
  FUZZ_CHECK(text_of(plan) == text_of(rayjob::plan(seen, config, context)), text_of(plan));
}
