// What each field of a RayCluster is: wire name, rules, meaning. The docs appear in
// `kubectl explain`. Fields stand in upstream's serialization order. Source: spec/01 §2, §3.1,
// §8.3.
#include "ray/reflect_build.h"

namespace manta::ray {

using describing::field;

MANTA_DESCRIBE(RayClusterUpgradeStrategy, "What happens to running Pods when the spec changes.",
               {field<&T::type>("type", "{Recreate|None}",
                                "Recreate: delete all Pods and start the changed ones. None, or "
                                "absent: running Pods stay as they are.")})

MANTA_DESCRIBE(
    AuthOptions, "Who may talk to the cluster.",
    {field<&T::enableK8sTokenAuth>("enableK8sTokenAuth", "",
                                   "Let the Kubernetes API server check tokens. Needs mode token "
                                   "and Ray 2.55; not for RayJob and RayService."),
     field<&T::secretName>("secretName", "",
                           "An existing Secret that holds the token under key auth_token. Absent: "
                           "one is created."),
     field<&T::mode>("mode", "{disabled|token}",
                     "token: every Ray client must present the token; needs Ray 2.52.")})

MANTA_DESCRIBE(
    AutoscalerOptions, "The autoscaler container beside Ray's head.",
    {field<&T::resources>("resources", "ResourceRequirements",
                          "Its requests and limits. Absent: 500m CPU and 512Mi memory."),
     field<&T::image>("image", "", "Absent: the head's Ray image."),
     field<&T::imagePullPolicy>("imagePullPolicy", "", "Absent: IfNotPresent."),
     field<&T::securityContext>("securityContext", "SecurityContext", "Its security context."),
     field<&T::idleTimeoutSeconds>("idleTimeoutSeconds", "",
                                   "Seconds a worker may idle before it is removed. Absent: 60."),
     field<&T::upscalingMode>("upscalingMode", "{Default|Aggressive|Conservative}",
                              "How eagerly workers are added."),
     field<&T::version>("version", "{v1|v2}",
                        "The autoscaler's generation. Absent: what that Ray version prefers."),
     field<&T::env>("env", "[EnvVar]", "Added to its environment."),
     field<&T::envFrom>("envFrom", "[EnvFromSource]", "Sources added to its environment."),
     field<&T::volumeMounts>("volumeMounts", "[VolumeMount]", "Added to its mounts."),
     field<&T::command>("command", "", "Replaces its command."),
     field<&T::args>("args", "",
                     "Replaces its arguments. May name $KUBERAY_GEN_AUTOSCALER_START_CMD.")})

MANTA_DESCRIBE(RedisCredential, "A value, or where to find it.",
               {field<&T::valueFrom>("valueFrom", "EnvVarSource", "Where the value is kept."),
                field<&T::value>("value", "", "The value itself.")})

MANTA_DESCRIBE(
    GcsEmbeddedStorage, "The volume that backend rocksdb writes to.",
    {field<&T::claimName>("claimName", "",
                          "An existing PersistentVolumeClaim. Excludes size, storageClassName and "
                          "accessModes."),
     field<&T::size>("size", "", "Of the claim to create. Absent: 1Gi."),
     field<&T::storageClassName>("storageClassName", "", "Absent: the cluster's default class."),
     field<&T::accessModes>("accessModes", "", "Absent: ReadWriteOnce."),
     field<&T::subPath>("subPath", "", "A folder inside the volume."),
     field<&T::deletionPolicy>("deletionPolicy", "{DeleteWithCluster|Retain}",
                               "What becomes of the created claim when the RayCluster goes. "
                               "Absent: DeleteWithCluster.")})

MANTA_DESCRIBE(
    GcsFaultToleranceOptions,
    "Where the head keeps its state, so that a new head can go on with it.",
    {field<&T::backend>("backend", "{redis|rocksdb} cel:C1",
                        "The kind of store. Absent: redis. Cannot be changed."),
     field<&T::redisUsername>("redisUsername", "", "User at the Redis server."),
     field<&T::redisPassword>("redisPassword", "", "Password at the Redis server."),
     field<&T::externalStorageNamespace>("externalStorageNamespace", "",
                                         "Prefix of this cluster's keys. Absent: the RayCluster's "
                                         "uid."),
     field<&T::redisAddress>("redisAddress", "", "host:port of the Redis server."),
     field<&T::storage>("storage", "", "The volume of backend rocksdb.")})

MANTA_DESCRIBE(CollectorOptions, "The container that ships logs and events to the history server.",
               {field<&T::image>("image", "", "Its image. Required in effect."),
                field<&T::imagePullPolicy>("imagePullPolicy", "", "When to pull the image."),
                field<&T::resources>("resources", "ResourceRequirements",
                                     "Its requests and limits."),
                field<&T::env>("env", "[EnvVar]",
                               "Its environment. Must set STORAGE_BACKEND and what that backend "
                               "needs.")})

MANTA_DESCRIBE(HistoryServerOptions, "Keeping logs and events after the cluster is gone.",
               {field<&T::collectorOptions>("collectorOptions", "",
                                            "The collector beside every Ray container.")})

MANTA_DESCRIBE(
    NetworkPolicyRules, "What may pass besides traffic within the cluster.",
    {field<&T::ingressRules>("ingressRules", "[NetworkPolicyIngressRule]", "Who may connect."),
     field<&T::egressRules>("egressRules", "[NetworkPolicyEgressRule]", "What may be reached.")})

MANTA_DESCRIBE(
    NetworkPolicyWorkerGroup, "Rules of one worker group.",
    {field<&T::groupName>("groupName!+", "", "The group they are for."),
     field<&T::ingressRules>("ingressRules", "[NetworkPolicyIngressRule]", "Who may connect."),
     field<&T::egressRules>("egressRules", "[NetworkPolicyEgressRule]", "What may be reached.")})

MANTA_DESCRIBE(NetworkPolicyConfig, "Network isolation of the cluster's Pods.",
               {field<&T::mode>("mode", "{DenyAll|DenyAllIngress|DenyAllEgress}=\"DenyAll\"",
                                "Which directions are closed except for the rules below."),
                field<&T::head>("head", "", "Rules of the head Pod."),
                field<&T::worker>("worker", "",
                                  "Rules of worker Pods whose group has none of its own."),
                field<&T::workerGroups>("workerGroups", "@m(groupName)",
                                        "Rules of single groups, in place of those under worker.")})

MANTA_DESCRIBE(TlsOptions, "Encryption between Ray nodes.",
               {field<&T::enabled>("enabled", "", "true: on; needs cert-manager.")})

MANTA_DESCRIBE(
    IngressOptions, "The head's Ingress.",
    {field<&T::host>("host", "", "Absent: any host."), field<&T::path>("path", "", "Absent: /."),
     field<&T::pathType>("pathType", "{Exact|Prefix|ImplementationSpecific}", "Absent: Prefix."),
     field<&T::tls>("tls", "[IngressTLS]", "Certificates by host.")})

MANTA_DESCRIBE(
    HeadGroupSpec, "The head Pod: Ray's control plane, one a cluster.",
    {field<&T::template_>("template!+", "PodTemplateSpec",
                          "The Pod. Its first container runs Ray."),
     field<&T::headService>("headService", "Service",
                            "Merged into the head's Service; also names it."),
     field<&T::enableIngress>("enableIngress", "",
                              "true: an Ingress (a Route on OpenShift) for the dashboard."),
     field<&T::ingressOptions>("ingressOptions", "", "Details of that Ingress."),
     field<&T::resources>("resources", "",
                          "Ray's logical resources, in place of those in rayStartParams. "
                          "Containers' resources stay."),
     field<&T::labels>("labels", "", "Ray node labels, also put on the Pod."),
     field<&T::rayStartParams>("rayStartParams+", "",
                               "Flags of `ray start`, without their leading dashes."),
     field<&T::serviceType>("serviceType", "", "Type of the head's Service.")})

MANTA_DESCRIBE(ScaleStrategy, "Which Pods to remove first. Written by Ray's autoscaler.",
               {field<&T::workersToDelete>("workersToDelete", "", "Names of Pods to delete.")})

MANTA_DESCRIBE(
    WorkerGroupSpec, "Worker Pods of one kind.",
    {field<&T::suspend>("suspend", "",
                        "true: the group has no Pods. Set by a RayJob's deletion strategy."),
     field<&T::groupName>("groupName!+", "", "Identity of the group within the cluster."),
     field<&T::replicas>("replicas", "=0",
                         "Replicas wanted, kept within minReplicas and maxReplicas."),
     field<&T::minReplicas>("minReplicas!+", "=0", "Fewest replicas."),
     field<&T::maxReplicas>("maxReplicas!+", "=2147483647", "Most replicas."),
     field<&T::idleTimeoutSeconds>("idleTimeoutSeconds", "",
                                   "The autoscaler's idle timeout for this group; v2 only."),
     field<&T::priority>("priority", "=0",
                         "Groups of higher priority are scaled up first; autoscaler v2, Ray 2.56."),
     field<&T::resources>("resources", "",
                          "Ray's logical resources, in place of those in rayStartParams."),
     field<&T::labels>("labels", "", "Ray node labels, also put on the Pods."),
     field<&T::rayStartParams>("rayStartParams+", "",
                               "Flags of `ray start`, without their leading dashes."),
     field<&T::template_>("template!+", "PodTemplateSpec",
                          "The Pod. Its first container runs Ray."),
     field<&T::scaleStrategy>("scaleStrategy", "", "Which Pods to remove first."),
     field<&T::numOfHosts>("numOfHosts", "=1", "Pods a replica is made of.")})

MANTA_DESCRIBE(
    RayClusterSpec, "A Ray cluster: one head and groups of workers.",
    {field<&T::upgradeStrategy>("upgradeStrategy", "",
                                "What happens to running Pods when the spec changes."),
     field<&T::authOptions>("authOptions", "", "Who may talk to the cluster."),
     field<&T::suspend>("suspend", "", "true: delete all Pods; false: run again."),
     field<&T::managedBy>("managedBy", "cel:C2+C3",
                          "Which controller looks after the object. Cannot be changed."),
     field<&T::autoscalerOptions>("autoscalerOptions", "",
                                  "The autoscaler container, with enableInTreeAutoscaling."),
     field<&T::headServiceAnnotations>("headServiceAnnotations", "",
                                       "Annotations of the head's Service; they win over those in "
                                       "headService."),
     field<&T::enableInTreeAutoscaling>("enableInTreeAutoscaling", "",
                                        "true: Ray's autoscaler sets the groups' replicas."),
     field<&T::gcsFaultToleranceOptions>("gcsFaultToleranceOptions", "",
                                         "Lets the cluster survive the loss of its head."),
     field<&T::historyServerOptions>("historyServerOptions", "",
                                     "Keeps logs and events after the cluster is gone."),
     field<&T::networkPolicy>("networkPolicy", "", "Network isolation of the Pods."),
     field<&T::tlsOptions>("tlsOptions", "", "Encryption between Ray nodes."),
     field<&T::headGroupSpec>("headGroupSpec!", "", "The head Pod."),
     field<&T::rayVersion>("rayVersion", "",
                           "Ray's version in the images; some features depend on it."),
     field<&T::workerGroupSpecs>("workerGroupSpecs", "", "Groups of worker Pods.")})

MANTA_DESCRIBE(Condition, "",
               {field<&T::type>("type!+", "", ""), field<&T::status>("status!+", "", ""),
                field<&T::observedGeneration>("observedGeneration", "", ""),
                field<&T::lastTransitionTime>("lastTransitionTime!+", "", ""),
                field<&T::reason>("reason!+", "", ""), field<&T::message>("message!+", "", "")})

MANTA_DESCRIBE(HeadInfo, "Where the head is.",
               {field<&T::podIP>("podIP", "", "Address of the head Pod."),
                field<&T::serviceIP>("serviceIP", "", "Address of the head's Service."),
                field<&T::podName>("podName", "", "Name of the head Pod."),
                field<&T::serviceName>("serviceName", "", "Name of the head's Service.")})

MANTA_DESCRIBE(
    RayClusterStatus, "What the cluster is now.",
    {field<&T::state>("state", "", "ready or suspended. Deprecated: see conditions."),
     field<&T::desiredCPU>("desiredCPU", "", "CPU that all wanted Pods ask for."),
     field<&T::desiredMemory>("desiredMemory", "", "Memory that all wanted Pods ask for."),
     field<&T::desiredGPU>("desiredGPU", "", "GPUs that all wanted Pods ask for."),
     field<&T::desiredTPU>("desiredTPU", "", "TPUs that all wanted Pods ask for."),
     field<&T::lastUpdateTime>("lastUpdateTime", "nullable", "When this status was computed."),
     field<&T::stateTransitionTimes>("stateTransitionTimes", "",
                                     "When each state was entered last."),
     field<&T::endpoints>("endpoints", "", "Ports of the head's Service by name."),
     field<&T::head>("head", "", "Where the head is."),
     field<&T::reason>("reason", "", "Why the state is what it is."),
     field<&T::conditions>("conditions", "[Condition]@m(type)",
                           "HeadPodReady, RayClusterProvisioned, RayClusterSuspending, "
                           "RayClusterSuspended, ReplicaFailure."),
     field<&T::readyWorkerReplicas>("readyWorkerReplicas", "", "Worker Pods that are ready."),
     field<&T::availableWorkerReplicas>("availableWorkerReplicas", "", "Worker Pods that run."),
     field<&T::desiredWorkerReplicas>("desiredWorkerReplicas", "", "Worker Pods wanted."),
     field<&T::minWorkerReplicas>("minWorkerReplicas", "", "Fewest worker Pods."),
     field<&T::maxWorkerReplicas>("maxWorkerReplicas", "", "Most worker Pods."),
     field<&T::observedGeneration>("observedGeneration", "",
                                   "Generation of the spec that this status is about.")})

}  // namespace manta::ray
