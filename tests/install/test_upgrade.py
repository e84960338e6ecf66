"""From KubeRay's installation to ours and back, on a real API server with real helm and kubectl. KubeRay's chart is not
here: REFERENCE makes the objects that it makes (names, labels, selectors, values), as the specification lists them."""
import copy
import json
import pathlib
import subprocess
import time

import pytest
import yaml

from conftest import CRDS, DEPLOY, MANAGER, helm_template, kustomize
from rights import grant, ray_cluster

NAME = "kuberay-operator"
SELECTOR = {"app.kubernetes.io/name": NAME, "app.kubernetes.io/instance": NAME}
LABELS = {**SELECTOR, "helm.sh/chart": f"{NAME}-1.7.0", "app.kubernetes.io/managed-by": "Helm"}
GATES = [("RayClusterStatusConditions", True), ("RayJobDeletionPolicy", True), ("RayMultiHostIndexing", True),
         ("RayServiceIncrementalUpgrade", True), ("RayCronJob", False), ("RayClusterMTLS", False),
         ("RayClusterNetworkPolicy", False), ("RayClusterHistoryServer", False)]
PROBE = {"initialDelaySeconds": 10, "periodSeconds": 5, "failureThreshold": 5}
RESTRICTED = {"allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True, "capabilities": {"drop": ["ALL"]},
              "runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}}
# What its values.yaml says: helm upgrade --reuse-values brings all of it to the next chart.
VALUES = {
    "nameOverride": NAME, "fullnameOverride": NAME, "componentOverride": NAME, "replicas": 1,
    "image": {"repository": "quay.io/kuberay/operator", "tag": "v1.7.0", "pullPolicy": "IfNotPresent"},
    "imagePullSecrets": [], "nodeSelector": {}, "affinity": {}, "tolerations": [], "priorityClassName": "", "labels": {},
    "annotations": {}, "serviceAccount": {"create": True, "name": NAME},
    "logging": {"stdoutEncoder": "json", "fileEncoder": "json", "baseDir": "", "fileName": "", "sizeLimit": ""},
    "batchScheduler": {"enabled": False, "name": ""},
    "configuration": {"enabled": False, "defaultContainerEnvs": [], "defaultPodAnnotations": {}, "defaultPodLabels": {},
                      "headSidecarContainers": [], "workerSidecarContainers": []},
    "featureGates": [{"name": name, "enabled": on} for name, on in GATES],
    "metrics": {"enabled": True, "serviceMonitor": {"enabled": False, "interval": "30s", "honorLabels": True,
                                                    "additionalLabels": {}, "namespace": ""}},
    "operatorCommand": "/manager", "leaderElectionEnabled": True, "reconcileConcurrency": 1,
    "kubeClient": {"qps": 100.0, "burst": 200}, "rbacEnable": True, "crNamespacedRbacEnable": True,
    "singleNamespaceInstall": False, "env": None, "resources": {"limits": {"cpu": "100m", "memory": "512Mi"}},
    "livenessProbe": PROBE, "readinessProbe": PROBE, "podSecurityContext": {}, "securityContext": RESTRICTED,
    "service": {"type": "ClusterIP", "port": 8080}}


def named(kind, api, labels, name=NAME, **more):
    return {"apiVersion": api, "kind": kind, "metadata": {"name": name, "labels": labels}, **more}


def bound(kind, role, name, labels, namespace):
    return named(kind, "rbac.authorization.k8s.io/v1", labels, name,
                 subjects=[{"kind": "ServiceAccount", "name": NAME, "namespace": namespace}],
                 roleRef={"apiGroup": "rbac.authorization.k8s.io", "kind": role, "name": name})


def deployment(labels, selector, args, **container):
    probe = {"httpGet": {"path": "/metrics", "port": "http"}, **PROBE}
    pod = {"serviceAccountName": NAME, "containers": [{
        "name": NAME, "image": "quay.io/kuberay/operator:v1.7.0", "command": ["/manager"], "args": args,
        "ports": [{"name": "http", "containerPort": 8080}], "livenessProbe": probe, "readinessProbe": probe, **container}]}
    return named("Deployment", "apps/v1", labels, spec={
        "replicas": 1, "strategy": {"type": "Recreate"}, "selector": {"matchLabels": selector},
        "template": {"metadata": {"labels": {**selector, "app.kubernetes.io/component": NAME}}, "spec": pod}})


def rights(labels, namespace):
    rbac = "rbac.authorization.k8s.io/v1"
    wide = ["create", "delete", "get", "list", "patch", "update", "watch"]
    return [
        named("ServiceAccount", "v1", labels),
        named("Role", rbac, labels, f"{NAME}-leader-election", rules=[
            {"apiGroups": [""], "resources": ["configmaps"], "verbs": wide},
            {"apiGroups": [""], "resources": ["events"], "verbs": ["create"]},
            {"apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "verbs": ["create", "get", "list", "update"]}]),
        bound("RoleBinding", "Role", f"{NAME}-leader-election", labels, namespace),
        named("ClusterRole", rbac, labels, rules=[
            {"apiGroups": [""], "resources": ["pods", "services", "secrets"], "verbs": wide},
            {"apiGroups": ["ray.io"], "resources": ["rayclusters", "rayjobs", "rayservices"], "verbs": wide}]),
        bound("ClusterRoleBinding", "ClusterRole", NAME, labels, namespace)]


def people(labels):
    return [named("ClusterRole", "rbac.authorization.k8s.io/v1", labels, f"{kind}-{role}-role", rules=[
        {"apiGroups": ["ray.io"], "resources": [f"{kind}s"], "verbs": ["get", "list", "watch"]}])
        for kind in ("rayjob", "rayservice", "raycronjob") for role in ("editor", "viewer")]


def reference_chart(folder, namespace):
    """KubeRay's chart of v1.7.0, rendered by nobody: its objects and its values."""
    args = ["--log-stdout-encoder", "json", "--log-file-encoder", "json", "--enable-leader-election=true",
            "--enable-metrics=true", "--reconcile-concurrency=1", "--qps=100", "--burst=200",
            "--feature-gates=" + ",".join(f"{name}={str(on).lower()}" for name, on in GATES)]
    objects = [deployment(LABELS, SELECTOR, args, securityContext=RESTRICTED, resources=VALUES["resources"]),
               named("Service", "v1", LABELS, spec={"type": "ClusterIP", "selector": SELECTOR, "ports": [
                   {"port": 8080, "targetPort": "http", "protocol": "TCP", "name": "http"}]}),
               *rights(LABELS, namespace), *people(LABELS)]
    chart = pathlib.Path(folder) / NAME
    (chart / "templates").mkdir(parents=True)
    (chart / "Chart.yaml").write_text(yaml.safe_dump({"apiVersion": "v2", "name": NAME, "version": "1.7.0",
                                                      "type": "application"}))
    (chart / "values.yaml").write_text(yaml.safe_dump(VALUES))
    (chart / "templates/all.yaml").write_text("\n---\n".join(map(json.dumps, objects)))
    return chart, objects


def state(cluster, objects, namespace):
    """{(kind, name): uid} of those that are there."""
    out = {}
    for o in objects:
        done = cluster.kubectl("get", o["kind"], o["metadata"]["name"], "--namespace", namespace, "-o", "json", check=False)
        if done.returncode == 0:
            out[o["kind"], o["metadata"]["name"]] = json.loads(done.stdout)["metadata"]["uid"]
    return out


@pytest.fixture
def namespace(cluster):
    cluster.kubectl("apply", "--server-side", "--force-conflicts", "-f", CRDS)
    cluster.kubectl("create", "namespace", "upgraded", check=False)
    # What other tests were granted has the names that an installation takes.
    for o in helm_template("kuberay-operator"):
        if o["kind"] in ("ClusterRole", "ClusterRoleBinding"):
            cluster.kubectl("delete", o["kind"], o["metadata"]["name"], "--ignore-not-found")
    yield "upgraded"
    cluster.kubectl("delete", "rayclusters.ray.io", "--all", "--namespace", "upgraded")


def crds(cluster):
    return {c["metadata"]["name"]: c["metadata"]["uid"] for c in cluster.get("crd")["items"]
            if c["metadata"]["name"].endswith(".ray.io")}


def test_from_the_references_chart_and_back(cluster, namespace, tmp_path):
    chart, objects = reference_chart(tmp_path, namespace)

    def helm(*args):
        return cluster.run("helm", "--namespace", namespace, *args)

    def container():
        return cluster.get("deployment", NAME, "--namespace", namespace)["spec"]["template"]["spec"]["containers"][0]
    helm("install", NAME, chart)
    try:
        cluster.apply([ray_cluster("running")], "--namespace", namespace)
        ours = [*objects, {"kind": "RayCluster.v1.ray.io", "metadata": {"name": "running"}}]
        before, definitions, old = state(cluster, ours, namespace), crds(cluster), container()
        assert len(before) == len(ours)

        helm("upgrade", NAME, DEPLOY / "helm/kuberay-operator", "--reuse-values",
             "--set", "image.repository=registry.example/operator,image.tag=1")
        assert state(cluster, ours, namespace) == before, "changed in place, nothing taken away"
        assert crds(cluster) == definitions
        new = container()
        assert new["image"] == "registry.example/operator:1" and new["args"] == old["args"], "the same flags"
        assert {k: new[k] for k in ("command", "ports", "resources", "securityContext")} == {
            k: old[k] for k in ("command", "ports", "resources", "securityContext")}
        role = cluster.get("clusterrole", NAME)
        assert not [r for r in role["rules"] if "configmaps" in r["resources"]]

        helm("rollback", NAME, "1")
        assert state(cluster, ours, namespace) == before
        assert crds(cluster) == definitions and container() == old
    finally:
        helm("uninstall", NAME)
    assert crds(cluster) == definitions
    assert cluster.get("rayclusters.ray.io", "running", "--namespace", namespace)["metadata"]["uid"] == before[
        "RayCluster.v1.ray.io", "running"], "an uninstalled operator leaves the clusters"


def test_over_the_references_kustomization_and_back(cluster, namespace):
    """kubectl create -k, as the reference says, then our overlay by server-side apply."""
    labels = {"app.kubernetes.io/name": "kuberay", "app.kubernetes.io/component": NAME}
    theirs = [deployment(labels, labels, ["--feature-gates=RayClusterStatusConditions=true"]),
              named("Service", "v1", labels, spec={"selector": labels, "ports": [
                  {"name": "monitoring-port", "port": 8080, "targetPort": 8080}]}),
              *rights(labels, "default")]
    for o in theirs:
        if o["kind"] not in ("ClusterRole", "ClusterRoleBinding"):
            o["metadata"]["namespace"] = "default"
    text = "\n".join(map(json.dumps, theirs))
    for o in kustomize("default"):
        if o["kind"] not in ("CustomResourceDefinition", "Namespace"):
            cluster.kubectl("delete", o["kind"], o["metadata"]["name"], "--namespace", "default", "--ignore-not-found")
    cluster.kubectl("create", "-f", "-", input=text)
    before, definitions = state(cluster, theirs, "default"), crds(cluster)
    assert len(before) == len(theirs)

    cluster.kubectl("apply", "--server-side", "--force-conflicts", "-k", DEPLOY / "kustomize/default")
    assert state(cluster, theirs, "default") == before
    assert crds(cluster) == definitions
    cluster.kubectl("apply", "--server-side", "--force-conflicts", "-f", "-", input=text)
    assert state(cluster, theirs, "default") == before
    assert cluster.get("deployment", NAME, "--namespace", "default")["spec"]["template"]["spec"]["containers"][0]["args"] == [
        "--feature-gates=RayClusterStatusConditions=true"]
    cluster.kubectl("delete", "-f", "-", input=text)


def test_lease_that_the_reference_left_is_taken_when_it_has_run_out(cluster, namespace):
    """KubeRay does not release its Lease: whoever comes next waits for its end, and for no longer."""
    kubeconfig = grant(cluster)
    now = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime())
    cluster.kubectl("delete", "lease", "ray-operator-leader", "--namespace", "kuberay-system", "--ignore-not-found")
    cluster.apply([{"apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
                    "metadata": {"name": "ray-operator-leader", "namespace": "kuberay-system"},
                    "spec": {"holderIdentity": "kuberay-operator-7d5_0", "leaseDurationSeconds": 15, "leaseTransitions": 3,
                             "acquireTime": f"{now}.000000Z", "renewTime": f"{now}.000000Z"}}])
    began = time.monotonic()
    process = subprocess.Popen(
        cluster.command("env", f"KUBECONFIG={kubeconfig}", MANAGER, "--leader-election-namespace=kuberay-system",
                        "--metrics-addr=0", "--health-probe-bind-address=0"), env=cluster.environment(), text=True,
        stderr=subprocess.PIPE)
    try:
        lease = {}
        while process.poll() is None and time.monotonic() < began + 60:
            lease = cluster.get("lease", "ray-operator-leader", "--namespace", "kuberay-system")["spec"]
            if lease["holderIdentity"] != "kuberay-operator-7d5_0":
                break
            time.sleep(0.2)
        took = time.monotonic() - began
    finally:
        process.terminate()
        _, log = process.communicate(timeout=40)
    assert lease["leaseTransitions"] == 4, log
    assert 13 < took < 25, "not before its end, and soon after"  # the server's clock is ours; starting takes a while


def test_reference_values_are_all_known_here():
    """A value of the reference that this chart dropped would be ignored in silence."""
    ours = yaml.safe_load((DEPLOY / "helm/kuberay-operator/values.yaml").read_text())

    def missing(theirs, mine, path=""):
        for key, value in theirs.items():
            if key not in mine:
                yield f"{path}{key}"
            elif isinstance(value, dict) and isinstance(mine[key], dict):
                yield from missing(value, mine[key], f"{path}{key}.")
    assert not list(missing(copy.deepcopy(VALUES), ours))
