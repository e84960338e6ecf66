"""Charts and kustomizations on a real API server: they install, upgrade, roll back and go."""
import functools
import json
import time

import pytest

from conftest import CRDS, DEPLOY, MANAGER, documents, helm_template, kustomize, values_file
from rights import ray_cluster

CRD_NAMES = {"rayclusters.ray.io", "raycronjobs.ray.io", "rayjobs.ray.io", "rayservices.ray.io"}
POD = {"labels": {"a": "b"}, "annotations": {"c": "d"}, "nodeSelector": {"e": "f"},
       "affinity": {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [
           {"weight": 1, "preference": {"matchExpressions": [{"key": "k", "operator": "Exists"}]}}]}},
       "tolerations": [{"key": "k", "operator": "Exists"}]}
SIDECAR = [{"name": "side", "image": "busybox"}]
GROUP = {**POD, "rayStartParams": {"num-cpus": 1}, "initContainers": SIDECAR, "command": ["c"], "args": ["a"],
         "containerEnv": [{"name": "A", "value": "1"}], "envFrom": [{"secretRef": {"name": "s"}}],
         "ports": [{"name": "p", "containerPort": 1}], "lifecycle": {"preStop": {"exec": {"command": ["x"]}}},
         "securityContext": {"runAsUser": 1}, "sidecarContainers": [{"name": "more", "image": "busybox"}],
         "dnsConfig": {"nameservers": ["8.8.8.8"]}, "priorityClassName": "high", "priority": 1,
         "topologySpreadConstraints": [{"maxSkew": 1, "topologyKey": "z", "whenUnsatisfiable": "ScheduleAnyway"}],
         "restartPolicy": "Always", "runtimeClassName": "r", "serviceAccountName": "sa",
         "podSecurityContext": {"fsGroup": 1}, "resourceClaims": [{"name": "g", "resourceClaimName": "g"}],
         "image": {"repository": "r", "tag": "t", "pullPolicy": "Never"}}
WAS = {"featureGates": [{"name": "KubernetesWAS", "enabled": True}]}

# Every documented value, in one of these.
VALUES = {
    "kuberay-operator": {
        "default": {},
        "pod": {**POD, "replicas": 2, "image": {"pullPolicy": "Never"}, "imagePullSecrets": [{"name": "s"}],
                "priorityClassName": "high", "podSecurityContext": {"fsGroup": 1}, "operatorCommand": "/other",
                "env": [{"name": "A", "value": "1"}], "resources": {"requests": {"cpu": "1m"}},
                "livenessProbe": {"periodSeconds": 9}, "readinessProbe": {"periodSeconds": 9},
                "componentOverride": "c", "service": {"type": "NodePort", "port": 18080}},
        "flags": {"batchScheduler": {"name": "volcano"}, "logging": {
            "baseDir": "/logs", "fileName": "f", "sizeLimit": "1Gi", "stdoutEncoder": "console"},
            "useKubernetesProxy": True, "leaderElectionEnabled": False, "reconcileConcurrency": 3,
            "kubeClient": {"qps": 75.5, "burst": 9}, "watchNamespace": ["default"], **WAS},
        "config map": {"labels": {"a": "b"}, "configuration": {
            "enabled": True, "defaultContainerEnvs": [{"name": "A", "value": "1"}], "defaultPodLabels": {"a": "b"},
            "defaultPodAnnotations": {"a": "b"}, "headSidecarContainers": SIDECAR, "workerSidecarContainers": SIDECAR}},
        "monitored": {"metrics": {"serviceMonitor": {"enabled": True, "additionalLabels": {"a": "b"}}}},
        "single namespace": {"singleNamespaceInstall": True, "watchNamespace": ["default", "kuberay-system"]},
        "rights elsewhere": {"rbacEnable": False, "serviceAccount": {"create": False}},
        "gates elsewhere": {"singleNamespaceInstall": True, "crNamespacedRbacEnable": False},
        "deprecated scheduler": {"batchScheduler": {"enabled": True}},
    },
    "ray-cluster": {
        "default": {},
        "groups": {"head": {**GROUP, "headService": {"spec": {"clusterIP": "None"}}}, "worker": GROUP,
                   "additionalWorkerGroups": {"smallGroup": {"disabled": False, **GROUP}, "other": {"replicas": 1}}},
        "cluster": {"head": {"rayVersion": "2.52.0", "enableInTreeAutoscaling": True, "autoscalerOptions": {
            "upscalingMode": "Default", "idleTimeoutSeconds": 60}}, "annotations": {"a": "b"},
            "gcsFaultTolerance": {"enabled": True, "redisAddress": "r:6379", "redisPassword": {"value": "p"}},
            "service": {"type": "NodePort"}, "common": {"containerEnv": [{"name": "A", "value": "1"}]},
            "imagePullSecrets": [{"name": "s"}], "worker": {"numOfHosts": 2, "replicas": 2}},
        "no workers": {"worker": {"disabled": True}},
        "extra": {"extraSpec": {"suspend": True}, "head": {"extraGroupSpec": {"enableIngress": True},
                                                           "extraPodSpec": {"hostNetwork": True},
                                                           "extraContainerSpec": {"workingDir": "/"}}},
    },
    "kuberay-apiserver": {
        "default": {},
        "pod": {**POD, "replicaCount": 2, "sidecarContainers": SIDECAR, "cors": {"allowOrigin": "*"},
                "security": {"env": {"SECURITY_TOKEN": "t"}}},
        "no proxy": {"security": None, "enableAPIServerV2": False, "singleNamespaceInstall": True},
        "ways in": {"route": {"enabled": True, "tls": True}, "ingress": {"enabled": True, "className": "c", "hosts": [
            {"host": "a.example", "paths": [{"path": "/"}]}]}, "service": {"type": "NodePort"}},
        "rights elsewhere": {"rbacEnable": False, "serviceAccount": {"create": False}},
    },
}
CASES = [(chart, case) for chart, cases in VALUES.items() for case in cases]


def everywhere(o):
    """Where an object lives, apart from the CRDs, which Helm never takes away."""
    return o["apiVersion"], o["kind"], o["metadata"].get("namespace"), o["metadata"]["name"]


def present(cluster, o):
    group, _, version = o["apiVersion"].rpartition("/")
    kind = ".".join(filter(None, (o["kind"], version, group))) if group else o["kind"]
    where = ["--namespace", o["metadata"]["namespace"]] if "namespace" in o["metadata"] else []
    return cluster.kubectl("get", kind, o["metadata"]["name"], *where, check=False).returncode == 0


@pytest.fixture(scope="session")
def installed(cluster, tmp_path_factory):
    """helm, on the cluster, with the operator's CRDs there."""
    cluster.kubectl("create", "namespace", "kuberay-system", check=False)
    cluster.kubectl("apply", "--server-side", "-f", CRDS)

    def helm(*args, values=None, **kwargs):
        given = []
        if values is not None:
            given = ["--values", values_file(tmp_path_factory.mktemp("values"), values)]
        return cluster.run("helm", "--namespace", "kuberay-system", *args, *given, **kwargs)
    return helm


@pytest.mark.parametrize("chart, case", CASES, ids=[" ".join(c) for c in CASES])
def test_server_takes_every_rendering(cluster, installed, chart, case):
    cluster.apply(helm_template(chart, VALUES[chart][case]), "--dry-run=server")


def test_helm_brings_the_crds(cluster):
    cluster.kubectl("delete", "crd", *CRD_NAMES, "--ignore-not-found")
    cluster.run("helm", "install", "first", DEPLOY / "helm/kuberay-operator", "--namespace", "helm-crds",
                "--create-namespace")
    assert CRD_NAMES <= {c["metadata"]["name"] for c in cluster.get("crd")["items"]}
    cluster.run("helm", "uninstall", "first", "--namespace", "helm-crds")
    assert CRD_NAMES <= {c["metadata"]["name"] for c in cluster.get("crd")["items"]}, "uninstalling keeps people's clusters"


@pytest.mark.parametrize("image, warned", [({}, True), ({"repository": "registry.example/operator", "tag": "1"}, False)])
def test_helm_warns_of_an_image_that_is_not_ours(installed, image, warned):
    shown = installed("install", "notes", DEPLOY / "helm/kuberay-operator", "--skip-crds", "--dry-run=server",
                      values={"image": image}).stdout.split("\nNOTES:\n")[1]
    assert ":".join(image.values()) in shown
    assert ("WARNING" in shown) == warned


@pytest.mark.parametrize("values, warned", [
    ({"replicas": 2, "leaderElectionEnabled": False}, True), ({"replicas": "2", "leaderElectionEnabled": "false"}, True),
    ({"replicas": 2}, False), ({"leaderElectionEnabled": False}, False)])
def test_helm_warns_of_several_operators_without_leader_election(installed, values, warned):
    shown = installed("install", "notes", DEPLOY / "helm/kuberay-operator", "--skip-crds", "--dry-run=server",
                      values={"image": {"repository": "registry.example/operator"}, **values}).stdout.split("\nNOTES:\n")[1]
    assert ("without leader election" in shown) == warned


def test_helm_says_whose_api_server_it_installs(installed):
    shown = installed("install", "notes", DEPLOY / "helm/kuberay-apiserver", "--dry-run=server").stdout
    assert "KubeRay's image" in shown.split("\nNOTES:\n")[1]


@pytest.mark.parametrize("chart", VALUES)
def test_install_upgrade_roll_back_uninstall(cluster, installed, chart):
    render = functools.partial(helm_template, chart, release="r")
    path, seen = DEPLOY / "helm" / chart, {}
    for revision, (case, values) in enumerate(VALUES[chart].items(), 1):
        installed("upgrade", "--install", "r", path, "--skip-crds", values=values)
        wanted = {everywhere(o): o for o in render(values)}
        for key, o in wanted.items():
            assert present(cluster, o), f"{case}: {key} is missing"
        for key, o in seen.items():
            assert key in wanted or not present(cluster, o), f"{case}: {key} is left from an earlier revision"
        seen |= wanted
        history = json.loads(installed("history", "r", "-o", "json").stdout)
        assert (history[-1]["revision"], history[-1]["status"]) == (revision, "deployed")
    before = json.loads(installed("get", "values", "r", "--revision", "1", "-o", "json").stdout)
    installed("rollback", "r", "1")
    assert json.loads(installed("get", "values", "r", "-o", "json").stdout) == before
    for o in render(VALUES[chart]["default"]):
        assert present(cluster, o), f"rolled back: {everywhere(o)} is missing"
    installed("uninstall", "r")
    for key, o in seen.items():
        assert not present(cluster, o), f"uninstalled: {key} is still there"


@pytest.mark.parametrize("folder", ["default", "default-with-webhooks", "overlays/test-overrides",
                                    "overlays/kubernetes-was-v1alpha2"])
def test_HM_07_kubectl_apply_k(cluster, folder):
    """Client-side, as people type it: no CRD is too large for that."""
    cluster.kubectl("apply", "--validate=strict", "-k", DEPLOY / "kustomize" / folder)
    try:
        for o in kustomize(folder):
            assert present(cluster, o), everywhere(o)
    finally:
        # Not the CRDs: other tests need them.
        rest = [o for o in kustomize(folder) if o["kind"] not in ("CustomResourceDefinition", "Namespace")]
        cluster.kubectl("delete", "-f", "-", input="\n".join(map(json.dumps, rest)))


def test_HM_01_crds_that_lack_a_field_end_the_operator(cluster, installed):
    """As after an upgrade that forgot them: the field is named, and no object is touched."""
    path = CRDS / "ray.io_rayclusters.yaml"
    (crd,) = documents(path.read_text())
    for version in crd["spec"]["versions"]:
        del version["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]["suspend"]
    cluster.kubectl("create", "namespace", "old-crds", check=False)
    cluster.apply([ray_cluster("c")], "--namespace", "old-crds")
    before = cluster.get("rayclusters.ray.io", "c", "--namespace", "old-crds")
    # Not server-side: that would keep the field, which is somebody else's there.
    cluster.kubectl("replace", "-f", "-", input=json.dumps(crd))
    try:
        probe = ray_cluster("probe")
        probe["spec"]["suspend"] = True
        for _ in range(100):  # the server takes a definition up a moment later
            taken = cluster.kubectl("create", "--dry-run=server", "--validate=strict", "--namespace", "old-crds",
                                    "-f", "-", input=json.dumps(probe), check=False)
            if taken.returncode != 0:
                break
            time.sleep(0.1)
        assert "suspend" in taken.stderr
        done = cluster.run(MANAGER, "--enable-leader-election=false", "--metrics-addr=0",
                           "--health-probe-bind-address=0", check=False, timeout=60)
        assert done.returncode == 1
        assert "spec.suspend" in done.stderr and "kubectl apply" in done.stderr
        assert cluster.get("rayclusters.ray.io", "c", "--namespace", "old-crds") == before
    finally:
        cluster.kubectl("replace", "-f", path)
        cluster.kubectl("delete", "namespace", "old-crds", "--wait=false")


def test_monitors_and_rules_are_taken(cluster):
    cluster.kubectl("create", "namespace", "prometheus-system", check=False)
    for path in [*(DEPLOY / "prometheus").glob("*-monitor*.yaml"), *(DEPLOY / "prometheus/rules").glob("*.yaml")]:
        cluster.apply(documents(path.read_text()), "--dry-run=server")
