#include "controllers/settings.h"

namespace manta::controllers {

ray::ValidationGates validation_gates(const Settings& settings) {
  return {.job_deletion_policy = settings.job_deletion_policy,
          .incremental_upgrade = settings.incremental_upgrade,
          .embedded_gcs_storage = settings.embedded_gcs_storage,
          .history_server = settings.build.history_server,
          .network_policy = settings.network_policies,
          .mtls = settings.build.mtls,
          .sidecar_submitter_restart = settings.build.sidecar_submitter_restart,
          .selector_suspend = settings.job_gates.selector_suspend,
          .suspend_with_rules = settings.job_gates.suspend_with_rules,
          .strict_start_params = settings.cluster_gates.strict_start_params};
}

}  // namespace manta::controllers
