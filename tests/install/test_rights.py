"""What rights.py cannot see called: rights that the API server wants held, and who makes them."""
import json
import subprocess
import time

import pytest
import yaml

from conftest import CRDS, DEPLOY, MANAGER, helm_template
from rights import RIGHTS, grant, granted, ray_cluster

KINDS = ["raycluster", "rayjob", "rayservice", "raycronjob"]


@pytest.fixture(scope="module")
def account(cluster):
    cluster.kubectl("apply", "--server-side", "-f", CRDS)
    cluster.kubectl("create", "namespace", "rights", check=False)
    return grant(cluster)


def answer(cluster, account, *args, objects=(), allowed):
    """What the operator is told. The server learns of changed rights a moment late, so it is asked until it has."""
    deadline = time.monotonic() + 20
    while True:
        done = cluster.kubectl("--kubeconfig", account, "--namespace", "rights", *args, check=False,
                               input="\n".join(map(json.dumps, objects)))
        if (done.returncode == 0) == allowed:
            return done.stderr
        assert time.monotonic() < deadline, f"{args}: {done.stdout}{done.stderr}"
        time.sleep(0.2)


def without(cluster, group, resource, verb):
    """The operator's rights but for one."""
    (role,) = [o for o in helm_template("kuberay-operator") if o["metadata"]["name"] == "kuberay-operator"
               and o["kind"] == "ClusterRole"]
    rules = []
    for rule in role["rules"]:
        for r in rule["resources"]:
            verbs = [v for v in rule["verbs"] if (rule["apiGroups"], r, v) != ([group], resource, verb)]
            if verbs:
                rules.append({"apiGroups": rule["apiGroups"], "resources": [r], "verbs": verbs})
    cluster.apply([{**role, "rules": rules}])


def role_of_the_autoscaler():
    rules = [("", "pods", ["get", "list", "watch", "patch"]), ("", "pods/resize", ["patch"]),
             ("ray.io", "rayclusters", ["get", "patch"])]
    return {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": {"name": "autoscaler"},
            "rules": [{"apiGroups": [g], "resources": [r], "verbs": v} for g, r, v in rules]}


def owned_by(kind, uid):
    owner = {"apiVersion": "ray.io/v1", "kind": kind, "name": "owner", "uid": uid, "controller": True,
             "blockOwnerDeletion": True}
    return {"apiVersion": "v1", "kind": "Service", "metadata": {"name": f"of-{kind.lower()}", "ownerReferences": [owner]},
            "spec": {"clusterIP": "None"}}


def owner_of(kind):
    spec = ray_cluster("owner")["spec"]
    job = {"entrypoint": "true", "rayClusterSpec": spec}
    specs = {"RayCluster": spec, "RayJob": job, "RayService": {"rayClusterConfig": spec},
             "RayCronJob": {"schedule": "* * * * *", "jobTemplate": job}}
    return {"apiVersion": "ray.io/v1", "kind": kind, "metadata": {"name": "owner"}, "spec": specs[kind]}


def test_autoscalers_role_may_be_made_with_the_right_to_resize_only(cluster, account):
    dry = ("create", "--dry-run=server", "-f", "-")
    grant(cluster)
    answer(cluster, account, *dry, objects=[role_of_the_autoscaler()], allowed=True)
    without(cluster, "", "pods/resize", "patch")
    refused = answer(cluster, account, *dry, objects=[role_of_the_autoscaler()], allowed=False)
    assert "attempting to grant RBAC permissions not currently held" in refused
    grant(cluster)


@pytest.mark.parametrize("kind", ["RayCluster", "RayJob", "RayService", "RayCronJob"])
def test_owners_that_children_block_need_the_right_to_their_finalizers(cluster, account, kind):
    cluster.apply([owner_of(kind)], "--namespace", "rights")
    uid = cluster.get("--namespace", "rights", f"{kind.lower()}s.ray.io", "owner")["metadata"]["uid"]
    dry = ("create", "--dry-run=server", "-f", "-")
    grant(cluster)
    answer(cluster, account, *dry, objects=[owned_by(kind, uid)], allowed=True)
    without(cluster, "ray.io", f"{kind.lower()}s/finalizers", "update")
    assert "blockOwnerDeletion" in answer(cluster, account, *dry, objects=[owned_by(kind, uid)], allowed=False)
    grant(cluster)


@pytest.mark.parametrize("kind, resource", [("Secret", "secrets"), ("PersistentVolumeClaim", "persistentvolumeclaims")])
def test_who_sets_an_owner_needs_the_right_to_delete(cluster, account, kind, resource):
    spec = {"spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}}
    cluster.apply([{"apiVersion": "v1", "kind": kind, "metadata": {"name": "owned"},
                    **(spec if kind != "Secret" else {})}, owner_of("RayCluster")], "--namespace", "rights")
    uid = cluster.get("--namespace", "rights", "rayclusters.ray.io", "owner")["metadata"]["uid"]
    owner = {"apiVersion": "ray.io/v1", "kind": "RayCluster", "name": "owner", "uid": uid}
    patch = ("patch", resource, "owned", "--type=merge", "--dry-run=server", "-p",
             json.dumps({"metadata": {"ownerReferences": [owner]}}))
    grant(cluster)
    answer(cluster, account, *patch, allowed=True)
    without(cluster, "", resource, "delete")
    assert "can't delete" in answer(cluster, account, *patch, allowed=False)
    grant(cluster)


def test_HM_02_chart_grants_what_calls_yaml_says_and_no_more():
    calls = yaml.safe_load((DEPLOY / "rbac/calls.yaml").read_text())
    gates = [{"name": part["name"], "enabled": True} for part in calls["conditional"]]
    roles = [o for o in helm_template("kuberay-operator", {"batchScheduler": {"enabled": True}, "featureGates": gates})
             if o["kind"] in RIGHTS and o["metadata"]["name"].startswith("kuberay-operator")]
    have = {(g, r, v) for role in roles for rule in role.get("rules", []) for g in rule["apiGroups"]
            for r in rule["resources"] for v in rule["verbs"]}
    assert have == set(granted())
    assert not [right for right in have if "*" in right]


def test_SEC_04_a_namespaced_installation_has_the_same_rights_in_its_namespaces_and_none_beyond():
    """So what rights.py shows of each rule, that it is used and nothing else is, holds for these as well."""
    whole = helm_template("kuberay-operator").of("ClusterRole", "kuberay-operator")["rules"]
    rendered = helm_template("kuberay-operator", {"singleNamespaceInstall": True, "watchNamespace": ["a", "b"]})
    roles = {o["metadata"]["namespace"]: o["rules"] for o in rendered
             if o["kind"] == "Role" and o["metadata"]["name"] == "kuberay-operator"}
    assert roles == {"a": whole, "b": whole}
    assert not [o for o in rendered if o["kind"].startswith("ClusterRole")]


def test_SEC_04_a_namespaced_installation_works_without_a_cluster_role(cluster, account):
    values = {"singleNamespaceInstall": True, "watchNamespace": ["rights"]}
    rendered = helm_template("kuberay-operator", values)
    assert not rendered.names("ClusterRole") and not rendered.names("ClusterRoleBinding")
    cluster.kubectl("delete", "clusterrolebinding", "kuberay-operator")
    kubeconfig = grant(cluster, values)
    refused = {call for call in cluster.calls() if not call[3]}
    process = subprocess.Popen(
        cluster.command("env", f"KUBECONFIG={kubeconfig}", MANAGER, "--watch-namespace=rights",
                        "--leader-election-namespace=kuberay-system", "--metrics-addr=0",
                        "--health-probe-bind-address=0"), env=cluster.environment(), text=True, stderr=subprocess.PIPE)
    try:
        cluster.apply([ray_cluster("alone")], "--namespace", "rights")
        deadline = time.monotonic() + 60
        while process.poll() is None and time.monotonic() < deadline and not cluster.get(
                "pods", "--namespace", "rights", "--selector", "ray.io/cluster=alone")["items"]:
            time.sleep(0.5)
    finally:
        process.terminate()
        _, log = process.communicate(timeout=40)
        pods = cluster.get("pods", "--namespace", "rights", "--selector", "ray.io/cluster=alone")["items"]
        cluster.kubectl("delete", "rayclusters.ray.io", "alone", "--namespace", "rights")
        grant(cluster)
    assert len(pods) == 1, log
    assert {call for call in cluster.calls() if not call[3]} == refused


@pytest.mark.parametrize("kind", KINDS[1:])
def test_people_may_be_given_what_the_roles_for_people_say(cluster, account, kind):
    for role, verb, allowed in [("editor", "create", True), ("viewer", "list", True), ("viewer", "create", False)]:
        name = f"{kind}-{role}"
        cluster.apply([{"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding",
                        "metadata": {"name": name}, "roleRef": {"apiGroup": "rbac.authorization.k8s.io",
                                                                "kind": "ClusterRole", "name": f"{name}-role"},
                        "subjects": [{"kind": "User", "name": name, "apiGroup": "rbac.authorization.k8s.io"}]}])
        can_i = ("auth", "can-i", verb, f"{kind}s.ray.io", "--as", name)
        answer(cluster, cluster.kubeconfig, *can_i, allowed=allowed)
