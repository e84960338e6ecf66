#include "cli/gate_notice.h"

#include "base/async.h"
#include "kube/cache.h"
#include "kube/events.h"
#include "kube/views.h"
#include "ray/types.h"

#include <fmt/format.h>

#include <utility>

namespace manta::cli {

std::string cron_job_gate_off(std::string_view manta_command) {
  return fmt::format(
      "the operator runs without its feature gate RayCronJob, so no RayJob is started; run: {0} "
      "down && {0} up --feature-gates RayCronJob=true",
      manta_command);
}

Task<void> tell_of_the_cron_job_gate(Loop& loop, kube::Api& api, Random& random,
                                     std::string manta_command, std::stop_token stop) {
  kube::EventRecorder events(loop, api, random, "raycronjob-controller", "manta");
  kube::Cache<kube::MetaView> cron_jobs(ray::kRayCronJobs, kube::project_meta, {});
  cron_jobs.listen([&](const kube::ObjectMeta* before, const kube::ObjectMeta* now) {
    if (before != nullptr || now == nullptr) return;  // said already, or gone
    events.record("",
                  {ray::kRayCronJobs, now->key, now->uid, std::to_string(now->resource_version)},
                  {kube::EventType::Warning, "RayCronJobGateOff", "Reconcile",
                   cron_job_gate_off(manta_command)});
  });
  Scope scope(loop);
  std::stop_callback forward(stop, [&] { scope.request_stop(); });
  scope.spawn("events", events.run(scope.stop_token()));
  scope.spawn("cron jobs", kube::reflect(loop, api, cron_jobs, random, scope.stop_token()));
  co_await scope.join();
}

}  // namespace manta::cli
