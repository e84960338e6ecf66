// The tables themselves; k8s_shapes.h explains the shorthand.
#include "ray/k8s_shapes_table.h"

namespace manta::ray {

// k8s.io/api v0.36.0, as far as ray.io objects reach. Source: spec/01 §8.4, §8.5; which scalars are
// pointers: Kubernetes' API reference (its "omitempty" fields that tell unset from zero).
const char* const kKubernetesShapes = R"shape(
Capabilities = {add:[str]@a, drop:[str]@a}
Condition = {type!+:str maxLength:316 pattern:P2, status!+:str{True|False|Unknown},
  observedGeneration:i64 minimum:0, lastTransitionTime!+:time, reason!+:str maxLength:1024
  minLength:1 pattern:P1, message!+:str maxLength:32768}
Container = {name!+:str, image:str, command:[str]@a, args:[str]@a, workingDir:str,
  ports:[ContainerPort]@m(containerPort,protocol), envFrom:[EnvFromSource]@a,
  env:[EnvVar]@m(name), resources+:ResourceRequirements, resizePolicy:[ContainerResizePolicy]@a,
  restartPolicy?:str, restartPolicyRules:[ContainerRestartRule]@a,
  volumeMounts:[VolumeMount]@m(mountPath), volumeDevices:[VolumeDevice]@m(devicePath),
  livenessProbe:Probe, readinessProbe:Probe, startupProbe:Probe, lifecycle:Lifecycle,
  terminationMessagePath:str, terminationMessagePolicy:str, imagePullPolicy:str,
  securityContext:SecurityContext, stdin:bool, stdinOnce:bool, tty:bool}
ContainerPort = {name:str, hostPort:i32, containerPort!+:i32, protocol:str="TCP", hostIP:str}
ContainerResizePolicy = {resourceName!+:str, restartPolicy!+:str}
ContainerRestartRule = {action!:str, exitCodes:ContainerRestartRuleOnExitCodes}
ContainerRestartRuleOnExitCodes = {operator!:str, values:[i32]@s}
DownwardAPIVolumeFile = {path!+:str, fieldRef:ObjectFieldSelector,
  resourceFieldRef:ResourceFieldSelector, mode?:i32}
EmbeddedObjectMeta = {name:str, namespace:str, labels:map<str>, annotations:map<str>,
  finalizers:[str]}
EnvFromSource = {prefix:str, configMapRef:OptionalNameRef, secretRef:OptionalNameRef}
EnvVar = {name!+:str, value:str, valueFrom:EnvVarSource}
EnvVarSource = {fieldRef:ObjectFieldSelector, resourceFieldRef:ResourceFieldSelector,
  configMapKeyRef:KeySelector, secretKeyRef:KeySelector, fileKeyRef:FileKeySelector}
EphemeralContainer = {name!+:str, image:str, command:[str]@a, args:[str]@a, workingDir:str,
  ports:[ContainerPort]@m(containerPort,protocol), envFrom:[EnvFromSource]@a,
  env:[EnvVar]@m(name), resources+:ResourceRequirements, resizePolicy:[ContainerResizePolicy]@a,
  restartPolicy?:str, restartPolicyRules:[ContainerRestartRule]@a,
  volumeMounts:[VolumeMount]@m(mountPath), volumeDevices:[VolumeDevice]@m(devicePath),
  livenessProbe:Probe, readinessProbe:Probe, startupProbe:Probe, lifecycle:Lifecycle,
  terminationMessagePath:str, terminationMessagePolicy:str, imagePullPolicy:str,
  securityContext:SecurityContext, stdin:bool, stdinOnce:bool, tty:bool, targetContainerName:str}
ExecAction = {command:[str]@a}
FileKeySelector = {volumeName!+:str, path!+:str, key!+:str, optional?:bool=false}&
GRPCAction = {port!+:i32, service+?:str=""}
HTTPGetAction = {path:str, port!+:intstr, host:str, scheme:str, httpHeaders:[HTTPHeader]@a}
HTTPHeader = {name!+:str, value!+:str}
IPBlock = {cidr!+:str, except:[str]@a}
ISCSIVolumeSource = {targetPortal!+:str, iqn!+:str, lun!+:i32, iscsiInterface:str="default",
  fsType:str, readOnly:bool, portals:[str]@a, chapAuthDiscovery:bool, chapAuthSession:bool,
  secretRef:LocalObjectReference, initiatorName?:str}
IngressTLS = {hosts:[str]@a, secretName:str}
KeySelector = {name:str="", key!+:str, optional?:bool}&
KeyToPath = {key!+:str, path!+:str, mode?:i32}
LabelSelector = {matchLabels:map<str>, matchExpressions:[LabelSelectorRequirement]@a}&
LabelSelectorRequirement = {key!+:str, operator!+:str, values:[str]@a}
Lifecycle = {postStart:LifecycleHandler, preStop:LifecycleHandler, stopSignal?:str}
LifecycleHandler = {exec:ExecAction, httpGet:HTTPGetAction, tcpSocket:TCPSocketAction,
  sleep:SleepAction}
LocalObjectReference = {name:str=""}&
NameOnly = {name!+:str}
NetworkPolicyEgressRule = {ports:[NetworkPolicyPort]@a, to:[NetworkPolicyPeer]@a}
NetworkPolicyIngressRule = {ports:[NetworkPolicyPort]@a, from:[NetworkPolicyPeer]@a}
NetworkPolicyPeer = {podSelector:LabelSelector, namespaceSelector:LabelSelector, ipBlock:IPBlock}
NetworkPolicyPort = {protocol?:str, port?:intstr, endPort?:i32}
NodeSelectorTerm = {matchExpressions:[LabelSelectorRequirement]@a,
  matchFields:[LabelSelectorRequirement]@a}&
ObjectFieldSelector = {apiVersion:str, fieldPath!+:str}&
OptionalNameRef = {name:str="", optional?:bool}&
PersistentVolumeClaimSpec = {accessModes:[str]@a, selector:LabelSelector,
  resources+:{limits:map<qty>, requests:map<qty>}, volumeName:str, storageClassName?:str,
  volumeMode?:str, dataSource:{apiGroup+?:str, kind!+:str, name!+:str}&,
  dataSourceRef:{apiGroup+?:str, kind!+:str, name!+:str, namespace?:str},
  volumeAttributesClassName?:str}
PodAffinity = {requiredDuringSchedulingIgnoredDuringExecution:[PodAffinityTerm]@a,
  preferredDuringSchedulingIgnoredDuringExecution:[WeightedPodAffinityTerm]@a}
PodAffinityTerm = {labelSelector:LabelSelector, namespaces:[str]@a, topologyKey!+:str,
  namespaceSelector:LabelSelector, matchLabelKeys:[str]@a, mismatchLabelKeys:[str]@a}
PodCertificateProjection = {signerName!:str, keyType!:str, maxExpirationSeconds?:i32,
  credentialBundlePath:str, keyPath:str, certificateChainPath:str, userAnnotations:map<str>}
PodSecurityContext = {seLinuxOptions:SELinuxOptions, windowsOptions:WindowsSecurityContextOptions,
  runAsUser?:i64, runAsGroup?:i64, runAsNonRoot?:bool, supplementalGroups:[i64]@a,
  supplementalGroupsPolicy?:str, fsGroup?:i64, sysctls:[HTTPHeader]@a, fsGroupChangePolicy?:str,
  seccompProfile:TypeLocalhostProfile, appArmorProfile:TypeLocalhostProfile,
  seLinuxChangePolicy?:str}
PodSpec = {volumes:[Volume]@m(name), initContainers:[Container]@m(name),
  containers!+:[Container]@m(name), ephemeralContainers:[EphemeralContainer]@m(name),
  restartPolicy:str, terminationGracePeriodSeconds?:i64, activeDeadlineSeconds?:i64,
  dnsPolicy:str, nodeSelector:map<str>&, serviceAccountName:str, serviceAccount:str,
  automountServiceAccountToken?:bool, nodeName:str, hostNetwork:bool, hostPID:bool, hostIPC:bool,
  shareProcessNamespace?:bool, securityContext:PodSecurityContext,
  imagePullSecrets:[LocalObjectReference]@m(name), hostname:str, subdomain:str,
  affinity:{nodeAffinity:{requiredDuringSchedulingIgnoredDuringExecution:
    {nodeSelectorTerms!+:[NodeSelectorTerm]@a}&,
  preferredDuringSchedulingIgnoredDuringExecution:[{weight!+:i32,
  preference!+:NodeSelectorTerm}]@a}, podAffinity:PodAffinity, podAntiAffinity:PodAffinity},
  schedulerName:str, tolerations:[{key:str, operator:str, value:str, effect:str,
  tolerationSeconds?:i64}]@a, hostAliases:[{ip!+:str, hostnames:[str]@a}]@m(ip),
  priorityClassName:str, priority?:i32, dnsConfig:{nameservers:[str]@a, searches:[str]@a,
  options:[{name:str, value?:str}]@a}, readinessGates:[{conditionType!+:str}]@a,
  runtimeClassName?:str, enableServiceLinks?:bool, preemptionPolicy?:str, overhead:map<qty>,
  topologySpreadConstraints:[TopologySpreadConstraint]@m(topologyKey,whenUnsatisfiable),
  setHostnameAsFQDN?:bool, os:NameOnly, hostUsers?:bool, schedulingGates:[NameOnly]@m(name),
  resourceClaims:[{name!+:str, resourceClaimName?:str, resourceClaimTemplateName?:str}]@m(name),
  resources:ResourceRequirements, hostnameOverride?:str, schedulingGroup:{podGroupName?:str}}
PodTemplateSpec = {metadata+:EmbeddedObjectMeta, spec+:PodSpec}
Probe = {exec:ExecAction, httpGet:HTTPGetAction, tcpSocket:TCPSocketAction, grpc:GRPCAction,
  initialDelaySeconds:i32, timeoutSeconds:i32, periodSeconds:i32, successThreshold:i32,
  failureThreshold:i32, terminationGracePeriodSeconds?:i64}
ProjectedSource = {name:str="", items:[KeyToPath]@a, optional?:bool}&
RBDVolumeSource = {monitors!+:[str]@a, image!+:str, fsType:str, pool:str="rbd", user:str="admin",
  keyring:str="/etc/ceph/keyring", secretRef:LocalObjectReference, readOnly:bool}
ResourceClaim = {name!+:str, request:str}
ResourceFieldSelector = {containerName:str, resource!+:str, divisor+:qty}&
ResourceRequirements = {limits:map<qty>, requests:map<qty>, claims:[ResourceClaim]@m(name)}
SELinuxOptions = {user:str, role:str, type:str, level:str}
ScaleIOVolumeSource = {gateway!+:str, system!+:str, secretRef!+:LocalObjectReference,
  sslEnabled:bool, protectionDomain:str, storagePool:str, storageMode:str="ThinProvisioned",
  volumeName:str, fsType:str="xfs", readOnly:bool}
SecurityContext = {capabilities:Capabilities, privileged?:bool, seLinuxOptions:SELinuxOptions,
  windowsOptions:WindowsSecurityContextOptions, runAsUser?:i64, runAsGroup?:i64,
  runAsNonRoot?:bool, readOnlyRootFilesystem?:bool, allowPrivilegeEscalation?:bool,
  procMount?:str, seccompProfile:TypeLocalhostProfile, appArmorProfile:TypeLocalhostProfile}
Service = {kind:str, apiVersion:str, metadata+:EmbeddedObjectMeta, spec+:ServiceSpec,
  status+:{loadBalancer+:{ingress:[{ip:str, hostname:str, ipMode?:str, ports:[{port!+:i32,
  protocol!+:str, error!?:str maxLength:316 pattern:P2}]@a}]@a}, conditions:[Condition]@m(type)}}
ServiceSpec = {ports:[{name:str, protocol:str="TCP", appProtocol?:str, port!+:i32,
  targetPort+:intstr, nodePort:i32}]@m(port,protocol), selector:map<str>&, clusterIP:str,
  clusterIPs:[str]@a, type:str, externalIPs:[str]@a, sessionAffinity:str, loadBalancerIP:str,
  loadBalancerSourceRanges:[str]@a, externalName:str, externalTrafficPolicy:str,
  healthCheckNodePort:i32, publishNotReadyAddresses:bool,
  sessionAffinityConfig:{clientIP:{timeoutSeconds?:i32}}, ipFamilies:[str]@a, ipFamilyPolicy?:str,
  allocateLoadBalancerNodePorts?:bool, loadBalancerClass?:str, internalTrafficPolicy?:str,
  trafficDistribution?:str}
SleepAction = {seconds!+:i64}
TCPSocketAction = {port!+:intstr, host:str}
TopologySpreadConstraint = {maxSkew!+:i32, topologyKey!+:str, whenUnsatisfiable!+:str,
  labelSelector:LabelSelector, minDomains?:i32, nodeAffinityPolicy?:str, nodeTaintsPolicy?:str,
  matchLabelKeys:[str]@a}
TypeLocalhostProfile = {type!+:str, localhostProfile?:str}
Volume = {name!+:str, hostPath:{path!+:str, type?:str}, emptyDir:{medium:str, sizeLimit?:qty},
  gcePersistentDisk:{pdName!+:str, fsType:str, partition:i32, readOnly:bool},
  awsElasticBlockStore:{volumeID!+:str, fsType:str, partition:i32, readOnly:bool},
  gitRepo:{repository!+:str, revision:str, directory:str}, secret:{secretName:str,
  items:[KeyToPath]@a, defaultMode?:i32, optional?:bool}, nfs:{server!+:str, path!+:str,
  readOnly:bool}, iscsi:ISCSIVolumeSource, glusterfs:{endpoints!+:str, path!+:str, readOnly:bool},
  persistentVolumeClaim:{claimName!+:str, readOnly:bool}, rbd:RBDVolumeSource,
  flexVolume:{driver!+:str, fsType:str, secretRef:LocalObjectReference, readOnly:bool,
  options:map<str>}, cinder:{volumeID!+:str, fsType:str, readOnly:bool,
  secretRef:LocalObjectReference}, cephfs:{monitors!+:[str]@a, path:str, user:str, secretFile:str,
  secretRef:LocalObjectReference, readOnly:bool}, flocker:{datasetName:str, datasetUUID:str},
  downwardAPI:{items:[DownwardAPIVolumeFile]@a, defaultMode?:i32}, fc:{targetWWNs:[str]@a,
  lun?:i32, fsType:str, readOnly:bool, wwids:[str]@a}, azureFile:{secretName!+:str,
  shareName!+:str, readOnly:bool}, configMap:{name:str="", items:[KeyToPath]@a, defaultMode?:i32,
  optional?:bool}&, vsphereVolume:{volumePath!+:str, fsType:str, storagePolicyName:str,
  storagePolicyID:str}, quobyte:{registry!+:str, volume!+:str, readOnly:bool, user:str, group:str,
  tenant:str}, azureDisk:{diskName!+:str, diskURI!+:str, cachingMode?:str, fsType?:str="ext4",
  readOnly?:bool=false, kind?:str}, photonPersistentDisk:{pdID!+:str, fsType:str},
  projected:{sources+:[{secret:ProjectedSource, downwardAPI:{items:[DownwardAPIVolumeFile]@a},
  configMap:ProjectedSource, serviceAccountToken:{audience:str, expirationSeconds?:i64,
  path!+:str}, clusterTrustBundle:{name?:str, signerName?:str, labelSelector:LabelSelector,
  optional?:bool, path!+:str}, podCertificate:PodCertificateProjection}]@a, defaultMode?:i32},
  portworxVolume:{volumeID!+:str, fsType:str, readOnly:bool}, scaleIO:ScaleIOVolumeSource,
  storageos:{volumeName:str, volumeNamespace:str, fsType:str, readOnly:bool,
  secretRef:LocalObjectReference}, csi:{driver!+:str, readOnly?:bool, fsType?:str,
  volumeAttributes:map<str>, nodePublishSecretRef:LocalObjectReference},
  ephemeral:{volumeClaimTemplate:{metadata+:EmbeddedObjectMeta,
  spec!+:PersistentVolumeClaimSpec}}, image:{reference:str, pullPolicy:str}}
VolumeDevice = {name!+:str, devicePath!+:str}
VolumeMount = {name!+:str, readOnly:bool, recursiveReadOnly?:str, mountPath!+:str, subPath:str,
  mountPropagation?:str, subPathExpr:str}
WeightedPodAffinityTerm = {weight!+:i32, podAffinityTerm!+:PodAffinityTerm}
WindowsSecurityContextOptions = {gmsaCredentialSpecName?:str, gmsaCredentialSpec?:str,
  runAsUserName?:str, hostProcess?:bool}
)shape";

// ray.io/v1alpha1, frozen at its fields of December 2023. Source: spec/01 §2.14, §8.3.
// What it embeds of Kubernetes is left open, names aside: the stored version's schema prunes and
// defaults it on the way to storage and back, and two full copies of a Pod would make the CRDs
// larger than the annotation in which `kubectl apply` keeps them (262144 bytes).
const char* const kV1Alpha1Shapes = R"shape(
Named_a1 = {name!:str} open
PodTemplateSpec_a1 = {metadata:EmbeddedObjectMeta, spec:{containers!:[Named_a1]@m(name),
  initContainers:[Named_a1]@m(name), volumes:[Named_a1]@m(name)} open}
Service_a1 = {metadata:EmbeddedObjectMeta, spec:any} open
AutoscalerOptions_a1 = {resources:any, image:str, imagePullPolicy:str,
  securityContext:any, idleTimeoutSeconds:i32,
  upscalingMode:str{Default|Aggressive|Conservative}, env:[Named_a1], envFrom:[any],
  volumeMounts:[Named_a1]}
HeadGroupSpec_a1 = {template!:PodTemplateSpec_a1, headService:Service_a1, enableIngress:bool,
  rayStartParams!:map<str>, serviceType:str}
WorkerGroupSpec_a1 = {groupName!:str, replicas:i32=0, minReplicas!:i32=0,
  maxReplicas!:i32=2147483647, rayStartParams!:map<str>, template!:PodTemplateSpec_a1,
  scaleStrategy:{workersToDelete:[str]}}
RayClusterSpec_a1 = {enableInTreeAutoscaling:bool, autoscalerOptions:AutoscalerOptions_a1,
  suspend:bool, headServiceAnnotations:map<str>, headGroupSpec!:HeadGroupSpec_a1, rayVersion:str,
  workerGroupSpecs:[WorkerGroupSpec_a1]}
RayClusterStatus_a1 = {state:str, desiredCPU:qty, desiredMemory:qty, desiredGPU:qty,
  desiredTPU:qty, lastUpdateTime:time nullable, endpoints:map<str>, head:{podIP:str,
  serviceIP:str}, reason:str, readyWorkerReplicas:i32, availableWorkerReplicas:i32,
  desiredWorkerReplicas:i32, minWorkerReplicas:i32, maxWorkerReplicas:i32,
  observedGeneration:i64}
RayJobSpec_a1 = {submitterPodTemplate:PodTemplateSpec_a1, metadata:map<str>,
  rayClusterSpec:RayClusterSpec_a1, clusterSelector:map<str>, entrypoint!:str,
  runtimeEnvYAML:str, jobId:str, entrypointResources:str, ttlSecondsAfterFinished:i32=0,
  entrypointNumCpus:num, entrypointNumGpus:num, shutdownAfterJobFinishes:bool, suspend:bool}
RayJobStatus_a1 = {jobId:str, rayClusterName:str, dashboardURL:str, jobStatus:str,
  jobDeploymentStatus:str, message:str, startTime:time, endTime:time,
  rayClusterStatus:RayClusterStatus_a1, observedGeneration:i64}
RayServiceSpec_a1 = {serviceUnhealthySecondThreshold:i32,
  deploymentUnhealthySecondThreshold:i32, serveService:Service_a1, serveConfigV2:str,
  rayClusterConfig:RayClusterSpec_a1}
ServeClusterStatus_a1 = {applicationStatuses:map<{serveDeploymentStatuses:map<{
  healthLastUpdateTime:time, status:str, message:str}>, healthLastUpdateTime:time, status:str,
  message:str}>, rayClusterName:str, rayClusterStatus:RayClusterStatus_a1}
RayServiceStatus_a1 = {lastUpdateTime:time, serviceStatus:str,
  activeServiceStatus:ServeClusterStatus_a1, pendingServiceStatus:ServeClusterStatus_a1,
  observedGeneration:i64}
)shape";

}  // namespace manta::ray
