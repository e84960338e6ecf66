// What each field of a RayService is. Source: spec/01 §2.12, §3.7, §8.3.
#include "ray/reflect_build.h"

namespace manta::ray {

using describing::field;

MANTA_DESCRIBE(ClusterUpgradeOptions, "How traffic moves from the old cluster to the new one.",
               {field<&T::maxSurgePercent>("maxSurgePercent", "=100",
                                           "How far the new cluster may grow beside the old one."),
                field<&T::stepSizePercent>("stepSizePercent!+", "", "Traffic moved in one step."),
                field<&T::intervalSeconds>("intervalSeconds!+", "", "Seconds between steps."),
                field<&T::gatewayClassName>("gatewayClassName!+", "",
                                            "Class of the Gateway to create.")})

MANTA_DESCRIBE(
    RayServiceUpgradeStrategy, "How a changed spec is rolled out.",
    {field<&T::type>("type", "",
                     "NewCluster: start a new cluster, then switch. "
                     "NewClusterWithIncrementalUpgrade: move traffic step by step. None: change "
                     "nothing."),
     field<&T::clusterUpgradeOptions>("clusterUpgradeOptions", "",
                                      "Of NewClusterWithIncrementalUpgrade.")})

MANTA_DESCRIBE(
    RayServiceSpec, "Ray Serve applications and the cluster they run on.",
    {field<&T::rayClusterDeletionDelaySeconds>("rayClusterDeletionDelaySeconds", "minimum:0",
                                               "Seconds an old cluster is kept after a switch. "
                                               "Absent: 60."),
     field<&T::serviceUnhealthySecondThreshold>("serviceUnhealthySecondThreshold", "",
                                                "Deprecated, ignored."),
     field<&T::deploymentUnhealthySecondThreshold>("deploymentUnhealthySecondThreshold", "",
                                                   "Deprecated, ignored."),
     field<&T::serveService>("serveService", "Service", "Merged into the Serve Service."),
     field<&T::upgradeStrategy>("upgradeStrategy", "", "How a changed spec is rolled out."),
     field<&T::managedBy>("managedBy", "cel:C2+C3",
                          "Which controller looks after the object. Cannot be changed."),
     field<&T::serveConfigV2>("serveConfigV2", "", "Serve applications, as YAML."),
     field<&T::rayClusterConfig>("rayClusterConfig!", "", "The cluster."),
     field<&T::excludeHeadPodFromServeSvc>("excludeHeadPodFromServeSvc", "",
                                           "true: the head Pod serves no requests."),
     field<&T::suspend>("suspend", "", "true: delete everything; false: start again.")})

MANTA_DESCRIBE(ServeDeploymentStatus, "A Serve deployment.",
               {field<&T::status>("status", "", "UPDATING, HEALTHY or UNHEALTHY."),
                field<&T::message>("message", "", "Ray's explanation.")})

MANTA_DESCRIBE(
    ServeApplicationStatus, "A Serve application.",
    {field<&T::serveDeploymentStatuses>("serveDeploymentStatuses", "", "Its deployments by name."),
     field<&T::status>("status", "",
                       "NOT_STARTED, DEPLOYING, RUNNING, DEPLOY_FAILED, DELETING or UNHEALTHY."),
     field<&T::message>("message", "", "Ray's explanation.")})

MANTA_DESCRIBE(
    ServeClusterStatus, "One of the service's clusters.",
    {field<&T::applicationStatuses>("applicationStatuses", "", "Serve applications by name."),
     field<&T::targetCapacity>("targetCapacity", "", "Percent of its replicas it should run."),
     field<&T::trafficRoutedPercent>("trafficRoutedPercent", "", "Percent of traffic it gets."),
     field<&T::lastTrafficMigratedTime>("lastTrafficMigratedTime", "",
                                        "When traffic was moved last."),
     field<&T::rayClusterName>("rayClusterName", "", "Name of the RayCluster."),
     field<&T::rayClusterStatus>("rayClusterStatus", "", "Copy of its status.")})

MANTA_DESCRIBE(
    RayServiceStatus, "How the service does.",
    {field<&T::conditions>("conditions", "[Condition]@m(type)",
                           "Ready, UpgradeInProgress, RollbackInProgress, Suspending, Suspended."),
     field<&T::lastUpdateTime>("lastUpdateTime", "", "When this status was computed."),
     field<&T::serviceStatus>("serviceStatus", "",
                              "Running, or empty. Deprecated: see conditions."),
     field<&T::activeServiceStatus>("activeServiceStatus", "", "The cluster that serves."),
     field<&T::pendingServiceStatus>("pendingServiceStatus", "", "The cluster that will."),
     field<&T::numServeEndpoints>("numServeEndpoints", "", "Pods that take requests."),
     field<&T::observedGeneration>("observedGeneration", "",
                                   "Generation of the spec that this status is about.")})

}  // namespace manta::ray
