// The ray.io kinds: reading, writing, validating and hashing any object.
#include "fuzz/ray_shape.h"
#include "ray/spec_hash.h"
#include "ray/validation.h"

using namespace manta;
using namespace manta::fuzz;
using namespace manta::ray;

// What is read is written so that it reads back equal; writing again gives the same text.
template <class Kind, class Parse>
static std::optional<Kind> check_kind(const Json& object, Parse parse) {
  auto kind = parse(object);
  if (!kind) {
    FUZZ_CHECK(!kind.error().message.empty(), dump_json(object));
    return std::nullopt;
  }
  const auto written = to_json(*kind);
  const auto again = parse(written);
  FUZZ_CHECK(again.has_value(), dump_json(object), dump_json(written), again.error().message);
  // Equal from there on: an absent Pod template, which is always written, reads back as {}.
  const auto third = parse(to_json(*again));
  FUZZ_CHECK(third.has_value() && third->spec == again->spec, dump_json(object));
  FUZZ_CHECK(third->status == again->status, dump_json(object), dump_json(written));
  FUZZ_CHECK(dump_json(to_json(*again)) == dump_json(written), dump_json(object));
  return *kind;
}

// The same document with the keys of every object in the opposite order.
static Json reversed(const Json& value) {
  if (const auto* array = value.if_array()) {
    JsonArray out;
    for (const auto& item : *array) out.push_back(reversed(item));
    return out;
  }
  const auto* object = value.if_object();
  if (!object) return value;
  JsonObject out;
  for (auto at = object->end(); at != object->begin();) {
    --at;
    out[at->key()] = reversed(at->value());
  }
  return out;
}

// `typed`: no value has a wrong type. One that has is hashed as the user wrote it.
static void check_hashes(const RayCluster& cluster, const Json& object, bool typed) {
  const auto hash = spec_hash(cluster.spec);
  FUZZ_CHECK(hash.size() == 32, hash);
  const auto turned = parse_ray_cluster(reversed(object));
  FUZZ_CHECK(turned.has_value(), dump_json(object));
  FUZZ_CHECK(!typed || spec_hash(turned->spec) == hash, dump_json(object),
             canonical_text(turned->spec), canonical_text(cluster.spec));
  // Written and read back, as an API server stores it.
  const auto stored = parse_ray_cluster(to_json(cluster));
  FUZZ_CHECK(stored && spec_hash(stored->spec) == hash, dump_json(object));
  auto mutated = cluster.spec;
  mutated.upgradeStrategy = RayClusterUpgradeStrategy{};
  for (auto& group : mutated.workerGroupSpecs) {
    group.replicas = 7;
    group.scaleStrategy.workersToDelete = {"x"};
  }
  FUZZ_CHECK(spec_hash(mutated) == hash, dump_json(object));
  auto suspended = cluster.spec;
  suspended.suspend = true;
  FUZZ_CHECK(service_hash(suspended) == service_hash(cluster.spec), dump_json(object));
  FUZZ_CHECK(
      only_adds_worker_groups(service_hash(cluster.spec),
                              std::to_string(cluster.spec.workerGroupSpecs.size()), cluster.spec),
      dump_json(object));
  // Canonical text is JSON, and reading it changes nothing of it.
  const auto text = canonical_text(cluster.spec);
  FUZZ_CHECK(parse_json(text).has_value(), text);
}

template <class Check>
static void both_answers(const Json& object, Check check) {
  const auto ok = check();
  FUZZ_CHECK(ok || !ok.error().message.empty(), dump_json(object));
}

FUZZ(data) {
  Input in(data);
  const unsigned wrong = in.one_of({"a", "b", "c"}) == "a" ? 0 : 40;
  const ValidationGates gates{.job_deletion_policy = in.flag(),
                              .incremental_upgrade = in.flag(),
                              .embedded_gcs_storage = in.flag(),
                              .history_server = in.flag(),
                              .network_policy = in.flag(),
                              .mtls = in.flag()};
  switch (in.number(0, 3)) {
    case 0: {
      const auto object = make_ray_cluster(in, wrong);
      const auto cluster = check_kind<RayCluster>(object, parse_ray_cluster);
      if (!cluster) return;
      check_hashes(*cluster, object, wrong == 0);
      both_answers(object, [&] { return validate_cluster_metadata(cluster->meta); });
      both_answers(object, [&] {
        return validate_cluster_spec(cluster->spec, cluster->meta.annotations, gates);
      });
      both_answers(object,
                   [&] { return validate_cluster_upgrade(cluster->spec, cluster->meta.labels); });
      both_answers(object, [&] { return validate_cluster_status(cluster->status); });
      (void)autoscaler_v1_warning(cluster->spec);
      const auto twin = duplicate_worker_group(cluster->spec);
      FUZZ_CHECK(!twin || *twin < cluster->spec.workerGroupSpecs.size(), dump_json(object));
      return;
    }
    case 1: {
      const auto object = make_ray_job(in, wrong);
      const auto job = check_kind<RayJob>(object, parse_ray_job);
      if (!job) return;
      both_answers(object, [&] { return validate_job_metadata(job->meta); });
      both_answers(object,
                   [&] { return validate_job_spec(job->spec, job->meta.annotations, gates); });
      both_answers(object, [&] { return validate_job_status(job->spec, job->status); });
      return;
    }
    case 2: {
      const auto object = make_ray_service(in, wrong);
      const auto service = check_kind<RayService>(object, parse_ray_service);
      if (!service) return;
      both_answers(object, [&] { return validate_service_metadata(service->meta); });
      both_answers(object, [&] {
        return validate_service_spec(service->spec, service->meta.annotations, gates);
      });
      (void)initializing_timeout(service->meta);
      return;
    }
    default: {
      const auto object = make_ray_cron_job(in, wrong);
      const auto cron_job = check_kind<RayCronJob>(object, parse_ray_cron_job);
      if (!cron_job) return;
      both_answers(object, [&] {
        return validate_cron_job(cron_job->meta.key.name, cron_job->spec, gates,
                                 [](std::string_view zone) { return zone == "a"; });
      });
    }
  }
}
