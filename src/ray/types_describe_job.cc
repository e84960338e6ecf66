// What each field of a RayJob and a RayCronJob is. Source: spec/01 §2.10, §2.11, §2.13, §3.3, §8.3.
#include "ray/reflect_build.h"

namespace manta::ray {

using describing::field;

MANTA_DESCRIBE(SubmitterConfig, "The Job that submits the entrypoint.",
               {field<&T::backoffLimit>("backoffLimit", "",
                                        "How often a failed submitter Pod is tried again. "
                                        "Absent: 2.")})

MANTA_DESCRIBE(DeletionPolicy, "What to delete.",
               {field<&T::policy>("policy", "{DeleteCluster|DeleteWorkers|DeleteSelf|DeleteNone}",
                                  "The cluster, its workers, the RayJob itself, or nothing.")})

MANTA_DESCRIBE(DeletionCondition, "When a rule applies. Exactly one of the two statuses.",
               {field<&T::jobStatus>("jobStatus", "{SUCCEEDED|FAILED}", "The Ray job's status."),
                field<&T::jobDeploymentStatus>("jobDeploymentStatus", "{Failed}",
                                               "The RayJob's own status."),
                field<&T::ttlSeconds>("ttlSeconds", "=0 minimum:0",
                                      "Seconds between the job's end and the deletion.")},
               "cel:C6+C7")

MANTA_DESCRIBE(DeletionRule, "One deletion after the job has ended.",
               {field<&T::policy>("policy!+", "{DeleteCluster|DeleteWorkers|DeleteSelf|DeleteNone}",
                                  "The cluster, its workers, the RayJob itself, or nothing."),
                field<&T::condition>("condition!", "", "When it applies.")})

MANTA_DESCRIBE(
    DeletionStrategy, "What to delete after the job has ended.",
    {field<&T::onSuccess>("onSuccess", "", "After success. Deprecated: use deletionRules."),
     field<&T::onFailure>("onFailure", "", "After failure. Deprecated: use deletionRules."),
     field<&T::deletionRules>("deletionRules", "@a minItems:1",
                              "Deletions, each with its condition and delay.")},
    "cel:C4+C5")

MANTA_DESCRIBE(
    RayJobSpec, "A Ray job and the cluster it runs on.",
    {field<&T::activeDeadlineSeconds>("activeDeadlineSeconds", "",
                                      "Seconds after which the job fails, however far it got."),
     field<&T::backoffLimit>("backoffLimit", "=0",
                             "Retries after a failure, each on a new cluster."),
     field<&T::rayClusterSpec>("rayClusterSpec", "", "The cluster to create for the job."),
     field<&T::submitterPodTemplate>("submitterPodTemplate", "PodTemplateSpec",
                                     "The Pod that submits the entrypoint."),
     field<&T::metadata>("metadata", "", "Attached to the job in Ray."),
     field<&T::clusterSelector>("clusterSelector", "",
                                "An existing cluster to run on, named by key ray.io/cluster."),
     field<&T::submitterConfig>("submitterConfig", "", "The Job that submits the entrypoint."),
     field<&T::managedBy>("managedBy", "cel:C2+C3",
                          "Which controller looks after the object. Cannot be changed."),
     field<&T::deletionStrategy>("deletionStrategy", "", "What to delete after the job has ended."),
     field<&T::entrypoint>("entrypoint", "", "The command to run."),
     field<&T::runtimeEnvYAML>("runtimeEnvYAML", "", "Ray's runtime environment, as YAML."),
     field<&T::jobId>("jobId", "", "Submission id. Absent: one is made up."),
     field<&T::submissionMode>("submissionMode", "=\"K8sJobMode\"",
                               "K8sJobMode: a Kubernetes Job submits. HTTPMode: the operator does. "
                               "SidecarMode: a container in the head Pod. InteractiveMode: you do, "
                               "then set jobId."),
     field<&T::entrypointResources>("entrypointResources", "",
                                    "Custom resources for the entrypoint, as JSON."),
     field<&T::entrypointNumCpus>("entrypointNumCpus", "", "CPUs for the entrypoint."),
     field<&T::entrypointNumGpus>("entrypointNumGpus", "", "GPUs for the entrypoint."),
     field<&T::ttlSecondsAfterFinished>("ttlSecondsAfterFinished", "=0",
                                        "Seconds the cluster is kept after the job's end, with "
                                        "shutdownAfterJobFinishes."),
     field<&T::preRunningDeadlineSeconds>("preRunningDeadlineSeconds", "minimum:1",
                                          "Seconds within which the job must be running."),
     field<&T::shutdownAfterJobFinishes>("shutdownAfterJobFinishes", "",
                                         "true: delete the cluster after the job has ended."),
     field<&T::suspend>("suspend", "", "true: no cluster; a running one is deleted."),
     field<&T::retryStrategy>("retryStrategy", "{RecreateRayCluster|ReuseRayCluster}",
                              "Whether a retry gets a new cluster. Absent: it does. Needs gate "
                              "RayJobReuseCluster.")})

MANTA_DESCRIBE(RayJobInfo, "The job as Ray sees it.",
               {field<&T::startTime>("startTime", "", "When Ray started it."),
                field<&T::endTime>("endTime", "", "When it ended.")})

MANTA_DESCRIBE(
    RayJobStatus, "How far the job has got.",
    {field<&T::rayJobInfo>("rayJobInfo", "", "The job as Ray sees it."),
     field<&T::jobId>("jobId", "", "Submission id of the current attempt."),
     field<&T::rayClusterName>("rayClusterName", "", "The cluster it runs on."),
     field<&T::dashboardURL>("dashboardURL", "", "Address of that cluster's dashboard."),
     field<&T::jobStatus>("jobStatus", "",
                          "Ray's word: PENDING, RUNNING, STOPPED, SUCCEEDED or FAILED."),
     field<&T::jobDeploymentStatus>("jobDeploymentStatus", "",
                                    "Initializing, Running, Complete, Failed, ValidationFailed, "
                                    "Suspending, Suspended, Retrying or Waiting."),
     field<&T::reason>("reason", "", "Why it failed."),
     field<&T::message>("message", "", "The failure in words."),
     field<&T::startTime>("startTime", "", "When the first attempt began."),
     field<&T::endTime>("endTime", "", "When the last attempt ended."),
     field<&T::succeeded>("succeeded", "=0", "Attempts that succeeded."),
     field<&T::failed>("failed", "=0", "Attempts that failed."),
     field<&T::rayClusterStatus>("rayClusterStatus", "", "Copy of the cluster's status."),
     field<&T::jobStatusCheckFailureStartTime>("jobStatusCheckFailureStartTime", "",
                                               "Since when Ray could not be asked."),
     field<&T::observedGeneration>("observedGeneration", "", "Not used."),
     field<&T::conditions>("conditions", "[Condition]@m(type)",
                           "What stands in the way, if anything.")})

MANTA_DESCRIBE(RayCronJobSpec, "RayJobs at set times.",
               {field<&T::jobTemplate>("jobTemplate!", "", "Spec of the RayJobs."),
                field<&T::schedule>("schedule!+", "",
                                    "When: five cron fields, or @hourly, @daily, @every 1h, …"),
                field<&T::timeZone>("timeZone", "minLength:1",
                                    "IANA time zone of the schedule. Absent: the operator's."),
                field<&T::suspend>("suspend", "", "true: no new RayJobs; running ones go on."),
                field<&T::concurrencyPolicy>("concurrencyPolicy", "{Allow|Forbid|Replace}",
                                             "What a tick does while an earlier RayJob runs. "
                                             "Absent: Allow. Needs gate RayCronJobPolicies."),
                field<&T::startingDeadlineSeconds>("startingDeadlineSeconds", "minimum:0",
                                                   "A tick missed by more is dropped. Needs gate "
                                                   "RayCronJobPolicies."),
                field<&T::successfulJobsHistoryLimit>("successfulJobsHistoryLimit", "minimum:0",
                                                      "Finished RayJobs to keep. Absent: all. "
                                                      "Needs gate RayCronJobPolicies."),
                field<&T::failedJobsHistoryLimit>("failedJobsHistoryLimit", "minimum:0",
                                                  "Failed RayJobs to keep. Absent: all. Needs "
                                                  "gate RayCronJobPolicies.")})

MANTA_DESCRIBE(RayCronJobStatus, "What was scheduled.",
               {field<&T::lastScheduleTime>("lastScheduleTime", "",
                                            "When the last RayJob was due."),
                field<&T::conditions>("conditions", "[Condition]@m(type)",
                                      "What stands in the way, if anything.")})

}  // namespace manta::ray
